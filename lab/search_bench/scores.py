"""How right are the scores of a hint.

A hint shows an expected score for every action, but most of its iterations go to the best. Here
each action is also searched for alone, from the same view and for as many iterations as the whole
hint had. Two scores agree if they differ by at most two deviations: that of both together, the root
of the sum of their squares. Its mean is shown too, since scores that promise little easily agree.

The positions are decisions between several actions, drawn from matches that are played at random.
In a search for one action, the other seat learns to answer this action even where it decides at the
same time. The score alone is then lower by right, so simultaneous decisions are kept apart.
"""

import math
import random
from collections.abc import Iterator

from engine import games
from engine.position import Position
from lab.search_bench.figures import Figure, Task

EVALUATION_SHARE = 0.2  # As the server asks by default.
MAX_ACTIONS = 12  # That are searched for alone, of one position.
DEVIATIONS = 2
ROUNDING = 1e-9  # Exact scores differ by less.


def random_decision(game_id: str, chance: random.Random) -> tuple[Position, int]:
    """A decision between several actions, and its seat, from a match that is played at random."""
    found: list[tuple[Position, int]] = []
    while not found:
        position = Position.deal(games()[game_id](), chance.getrandbits(64))
        while not position.over:
            legal = {seat: position.legal(seat) for seat in position.deciders}
            before = position.copy()
            found += [(before, seat) for seat in legal if len(legal[seat]) > 1]
            joint = {seat: chance.choice(actions) for seat, actions in legal.items()}
            position.apply(joint, chance.getrandbits(64))
    return chance.choice(found)


def scores(task: Task) -> Iterator[Figure]:
    """Draws a position, asks for a hint, and searches for its actions alone."""
    chance = task.chance()
    position, seat = random_decision(task.game_id, chance)
    view, legal = position.view(seat), position.legal(seat)
    limits = {"iterations": task.iterations}
    share = {"evaluation_share": EVALUATION_SHARE}
    hint = task.ask(view, chance.getrandbits(64), limits | share, all_actions=True)
    when = "simultaneous" if len(position.deciders) > 1 else "in turn"
    yield when, "proven", hint.stop_reason == "proven"
    shown = {each.action: each for each in hint.actions}
    drawn = chance.sample(legal, min(MAX_ACTIONS, len(legal)))
    best = hint.actions[0].action
    if best not in drawn:
        drawn[-1] = best
    for action in drawn:
        alone = task.ask(
            view,
            chance.getrandbits(64),
            # 0: a search for one action is as long as any other.
            {**limits, "single_action": 0},
            root_actions=[action],
            all_actions=True,
        ).actions[0]
        one = shown[action]
        kind = "the best" if action == best else "others" if one.visits else "never tried"
        error = one.expected_score - alone.expected_score
        deviation = math.hypot(one.deviation, alone.deviation)
        for group in (f"{when}, all", f"{when}, {kind}"):
            yield group, "within", abs(error) <= DEVIATIONS * deviation + ROUNDING
            yield group, "|error|", abs(error)
            yield group, "error", error
            yield group, "deviation", deviation
