"""Searches beside the calls, and the hints that come of them."""
