"""Matches that are played on from a moment of another match: where they begin.

Such a match keeps what was decided before and from which secrets chance was drawn, not a position:
so its beginning outlasts the engine's own encodings as any log does, and whoever has its record can
derive it again. Every card lies where it lay, apart from cards in an order that no seat had seen
(`Game.shuffle_unseen`): their order is drawn from the new secret, as is all later chance.
"""

import random
from typing import NamedTuple

import wire
from croupier.v1 import game_pb2, match_pb2
from engine.errors import ActionError
from engine.events import Event
from engine.game import Game
from engine.match import Match
from engine.position import Position
from service.common.event_loop import Work
from service.store import Entry, Header
from wire.errors import Refusal

MAX_STRETCHES, MAX_ACTIONS = 8, 5_000  # As in the schema.
RANDOM_MATCHES = 32


class Start(NamedTuple):
    """Where a match begins that is played on."""

    message: bytes  # A croupier.v1.MatchStart.
    rules_version: int  # Under which it was played before.
    logged: bool  # Whether the log has the match: only then may two people play it on.


class Beginning(NamedTuple):
    """Where a match begins, and what happened before."""

    position: Position
    events: tuple[tuple[int, tuple[Event, ...]], ...]  # By version of their stretch.


class StartError(ValueError):
    """A start that is none; `path` is that of the field of a MatchStart which is wrong."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(what)
        self.path = path


def write_start(
    header: Header, version: int, match: Match, actions: list[Entry], *, logged: bool
) -> Start:
    """The start of a match that is played on from this one; raises StartError.

    `match` is the engine's at the version, and `actions` are the entries with actions before it.
    `logged` says whether the log has this match, rather than a record that somebody has sent.
    """
    start = match_pb2.MatchStart()
    if header.start:
        start.MergeFromString(header.start)
        logged = logged and start.origin.logged
    # Whoever has chosen a seed has chosen the deal.
    start.origin.logged = logged and not header.seeded
    start.origin.name = f"matches/{header.match_id}"
    start.origin.version = version
    stretch = start.stretches.add(
        chance_id=match.match_id, secret=match.secret, version=match.version - len(actions)
    )
    for entry in actions[: len(actions) - len(match.held)]:
        stretch.actions.add(seat=entry.seat).action.MergeFromString(entry.action)
    if len(start.stretches) > MAX_STRETCHES:
        raise StartError(
            "stretches", f"a match is played on at most {MAX_STRETCHES} times in a row"
        )
    if sum(len(each.actions) for each in start.stretches) > MAX_ACTIONS:
        raise StartError("stretches", f"a match is played on after at most {MAX_ACTIONS} actions")
    written = start.SerializeToString(deterministic=True)
    return Start(written, header.rules_version, start.origin.logged)


def write_origin(header: Header) -> bytes:
    """A serialized View with only the moment at which a match began; empty if that was a deal."""
    if not header.start:
        return b""
    return game_pb2.View(
        origin=match_pb2.MatchStart.FromString(header.start).origin
    ).SerializeToString()


def drawing_on(start: Position) -> Work[bool]:
    """Whether chance has anything to decide that a seat notices when it is played on from here.

    Random matches say so, each played twice with other chance: they miss what is rare.
    """
    for seed in range(RANDOM_MATCHES):
        rng = random.Random(seed)
        one, other = (Match(start.game, rng.randbytes(32), start=start) for _ in range(2))
        while not one.over:
            seat = one.deciders[0]
            action = rng.choice(one.legal(seat))
            if one.apply(seat, action) != other.apply(seat, action):
                return True
            if any(one.view(each) != other.view(each) for each in (0, 1)):
                return True
            yield
    return False


def replaying_start(game: Game, start: bytes) -> Work[Beginning]:
    """How a match begins that is played on; raises StartError."""
    position, events, path, total = None, [], "stretches", 0
    for number, stretch in enumerate(match_pb2.MatchStart.FromString(start).stretches):
        path = f"stretches[{number}]"
        match = Match(game, stretch.secret, stretch.chance_id, stretch.version, position)
        events.append((match.version, tuple(match.events)))
        total += len(stretch.actions)
        if total > MAX_ACTIONS:
            raise StartError(path, f"must have at most {MAX_ACTIONS} actions in all stretches")
        for turn, taken in enumerate(stretch.actions):
            where = f"{path}.actions[{turn}]"
            try:
                wire.check_game(game, taken.action, "action")
                happened = match.apply(int(taken.seat), wire.read_action(game, taken.action))
            except ActionError as error:
                raise StartError(where, f"the rules do not allow it: {error}") from None
            except Refusal as refusal:
                raise StartError(where, str(refusal)) from None
            events.append((match.version, tuple(happened)))
            yield
        if match.held:
            raise StartError(path, "must not end with a decision that waits for the other seat")
        position = match.position
    if position is None or position.over:
        raise StartError(path, "must end where a seat owes a decision")
    return Beginning(position, tuple(each for each in events if each[1]))
