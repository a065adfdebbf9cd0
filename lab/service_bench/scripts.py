"""Scripted matches, which were played at random, so that a client only has to send their calls."""

import asyncio
import random
import time
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from croupier.v1.game_pb2 import MatchAction, Ruleset
from croupier.v1.match_pb2 import SubmitActionRequest
from engine.match import Match
from service import wire
from service.hosting.creation import secret_of_seed
from service.hosting.leases import leased_status
from service.hosting.match_state import MatchState
from service.store import Entry, EntryKind, Header, MatchStatus, Store

KEY = bytes(range(32))  # Of the tokens.
SCRIPTS = 8  # Of each game; matches of the same script differ only in their ids.
_AT_ONCE = 256  # As many as a store commits at once.


class Decision(NamedTuple):
    """A decision of a script, and the version of the view before it."""

    seat: int
    expected_version: int
    action: MatchAction


class Script(NamedTuple):
    """A whole match: its header without an id, its seed, and each decision."""

    header: Header
    seed: int
    decisions: list[Decision]


def write_scripts(game_id: str, count: int = SCRIPTS) -> list[Script]:
    """Plays matches of a game at random under its default ruleset; always the same ones."""
    return [_write_script(game_id, seed) for seed in range(count)]


def _write_script(game_id: str, seed: int) -> Script:
    rng = random.Random(f"{game_id}/{seed}")
    game = wire.hosted_games()[game_id]()
    secret = secret_of_seed(seed)
    header = Header(
        match_id="",
        game=game_id,
        ruleset=Ruleset(**{game_id: {}}).SerializeToString(),
        rules_version=game.rules_version,
        secret=secret,
        chance_id="",
        bots=(0, 0),
        created=time.time_ns() // 1_000_000,
    )
    match = Match(game, secret)
    decisions = []
    while not match.over:
        seat = match.deciders[0]
        action = rng.choice(match.legal(seat))
        decisions.append(Decision(seat, match.version, wire.write_action(game, action)))
        match.apply(seat, action)
    return Script(header, seed, decisions)


def submission(name: str, decision: Decision) -> bytes:
    """Returns the request of SubmitAction with which a seat decides in a match."""
    return SubmitActionRequest(
        name=name,
        expected_version=decision.expected_version,
        action=decision.action,
        request_id=f"{name}-{decision.expected_version}",
    ).SerializeToString()


async def fill(store: Store, matches: Iterable[tuple[str, Script]], decisions: int) -> None:
    """Adds matches, each with its id, with their first decisions."""
    every = iter(matches)
    while some := list(islice(every, _AT_ONCE)):
        await asyncio.gather(*(_add(store, *match, decisions) for match in some))


async def _add(store: Store, match_id: str, script: Script, decisions: int) -> None:
    state = MatchState.begin(script.header._replace(match_id=match_id))
    await store.create(state.header, leased_status(state))
    for version, decision in enumerate(script.decisions[:decisions]):
        entry = Entry(
            EntryKind.ACTION,
            decision.seat,
            script.header.created,
            decision.action.SerializeToString(deterministic=True),
            decision.expected_version,
            f"request-{version}",
        )
        await store.append(match_id, version, entry, MatchStatus(over=False))
