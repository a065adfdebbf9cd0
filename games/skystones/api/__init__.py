"""Skystones in messages."""
