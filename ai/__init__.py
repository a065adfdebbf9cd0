"""The search, and what a hint is."""
