"""The rules of Skystones, and what each seat sees."""
