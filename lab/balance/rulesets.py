"""Rulesets in words: options and numbers of cards that are changed.

hand_size=6                    an option
cards.KING.defend=8            a number of a card, by its id or its title
cards.GIANT.attack*=1.3        rounded, away from what it was
cards.SPY.copies+=1
cards.*.cost=0                 of all cards
rules_version=2                earlier rules that the game keeps
deck.json                      a file: options, or a Ruleset of the API
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import json_format

import wire
from croupier.v1.game_pb2 import Ruleset
from engine.errors import RulesetError
from engine.game import Game
from lab import arena
from wire.errors import Refusal

_CHANGE = re.compile(r"\s*([^=*+]+|[^=]*\.\*\.[^=*+]+?)\s*(\*=|\+=|=)\s*(.+?)\s*")
NUMBERS = (int, float)


class Number(NamedTuple):
    """A number of a ruleset that can be changed."""

    path: str
    value: int


def changed(game_id: str, texts: Sequence[str], ruleset: str = "{}") -> str:
    """A ruleset with some changes, as JSON of the options that differ from the default.

    Raises RulesetError.
    """
    options = arena.game_of(game_id, ruleset).ruleset | {
        name: value for name, value in json.loads(ruleset).items() if name == "rules_version"
    }
    options = json.loads(json.dumps(options))
    for text in texts:
        if text.endswith(".json"):
            options |= _read_file(game_id, Path(text))
            continue
        found = _CHANGE.fullmatch(text)
        if found is None:
            raise RulesetError(text, "is not PATH=VALUE, PATH*=FACTOR, PATH+=NUMBER or a file")
        try:
            _change(arena.game_of(game_id, ruleset), options, *found.groups())
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            raise RulesetError(text, f"cannot be done: {error}") from None
    default = arena.game_of(game_id).ruleset
    kept = {name: value for name, value in options.items() if value != default.get(name)}
    text = json.dumps(kept, sort_keys=True)
    arena.game_of(game_id, text)
    return text


def numbers(game: Game, named: Game | None = None) -> Iterator[Number]:
    """All whole numbers of a ruleset that can be changed: of cards, copies and what they show.

    Cards are called as in `named`, since a title may tell a number.
    """
    titles = {str(card["id"]): str(card["title"]) for card in (named or game).cards()}
    shown = {"copies"} | {str(name).lower() for card in game.cards() for name in card["numbers"]}
    for name, value in game.ruleset.items():
        if isinstance(value, int) and not isinstance(value, bool):
            yield Number(name, value)
        for n, entry in enumerate(value if isinstance(value, list) else ()):
            for field in sorted(shown & entry.keys()):
                card = card_id(game, entry, n)
                yield Number(f"{name}.{titles.get(card, card)}.{field}", entry[field])


def differences(before: Game, after: Game) -> Iterator[str]:
    """What differs between two rulesets, in words."""
    if before.rules_version != after.rules_version:
        yield f"version {after.rules_version} of the rules"
    # Where a card is left out, ids may move to another card.
    same = len(before.cards()) == len(after.cards())
    old, new = dict(numbers(before)), dict(numbers(after, before if same else after))
    for path in [*old, *(new.keys() - old.keys())]:
        if old.get(path) != new.get(path) and (path in new or path.endswith(".copies")):
            yield f"{path} {old.get(path, 0)} → {new.get(path, 0)}"
    for name, value in after.ruleset.items():
        if value != before.ruleset[name] and isinstance(value, bool | str):
            yield f"{name} = {value}"


def card_id(game: Game, entry: dict[str, Any], place: int) -> str:
    """The id of the card that an entry of a list of cards describes."""
    kind = type(game)()
    listed = next((v for v in kind.ruleset.values() if isinstance(v, list)), [])
    ids = [str(card["id"]) for card in kind.cards()]
    if "card" in entry and len(listed) == len(ids):
        by_number = {each["card"]: name for each, name in zip(listed, ids, strict=True)}
        return by_number[entry["card"]]
    return str(game.cards()[place]["id"])


def _change(game: Game, options: dict[str, Any], path: str, how: str, text: str) -> None:
    name, *rest = path.strip().split(".")
    if name not in options and name != "rules_version":
        raise RulesetError(name, f"is no option: there are {', '.join(options)}")
    value = _read(text)
    if not rest:
        options[name] = _new(path, options.get(name), how, value)
        return
    if len(rest) != 2 or not isinstance(options[name], list):
        raise RulesetError(path, "is not OPTION or OPTION.CARD.NUMBER")
    titles = {str(card["id"]): str(card["title"]) for card in game.cards()}
    found = False
    for n, entry in enumerate(options[name]):
        own = card_id(game, entry, n)
        words = {own.lower(), titles.get(own, "").lower(), "*"}
        if rest[0].lower().replace("_", " ") in {each.replace("_", " ") for each in words}:
            if rest[1] not in entry:
                raise RulesetError(path, f"is no number of a card: it has {', '.join(entry)}")
            entry[rest[1]] = _new(path, entry[rest[1]], how, value)
            found = True
    # A card without copies is no card of the list.
    options[name] = [entry for entry in options[name] if entry.get("copies", 1)]
    if not found:
        raise RulesetError(path, f"names no card: there are {', '.join(titles)}")


def _new(path: str, old: Any, how: str, value: Any) -> Any:
    if how == "=":
        return value
    if not isinstance(old, NUMBERS) or not isinstance(value, NUMBERS):
        raise RulesetError(path, f"{how} needs numbers")
    if how == "+=":
        return old + value
    return math.ceil(old * value) if value > 1 else math.floor(old * value)


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read_file(game_id: str, path: Path) -> dict[str, Any]:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        if read.keys() <= arena.game_of(game_id).ruleset.keys():
            return dict(read)
        message = json_format.ParseDict(read, Ruleset())
        return wire.read_ruleset(message, "ruleset").ruleset
    except (OSError, ValueError, AttributeError, json_format.ParseError, Refusal) as error:
        raise RulesetError(str(path), f"cannot be read: {error}") from None
