"""How to search, and what a search has found."""

from typing import NamedTuple


class ActionResult(NamedTuple):
    """What a search found about one action.

    `visits` of the `availability` iterations that could have played it did; `expected_score` (0 to
    1) is the mean of its scores and `deviation` the standard deviation of that mean; `probability`
    is with which to play it.
    """

    action: int
    visits: int
    availability: int
    expected_score: float
    deviation: float
    probability: float


class Result(NamedTuple):
    """What a search found: for each legal action, the likeliest first, and at the root.

    `action` is drawn with the actions' probabilities. `expected_score` is from 0 to 1; `win`,
    `draw` and `loss` are shares of the playouts, each of which was played in a world of its own:
    `worlds`. `full`: the trees ran out of memory, and stayed as they were. `stop_reason` is
    iterations, time, single_action, proven, cancelled or memory; where it is proven, scores and
    probabilities are exact, the deviations are 0, and the rest is of a short search.
    """

    action: int
    actions: list[ActionResult]
    expected_score: float
    win: float
    draw: float
    loss: float
    iterations: int
    worlds: int
    nodes: int
    full: bool
    stop_reason: str


class Parameters(NamedTuple):
    """How to search: ai/ismcts.pyx says what each of them does there.

    `exploration` is the constant of UCB1, in standard deviations of the scores seen at the node;
    `uniform` times the square root of actions / visits is the share of uniform choices mixed into
    regret matching. `sequential_regret` uses regret matching also where a seat decides alone
    (None: as the game's `sequential_regret` says), and `max_mixed_actions` is the most actions with which a
    simultaneous decision is answered by it (None: as the game's `max_mixed_actions` says). `playout_policy` plays
    out by the game's `PlayoutPolicy`, for `horizon` of its stages (None: as many as it says), else at
    random and to the end. A node that chooses by UCB1 has tried at most `widening` times the
    square root of its visits (and one more) of the actions, those first that the policy would play
    (0: all are tried first). `from_deal` searches from the deal (ai/mccfr.pyx; None: as the
    game's `from_deal` says), if all that can be played fits in `memory`. Probabilities
    below `floor` times the largest are taken for noise and set to 0. A single action is searched
    for at most `single_action` iterations (0: as any other). `endings` are solved exactly where
    they can be (ai/endings.pyx). `memory` is bytes a thread; when it is full, the search goes on
    without new nodes.
    """

    exploration: float = 1.0
    uniform: float = 3.0
    sequential_regret: bool | None = None
    max_mixed_actions: int | None = None
    playout_policy: bool = True
    horizon: int | None = None
    widening: float = 0.5
    from_deal: bool | None = None
    floor: float = 0.02
    single_action: int = 256
    endings: bool = True
    memory: int = 256 << 20
