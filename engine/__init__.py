"""What every game fulfils, and what all games share: the contract, chance, events, matches."""

from engine.packages import games as games
