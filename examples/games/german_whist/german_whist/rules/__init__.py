"""The rules of German Whist, and what each seat sees."""
