"""The rules of Kuhn poker, and what each seat sees."""
