"""Skystones."""
