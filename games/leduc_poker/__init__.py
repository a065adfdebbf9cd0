"""Leduc poker, a reference game."""
