"""Champion Chess in messages."""
