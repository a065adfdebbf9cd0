"""The rules of Leduc poker, and what each seat sees."""
