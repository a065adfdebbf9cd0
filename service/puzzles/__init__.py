"""Puzzles: positions with one clearly best action, and their packs. Knows no protocol."""
