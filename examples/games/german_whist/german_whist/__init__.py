"""German Whist, in plain Python."""
