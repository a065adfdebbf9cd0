"""Why a search plays its action: the aspects in which it differs from what else could be played.

A game names aspects that people talk about (engine/aspects.pxd), and a last look watches them for
each of its actions. What an aspect is worth is the slope of a regression of the scores on its
values, over all that was watched of all actions. A difference that is within its noise is no
reason, nor is one that speaks for the other action.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from ai.results import Estimate, Reason
from ai.worker import Rounds

MOST = 2  # Reasons.
SURE = 2.0  # Deviations of a difference.
LEAST = 0.005  # Of the expected score: what less is worth is not worth a sentence.
# The square of a difference that was not seen but may be, as in ai/last_look.py.
PRIOR = 0.25


def estimates(stages: Iterable[Rounds], names: Sequence[str], action: int) -> dict[str, Estimate]:
    """What the stages of a last look foretell of each aspect, if the action is played."""
    found = {}
    seen = [
        each.watched[each.actions.index(action)]
        for each in stages
        if each.watched and action in each.actions
    ]
    count = sum(each.times for each in seen)
    for i, name in enumerate(names if count else ()):
        mean = math.fsum(each.totals[i] for each in seen) / count
        square = math.fsum(each.squares[i] for each in seen) / count
        noise = max(0.0, square - mean * mean) + PRIOR / count
        found[name] = Estimate(mean, math.sqrt(noise / count))
    return found


def weigh(
    stages: Sequence[Rounds],
    names: Sequence[str],
    own: Mapping[str, Estimate],
    other: Mapping[str, Estimate],
    other_action: int,
) -> tuple[Reason, ...]:
    """What speaks for an action beside another one, from what is foretold of both."""
    found = []
    for i, name in enumerate(names):
        difference = own[name].mean - other[name].mean
        noise = math.hypot(own[name].deviation, other[name].deviation)
        worth = difference * _slope(stages, i)
        if abs(difference) > SURE * noise and worth >= LEAST:
            reason = Reason(name, own[name].mean, other_action, other[name].mean)
            found.append((worth, reason))
    found.sort(key=lambda each: (-each[0], each[1].aspect))
    return tuple(reason for _, reason in found[:MOST])


def _slope(stages: Iterable[Rounds], aspect: int) -> float:
    # Of the scores, per unit of the aspect.
    seen = [watched for each in stages for watched in each.watched]
    count = sum(each.times for each in seen)
    total = math.fsum(each.totals[aspect] for each in seen)
    variance = math.fsum(each.squares[aspect] for each in seen) - total * total / count
    covariance = math.fsum(each.products[aspect] for each in seen)
    covariance -= total * math.fsum(each.scores for each in seen) / count
    return covariance / variance if variance > 0 else 0.0
