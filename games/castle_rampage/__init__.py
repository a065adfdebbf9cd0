"""Castle Rampage."""
