"""Matches of the program against itself as records, and the comparison of two actions in them."""

import hashlib
import math
from collections.abc import Callable
from typing import NamedTuple

from ai.results import Parameters
from ai.search import Search
from croupier.v1 import match_pb2
from engine.game import SeatView
from engine.model import learned
from engine.position import Position
from service import wire
from service.hosting.entries import EntryKind
from service.hosting.match_state import MatchState
from service.hosting.records import write_record
from service.reviewing.verdicts import COMPARING_SHARE
from service.store import Entry, Header

BOTS = (5, 5)  # In the header of a record: who plays is as strong as the search.

Choose = Callable[[Position, int, int], int]


def play(game_id: str, number: int | str, choose: Choose) -> match_pb2.MatchRecord:
    """The record of a match; `choose` gets the position, the seat and the version."""
    game = wire.hosted_games()[game_id]()
    name = f"m{number}"
    header = Header(
        match_id=name,
        game=game_id,
        ruleset=wire.write_ruleset(game).SerializeToString(deterministic=True),
        rules_version=game.rules_version,
        secret=hashlib.sha256(f"{game_id}{number}".encode()).digest(),
        chance_id=name,
        bots=BOTS,
        created=0,
        hint_policy=1,
    )
    state = MatchState.begin(header)
    while not state.over:
        seat = state.deciders[0]
        chosen = choose(state.dealt().position, seat, state.version)
        action = wire.serialize_action(game, chosen)
        state = state.after(Entry(EntryKind.ACTION, seat, state.version, action, state.version))
    return write_record(state)


class Gap(NamedTuple):
    """What one action scores more than another."""

    best: float  # The expected score of the better one.
    points: float
    deviation: float


def compare(view: SeatView, best: int, other: int, iterations: int, seed: int) -> Gap:
    """Searches two actions alone and equally long, as a review does."""
    running = Search(
        view,
        seed=seed,
        parameters=Parameters(evaluation_share=COMPARING_SHARE),
        root_actions=sorted((best, other)),
        model=learned(view.game),
    )
    running.run(iterations=iterations)
    found = {each.action: each for each in running.result().actions}
    score = found[best].expected_score
    return Gap(
        score,
        score - found[other].expected_score,
        math.hypot(found[best].deviation, found[other].deviation),
    )
