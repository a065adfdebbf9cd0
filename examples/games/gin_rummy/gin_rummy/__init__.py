"""Gin Rummy."""
