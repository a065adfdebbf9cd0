"""Castle Rampage in messages."""
