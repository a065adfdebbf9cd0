"""The rules of the games: what every game fulfils, and in each folder one game."""

from engine.packages import games as games
