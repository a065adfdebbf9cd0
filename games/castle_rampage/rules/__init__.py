"""The rules of Castle Rampage, and what each seat sees."""
