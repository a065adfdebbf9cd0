"""Champion Chess."""
