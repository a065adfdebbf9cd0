"""The hosted matches: their state, and everything that changes it."""
