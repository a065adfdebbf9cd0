"""Reviews of matches that are over: what was good, and what was luck. Knows no protocol."""
