"""Gin Rummy in messages."""
