"""Kuhn poker, a reference game."""
