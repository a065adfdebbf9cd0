"""How to search, and what a search has found."""

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_NO_ASPECTS: Mapping[str, "Estimate"] = MappingProxyType({})


class StopReason(enum.StrEnum):
    """Why a search ended."""

    ITERATIONS = enum.auto()
    TIME = enum.auto()
    # The seat has one legal action only, for which a short search is enough.
    SINGLE_ACTION = enum.auto()
    # The rest of the match was solved exactly.
    PROVEN = enum.auto()
    CANCELLED = enum.auto()
    # There was no room for another node.
    MEMORY = enum.auto()


class Standing(enum.StrEnum):
    """How an action compares with the answer of a search."""

    # The answer, or a part of it where it is a mixture.
    BEST = enum.auto()
    # It loses at most 0.01, with 95 % probability.
    AS_GOOD = enum.auto()
    # It loses more, or as far as can be told.
    WORSE = enum.auto()
    # It was not looked at closely.
    UNEXAMINED = enum.auto()


class Estimate(NamedTuple):
    """What a search foretells of an aspect."""

    mean: float
    # The standard deviation of that mean, by the noise of the worlds alone.
    deviation: float


class Reason(NamedTuple):
    """An aspect that speaks for the action of a search, beside another action."""

    aspect: str
    value: float
    other: int
    other_value: float


class ActionResult(NamedTuple):
    """What a search found about one action."""

    action: int
    # The iterations that played the action, of those in which it was available.
    visits: int
    availability: int
    # The mean of its scores, from 0 to 1, and the standard deviation of that mean. After few visits
    # the estimate of it may be larger than that of any value from 0 to 1, which is 0.5.
    expected_score: float
    deviation: float
    # The probability with which to play it.
    probability: float
    standing: Standing = Standing.UNEXAMINED
    # What it loses against the answer, and the standard deviation of that.
    loss: float = 0.0
    loss_deviation: float = 0.0
    # By name, if the search was asked for a last look and the game has some.
    aspects: Mapping[str, Estimate] = _NO_ASPECTS


class Result(NamedTuple):
    """What a search found, for each action and at the root.

    Where the result is proven, scores and probabilities are exact, the deviations are 0, and
    everything else is of a short search.
    """

    # Sampled with the probabilities of the actions.
    action: int
    # The answer first, with its likeliest action; then what is as good, what is worse, and what was
    # not looked at.
    actions: list[ActionResult]
    # Of the answer, from 0 to 1: win + draw / 2.
    expected_score: float
    win: float
    draw: float
    loss: float
    iterations: int
    # The worlds that were drawn, one for each playout.
    worlds: int
    nodes: int
    # The trees ran out of memory, and got no new nodes from then on.
    full: bool
    stop_reason: StopReason
    # Why the first of `actions` is played, the weightiest first (ai/reasons.py).
    reasons: tuple[Reason, ...] = ()


class Parameters(NamedTuple):
    """How to search. ai/ismcts.pyx says what each parameter does there."""

    # The constant of UCB1, in standard deviations of the scores seen at the node.
    exploration: float = 1.0
    # Times the square root of actions / visits: the share of uniform choices that is mixed into
    # regret matching.
    uniform: float = 3.0
    # Whether to use regret matching also where a seat decides alone; None: as the game says.
    sequential_regret: bool | None = None
    # The most actions with which a simultaneous decision is answered by regret matching; None: as
    # the game says.
    max_mixed_actions: int | None = None
    # How many visits for each of its actions such a decision gets by UCB1 before; None: as the game
    # says.
    visits_before_mixing: int | None = None
    # Whether playouts follow the game's PlayoutPolicy; else they are random and go to the end.
    playout_policy: bool = True
    # How many stages of the policy a playout goes on for; None: as the policy says.
    horizon: int | None = None
    # A node that chooses by UCB1 has tried at most this times the square root of its visits, plus
    # one, of its actions, in the order in which the playout policy would choose them; 0: all
    # actions are tried first; None: as the game says.
    widening: float | None = None
    # The share of the iterations and of the time that is kept for a last look (ai/last_look.py); 0:
    # the actions are not compared.
    last_look: float = 0.0
    # Whether scores are as they come out in matches (engine/calibration.py), if the game has the
    # numbers for that; else as they were seen.
    calibrated: bool = True
    # Whether the last look watches the aspects of the game. They change nothing else.
    aspects: bool = True
    # Whether to search from the deal (ai/cfr.pyx) if all states of the game fit in `memory`.
    from_deal: bool = True
    # From the present, probabilities below this times the largest are taken for noise and set to 0.
    floor: float = 0.02
    # How softly the action is chosen, if nothing is proven (ai/softness.py); 0: as well as the
    # search can.
    temperature: float = 0.0
    # The most iterations that are spent on a single action; 0: as many as on any other decision.
    single_action: int = 256
    # The most iterations once the best action is proven, which show how the match is expected to go
    # on; 0: as many as for any other decision.
    proven: int = 1000
    # Whether to solve endings exactly where that is possible (ai/endings.pyx).
    endings: bool = True
    # Bytes for each thread. When they are used up, the search goes on without new nodes.
    memory: int = 256 << 20
