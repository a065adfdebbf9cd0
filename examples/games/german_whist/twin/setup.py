"""Builds the game against the installed server."""

from engine.building import setup_game

setup_game("german_whist_twin")
