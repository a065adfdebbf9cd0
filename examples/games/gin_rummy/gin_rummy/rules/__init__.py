"""The rules of Gin Rummy, and what each seat sees."""
