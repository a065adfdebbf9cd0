"""The hosted matches: their states, and everything that changes them."""
