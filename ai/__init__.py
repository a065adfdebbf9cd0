"""The search for what to play from the view of one seat."""
