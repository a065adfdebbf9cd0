"""Checks that nothing but its view tells a seat anything: `croupier check-game`.

Worlds drawn for one view, in which the other seat decides anew, go on by one decision. Where the
views are equal then too, all else that the seat is told must be equal: events, keys, legal actions,
and what spectators see.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable
from random import Random
from typing import Any, NamedTuple

from engine.errors import ActionError
from engine.game import SEATS, SPECTATOR, Game, SeatView
from engine.match import Match
from engine.position import Position
from engine.sampler import Sampler
from lab.contract import (
    Joint,
    brief,
    check_same,
    note_on_failure,
    random_joint,
    random_secret,
    seeded,
)

THE_DEAL = "the deal"


class Compared:
    """How many pairs of equal views were compared, by kind of decision and by kind of event."""

    def __init__(self, game: Game) -> None:
        self.decisions: Counter[str] = Counter({THE_DEAL: 0})
        self.events: Counter[str] = Counter({_base(kind): 0 for kind in game.event_kinds.values()})

    def __str__(self) -> str:
        """The numbers, and what was not tested."""
        counted = ", ".join(f"{kind} {n:,}" for kind, n in self.decisions.items() if n)
        untested = [kind for kind, n in self.decisions.items() if not n]
        untested += [f"event {kind}" for kind, n in self.events.items() if not n]
        if not untested:
            return f"yes: {counted}"
        return f"yes: {counted or 'none'}; NOT TESTED: {', '.join(untested)}"


class _Told(NamedTuple):
    # What a seat is told, by what it is.
    shared: list[Any]  # Events that spectators see too, in order.
    # Events that only the seat sees. Their order, and that of the cards in one, is left out.
    private: list[Any]
    parts: dict[str, Any]


def check_leaks(
    game: Game,
    seeds: Iterable[int],
    most: int = 1000,
    worlds: int = 60,
    compared: Compared | None = None,
) -> Compared:
    """Checks that what happens tells a seat no more than its view; returns what was compared.

    Compared are, in each match, at most `most` decisions of each kind, chosen at random. In half of
    the worlds the other seat decides as it did in the match, where it can, else at random.
    `compared` is what is added to.
    """
    compared = compared or Compared(game)
    for seed in seeds:
        with note_on_failure(seed=seed, ruleset=game.ruleset):
            rng = seeded("leaks", game.id, seed)
            by_kind = defaultdict(list)
            for position, joint in _random_match(game, rng):
                by_kind[_kinds(game, joint)].append((position, joint))
            for moments in by_kind.values():
                for position, joint in rng.sample(moments, min(most, len(moments))):
                    for seat in range(SEATS):
                        _compare(position, joint, seat, worlds, rng, compared)
    return compared


def check_deals(game: Game, seed: int, deals: int, compared: Compared) -> Compared:
    """Checks the same of the deal, as far as deals give a seat equal views."""
    seen: dict[SeatView, _Told] = {}
    rng = seeded("deals", game.id, seed)
    for _ in range(deals):
        match = Match(game, random_secret(rng))
        for seat in range(SEATS):
            view = match.view(seat)
            told = _told(match.position, match.events, seat, {})
            if view in seen:
                _check_equal(seen[view], told, view, THE_DEAL, compared)
            else:
                seen[view] = told
    return compared


def _random_match(game: Game, rng: Random) -> list[tuple[Position, Joint]]:
    position = Position.deal(game, rng.getrandbits(64))
    moments = []
    while not position.over:
        joint = random_joint(position, rng)
        moments.append((position.copy(), joint))
        position.apply(joint, rng.getrandbits(64))
    return moments


def _kinds(game: Game, joint: Joint) -> str:
    kinds = {game.read_action(action)["kind"] for action in joint.values()}
    return " and ".join(sorted(kinds)) + (" by both" if len(joint) == SEATS else "")


def _compare(
    position: Position, joint: Joint, seat: int, worlds: int, rng: Random, compared: Compared
) -> None:
    game = position.game
    sampler = Sampler.of(position.view(seat))
    seen: dict[SeatView, _Told] = {}
    who = "" if len(joint) == SEATS else " by the seat" if seat in joint else " by the other"
    compared.decisions[_kinds(game, joint) + who] += 0
    for n in range(worlds):
        world = sampler.sample(rng.getrandbits(64))
        anew = dict(joint)
        for other in joint.keys() - {seat}:
            legal = world.legal(other)
            if n % 2 or joint[other] not in legal:
                anew[other] = rng.choice(legal)
        pair = [anew.get(each, 0) for each in range(SEATS)]
        try:
            events = world.apply(anew, rng.getrandbits(64))
        except ActionError:
            continue  # Legal actions that differ between worlds are found by `check_sound`.
        keys = {
            "the key of observe": world.observe(pair, seat),
            "the key of next_key": world.next_key(0, pair, seat),
        }
        view = world.view(seat)
        told = _told(world, events, seat, keys)
        if view in seen:
            _check_equal(seen[view], told, view, _kinds(game, anew) + who, compared)
        else:
            seen[view] = told


def _told(position: Position, events: list[Any], seat: int, keys: dict[str, Any]) -> _Told:
    game = position.game
    shared = [event for event in events if event.seen_by(seat) and event.seen_by(SPECTATOR)]
    private = [
        event._replace(values=sorted(event.values))
        for event in events
        if event.seen_by(seat) and not event.seen_by(SPECTATOR)
    ]
    others = [event for event in events if event.seen_by(SPECTATOR) and event.seat != seat]
    return _Told(
        shared,
        sorted(private),
        {
            **keys,
            "root_key": position.root_key(seat),
            "who decides": position.deciders,
            "what is legal": [game.read_action(action) for action in position.legal(seat)],
            "what spectators read": [_say(event) for event in others],
            "the view of spectators": position.view(SPECTATOR).fields,
        },
    )


def _check_equal(
    first: _Told, second: _Told, view: SeatView, decision: str, compared: Compared
) -> None:
    with note_on_failure(decision=decision, seat=view.seat, view=brief(view.fields)):
        for one, other in (
            *itertools.zip_longest(first.shared, second.shared),
            *itertools.zip_longest(first.private, second.private),
        ):
            assert one == other, (
                f"of two worlds with the same view, one logs {_say(one)}, the other {_say(other)}"
            )
        for what, told in first.parts.items():
            check_same(f"{what}, in two worlds with the same view,", told, second.parts[what])
    compared.decisions[decision] += 1
    compared.events.update({_base(event.kind) for event in (*second.shared, *second.private)})


def _base(kind: str) -> str:
    return kind.partition(":")[0].removesuffix("_hidden")


def _say(event: Any) -> str:
    if event is None:
        return "nothing more"
    of = f" of seat {event.seat}" if event.seat >= 0 else ""
    return f"the event {event.kind}{of} with the values {list(event.values)}"
