"""A softer answer: it also chooses what seemed nearly as good, as people do.

The better an action seems, the more often the search visits it. So each action is chosen in
proportion to its visits to the power of 1 / temperature. Near 0 only the most visited action is
left; at 1 it is in proportion to the visits; beyond that, all actions become more alike. A mixture
of regret matching is a good answer as it is: its probabilities are taken to the power of
1 / (1 + temperature) instead.

No action is chosen that seems to lose more than MAX_LOSS: a beginner sees such a blunder, too.

    D. Silver et al., "A General Reinforcement Learning Algorithm that Masters Chess, Shogi, and Go
    through Self-Play", Science 362, 2018: the temperature.
"""

from collections.abc import Collection, Sequence

from ai.results import ActionResult
from engine.numerics import evaluate

MAX_LOSS = 0.25  # Of the expected score.
# Below and beyond these the answer would hardly change any more, and powers would overflow.
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 100.0


def soften(
    actions: Sequence[ActionResult],
    expected_score: float,
    temperature: float,
    *,
    mixed: bool,
    never: Collection[int] = (),
) -> list[ActionResult]:
    """The actions with softer probabilities, the likeliest first.

    `expected_score` is that of the answer as it was, and `mixed` says that this was a mixture.
    Those of `never` are not chosen. A temperature out of range acts as the nearest in it.
    """
    temperature = min(max(temperature, MIN_TEMPERATURE), MAX_TEMPERATURE)
    most = max([1, *(each.visits for each in actions if each.action not in never)])

    def weight(each: ActionResult) -> float:
        if each.action in never or expected_score - each.expected_score > MAX_LOSS:
            return 0.0
        # The functions of engine/numerics.pyx have the same bits on every machine.
        if mixed:
            return evaluate("to_the_power", each.probability, 1 / (1 + temperature))
        return evaluate("to_the_power", each.visits / most, 1 / temperature)

    weights = [weight(each) for each in actions]
    total = sum(weights)
    if not total:
        return list(actions)  # Nothing was tried.
    softer = [
        each._replace(probability=one / total) for each, one in zip(actions, weights, strict=True)
    ]
    return sorted(softer, key=lambda each: (-each.probability, -each.visits, each.action))
