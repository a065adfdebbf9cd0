"""Compiles the schema and the extensions; all else is in pyproject.toml."""

from engine.building import setup_game

setup_game("gin_rummy")
