"""Checks what hints foretell of a game: `croupier check-game`."""

import math
import statistics

from ai.last_look import SHARE
from ai.results import Parameters
from ai.search import Search
from engine.game import SEATS, Game
from engine.model import learned
from engine.position import Position
from lab.contract import Watch, seeded

ITERATIONS = 1000  # Of a hint.
SECONDS = 4.0  # Of a hint at most: of a slow game.
OFF = 0.1  # Scores that add up to more than 1 and this are no use to a player.
SURE = 2.0  # Deviations.


def check_scores(game: Game, seed: int, deals: int, watch: Watch = iter) -> str:
    """Checks that the scores that hints foretell for both seats add up to about 1.

    Compared are their first decisions in so many deals, between which hints play. Playouts that are
    unlike sensible play, and worlds that are too good for the seat, flatter both.
    """
    rng = seeded("scores", game.id, sorted(game.ruleset.items()), seed)
    sums = []
    for _ in watch(range(deals)):
        position = Position.deal(game, rng.getrandbits(64))
        told: dict[int, float] = {}
        while len(told) < SEATS and not position.over:
            joint = {}
            for seat in position.deciders:
                legal = position.legal(seat)
                joint[seat] = legal[0]
                if len(legal) > 1:
                    search = Search(
                        position.view(seat),
                        seed=rng.getrandbits(64),
                        parameters=Parameters(last_look=SHARE),
                        model=learned(game),
                    )
                    search.run(iterations=ITERATIONS, seconds=SECONDS)
                    hint = search.result()
                    joint[seat] = hint.action
                    told.setdefault(seat, hint.expected_score)
            position.apply(joint, rng.getrandbits(64))
        if len(told) == SEATS:
            sums.append(math.fsum(told.values()))
    if len(sums) < 2:
        return "NOT TESTED: both seats decided in fewer than two deals"
    mean = statistics.mean(sums)
    width = SURE * statistics.stdev(sums) / math.sqrt(len(sums))
    found = f"{mean:.2f} ± {width:.2f} together, in {len(sums)} deals"
    assert abs(mean - 1) - width < OFF, (
        f"hints foretell {found}, where 1 is right. The worlds of the sampler may be too good for "
        "the seat, or playouts too unlike sensible play (docs/adding-a-game.md: a policy)"
    )
    return f"yes: {found}"
