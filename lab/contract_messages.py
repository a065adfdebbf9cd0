"""Checks the messages of a hosted game: `croupier check-game`.

Each action, event, view and ruleset of random matches becomes a message that breaks no rule of its
schema, and is read back as it was. For clients that do not know the game there are phrases, of
which an ending fills in one.
"""

import re
from collections.abc import Iterable
from typing import Any

from google.protobuf.message import Message

from croupier.v1 import game_pb2
from engine.events import Event
from engine.game import SPECTATOR, Game
from engine.match import Match
from lab.contract import VIEWERS, check_same, note_on_failure, random_joint, random_secret, seeded
from service import wire
from service.common.validation import first_violation


def check_messages(game: Game, seeds: Iterable[int]) -> None:
    """Checks what becomes of random matches in messages, there and back."""
    ruleset = wire.write_ruleset(game)
    _check_valid(game, ruleset)
    assert wire.read_ruleset(ruleset, "ruleset").ruleset == game.ruleset, "the ruleset"
    for seed in seeds:
        with note_on_failure(seed=seed):
            rng = seeded("messages", game.id, seed)
            match = Match(game, random_secret(rng), "messages")
            events = match.events
            while True:
                for event in events:
                    _check_valid(game, wire.write_event(game, event, match.version))
                for viewer in VIEWERS:
                    _check_view(match, ruleset, viewer)
                if match.over:
                    _check_ending(match, events)
                    break
                for seat in match.deciders:
                    for action in match.legal(seat):
                        message = wire.write_action(game, action)
                        _check_valid(game, message)
                        assert wire.read_action(game, message) == action, message
                joint = random_joint(match.position, rng)
                events = [match.apply(seat, action) for seat, action in joint.items()][-1]


def _check_view(match: Match, ruleset: game_pb2.Ruleset, viewer: int) -> None:
    view = match.view(viewer)
    message = game_pb2.View.FromString(wire.write_view(match.game, view))
    if viewer not in match.deciders:
        return  # Only who decides can ask what to decide, with the view alone.
    message.seat = viewer
    message.ruleset.CopyFrom(ruleset)
    _check_valid(match.game, message)
    read = wire.read_view(message, "view")
    check_same("a view, as it was written and read back,", view.fields, read.fields)
    assert read == view, "a view is read as it was written"


def _check_ending(match: Match, events: list[Event]) -> None:
    try:
        ending = wire.write_ending(match.view(SPECTATOR), events)
    except KeyError as error:
        text = "`endings` of the translation, or the values that `ending` returns, have no"
        raise AssertionError(f"{text} {error}") from error
    if ending is None:
        return
    violation = first_violation(ending)
    assert violation is None, f"{violation} in {ending}"
    cards = {card["id"] for card in match.game.cards()}
    for value in ending.values:
        assert value.WhichOneof("value") != "card" or value.card in cards, f"no such card: {value}"


def _check_valid(game: Game, message: Message) -> None:
    inner = wire.messages(game.id).read(message)
    for each in (message, inner):
        violation = first_violation(each)
        assert violation is None, f"{violation} in {each}"


def check_kinds_of_events(game: Game) -> None:
    """Checks that each kind of event has a message, also those that random play seldom makes."""
    for text in game.event_kinds.values():
        kind = text.partition(":")[0]
        message = wire.write_event(game, Event(kind, 0, (1,) * 8, 0), 1)
        assert message.WhichOneof("event"), f"{kind} has no message"


def check_phrases(game: Game) -> None:
    """Checks that each phrase names something of the schema, and each field of it in braces."""
    types = wire.messages(game.id).types
    parts: dict[str, Any] = {
        "ruleset": types[game_pb2.Ruleset].DESCRIPTOR,
        "action": types[game_pb2.MatchAction].DESCRIPTOR,
        "event": types[game_pb2.MatchEvent].DESCRIPTOR,
        "view": types[game_pb2.View].DESCRIPTOR,
    }
    for name, phrase in game.phrases.items():
        part, _, path = name.partition(".")
        if part == "place":
            assert path in game.hidden_places, f"the game has no hidden place {path}"
            continue
        assert part in parts, (
            f"{name} is no phrase of a ruleset, an action, an event, a view or a place"
        )
        *outer, last = path.split(".")
        described: Any = parts[part]
        for each in outer:
            described = described and _inner(described, each)
        assert described and last in described.fields_by_name, f"the schema has no {name}"
        inner = _inner(described, last)
        known = {"seat"} | ({field.name for field in inner.fields} if inner else set())
        for field in re.findall(r"{(\w*)}", phrase):
            assert field in known, f"{name}: there is no field {field} for {phrase!r}"


def _inner(described: Any, field: str) -> Any:
    found = described.fields_by_name.get(field)
    return found.message_type if found else None
