"""German Whist in messages."""
