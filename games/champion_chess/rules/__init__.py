"""The rules of Champion Chess, and what each seat sees."""
