"""How well beliefs tell the hidden cards: the log loss of what was there.

For each view of a match and each card, the sampler says how likely the card lies at a hidden place.
The loss of a view is the sum, over all cards, of the negative logarithm of the probability that it
gave to what was true; the less, the better.
"""

import math
import statistics
from collections.abc import Iterable
from typing import Any

from engine.game import Game
from engine.model import Model
from engine.sampler import Sampler
from lab.training.self_play import positions

WORLDS = 400  # Of each view. No probability is taken to be nearer to 0 or 1 than they can tell.


def loss(game: Game, matches: Iterable[dict[str, Any]], model: Model | None) -> dict[str, float]:
    """The mean loss of the views at decisions, by hidden place."""
    losses: dict[str, list[float]] = {place: [] for place in game.hidden_places}
    for match in matches:
        for decided in positions(game, match):
            for seat in decided.answers:
                sampler = Sampler.of(decided.position.view(seat), model)
                truth = decided.position.hidden(seat)
                chances: dict[tuple[str, int], float] = {
                    (each.place, each.card): each.probability
                    for each in sampler.beliefs(WORLDS, match["match"]).cards
                }
                for place, copies in truth.items():
                    lost = 0.0
                    for card, n in enumerate(copies):
                        chance = chances.get((place, card), 0.0)
                        chance = (WORLDS * chance + 0.5) / (WORLDS + 1)
                        lost -= math.log(chance if n else 1 - chance)
                    losses[place].append(lost)
    return {place: statistics.fmean(each) if each else math.nan for place, each in losses.items()}
