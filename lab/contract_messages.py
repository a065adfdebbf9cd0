"""Checks the messages of a hosted game: `croupier check-game`.

Each action, event, view and ruleset of random matches becomes a message that breaks no rule of its
schema, and is read back as it was. What happens in it is said by phrases, of
which each kind of action and event has one, in each of its languages.
"""

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from google.protobuf.message import Message

import wire
from croupier.enums import words
from croupier.phrases import BRACES, Words
from croupier.v1 import catalog_pb2, game_pb2
from engine.events import Event
from engine.game import SPECTATOR, Game
from engine.match import Match
from lab.contract import VIEWERS, check_same, note_on_failure, random_joint, random_secret, seeded
from service.api.catalog_service import in_all_languages, translations
from wire.validation import first_violation


def check_messages(game: Game, seeds: Iterable[int]) -> None:
    """Checks what becomes of random matches in messages, there and back."""
    ruleset = wire.write_ruleset(game)
    _check_valid(game, ruleset)
    options = {field.name for field in wire.messages(game.id).read(ruleset).DESCRIPTOR.fields}
    missing = ", ".join(sorted(options - game.ruleset.keys()))
    assert not missing, f"the ruleset that read_ruleset returns is not whole: it lacks {missing}"
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
    """Checks that what is said fits the schema, and is whole, in each language."""
    types = wire.messages(game.id).types
    parts: dict[str, Any] = {
        "ruleset": types[game_pb2.Ruleset].DESCRIPTOR,
        "action": types[game_pb2.MatchAction].DESCRIPTOR,
        "event": types[game_pb2.MatchEvent].DESCRIPTOR,
        "view": types[game_pb2.View].DESCRIPTOR,
    }
    described = in_all_languages(game)
    english = described["en"].phrases
    for part in ("action", "event"):
        for kind in _kinds(parts[part]):
            assert f"{part}.{kind}" in english, f"there is no phrase {part}.{kind}"
    for aspect in described["en"].aspects:
        assert f"aspect.{aspect.id}" in english, f"there is no phrase aspect.{aspect.id}"
    for language, shown in described.items():
        if language != "en":
            _check_translated(game, language, english)
        for name in shown.phrases.keys() - wire.GENERAL.keys():
            phrase = shown.phrases[name]
            try:
                _check_phrase(game, parts, shown, name, phrase)
            except AssertionError as error:
                raise AssertionError(f"{language}: {error}") from None


def _check_translated(game: Game, language: str, english: Mapping[str, str]) -> None:
    translation = translations(game.id)[language]
    for name, phrase in english.items():
        # "a1" and "{card}" are the same in all languages.
        letters = re.sub(r"{[^{}]*}", "", phrase)
        known = name in translation.phrases or translation.text(phrase) != phrase
        known = known or phrase in translation.texts
        assert known or not re.search(r"[^\W\d]{2}", letters), f"{language}: no phrase {name}"


def _check_phrase(
    game: Game, parts: Mapping[str, Any], shown: catalog_pb2.Game, name: str, phrase: str
) -> None:
    part, _, path = name.partition(".")
    if part == "place":
        assert path in game.hidden_places, f"the game has no hidden place {path}"
    elif part == "aspect":
        assert path in {aspect.id for aspect in shown.aspects}, f"the game has no aspect {path}"
    elif part in ("action", "event"):
        kind, *conditions = path.split(".")
        _check_known(kind, _kinds(parts[part]), name)
        inner = _inner(parts[part], kind)
        known = {field.name: field for field in (*parts[part].fields, *inner.fields)}
        for condition in conditions:
            field, _, wanted = condition.partition("=")
            _check_known(field, known, name)
            values = _values(known[field], shown)
            assert not wanted or not values or wanted in values, f"{name}: no {field} is {wanted}"
        _check_braces(name, phrase, known)
    elif part == "value":
        field, _, value = path.partition(".")
        fields = [each for described in parts.values() for each in _fields(described)]
        _check_known(field, {each.name for each in fields}, name)
        values = {value for each in fields if each.name == field for value in _values(each, shown)}
        if values:
            _check_known(value, values, name)
    elif part in parts:
        described: Any = parts[part]
        inner = described
        for each in path.split("."):
            _check_known(each, inner.fields_by_name if inner else (), name)
            described, inner = inner, _inner(inner, each)
        _check_braces(name, phrase, {f.name for f in (inner.fields if inner else described.fields)})
    else:
        assert part in ("table", "word", "over", "ending"), f"{name} is no name of a phrase"


def _fields(described: Any) -> Iterator[Any]:
    for field in described.fields:
        yield field
        if field.message_type:
            yield from _fields(field.message_type)


def _check_known(field: str, known: Iterable[str], name: str) -> None:
    names = list(known)
    near = get_close_matches(field, names, n=1, cutoff=0)
    meant = f"; the nearest is {near[0]}" if near else ""
    assert field in names, f"{name}: the schema has no {field} there{meant}"


def _check_braces(name: str, phrase: str, known: Container[str]) -> None:
    for said in BRACES.findall(phrase):
        field = said.partition(".")[0]
        assert "|" in said or field in known, f"{name}: there is no field {field} for {phrase!r}"


def _values(field: Any, shown: catalog_pb2.Game) -> Collection[str]:
    # What the values of a field are called in conditions; empty for numbers.
    named = set(words(field.enum_type).values()) if field.enum_type else set()
    if Words(shown).holds_cards(field):
        named |= {key.lower() for card in shown.cards for key in (card.id, card.kind)}
    return named


def _kinds(described: Any) -> list[str]:
    return [field.name for field in described.fields if field.message_type]


def _inner(described: Any, field: str) -> Any:
    found = described.fields_by_name.get(field)
    return found.message_type if found else None
