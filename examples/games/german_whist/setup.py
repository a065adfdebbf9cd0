"""Builds the game against the installed server: its schema, and whatever of it is in Cython."""

from engine.building import setup_game

setup_game("german_whist")
