"""The rules of PowerShot Soccer, and what each seat sees."""
