"""Rulesets in words: options and numbers of cards that are changed.

hand_size=6                    an option
cards.KING.defend=8            a number of a card, by its id or its title
cards.GIANT.attack*=1.3        rounded, away from what it was
cards.SPY.copies+=1            a card without copies is left out
cards.*.cost=0                 of all cards
rules_version=2                earlier rules that the game keeps
deck.json                      a file: options, or a Ruleset of the API
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from google.protobuf import json_format

import wire
from croupier.v1.game_pb2 import Ruleset
from engine.errors import RulesetError
from engine.game import Game
from lab import arena
from wire.errors import Refusal

_CHANGE = re.compile(r"\s*([^=*+]+|[^=]*\.\*\.[^=*+]+?)\s*(\*=|\+=|=)\s*(.+?)\s*")
NUMBERS = (int, float)
Options = dict[str, Any]


def changed(game_id: str, texts: Sequence[str], ruleset: str = "{}") -> str:
    """A ruleset with some changes, as JSON of the options that differ from the default.

    Raises RulesetError.
    """
    game, default = arena.game_of(game_id, ruleset), arena.game_of(game_id).ruleset
    version = json.loads(ruleset).get("rules_version")
    options = json.loads(json.dumps({"rules_version": version} | game.ruleset))
    for text in texts:
        if text.endswith(".json"):
            options |= _read_file(game_id, Path(text))
        elif found := _CHANGE.fullmatch(text):
            try:
                _change(game, options, *found.groups())
            except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
                raise RulesetError(text, f"cannot be done: {error}") from None
        else:
            raise RulesetError(text, "is not PATH=VALUE, PATH*=FACTOR, PATH+=NUMBER or a file")
    for name, value in options.items():
        if isinstance(value, list):
            kept = [each for each in value if not isinstance(each, dict) or each.get("copies", 1)]
            options[name] = kept
    differ = {name: value for name, value in options.items() if value != default.get(name)}
    text = json.dumps(differ, sort_keys=True)
    arena.game_of(game_id, text)
    return text


def numbers(game: Game, named: Game | None = None) -> dict[str, int]:
    """All whole numbers of a ruleset that can be changed, by their paths.

    They are those of the options, and of cards: copies, and what the cards show. Cards are called
    as in `named`, since a title may tell a number.
    """
    titles = _titles(named or game)
    shown = {"copies"} | {str(name).lower() for card in game.cards() for name in card["numbers"]}
    found = {name: value for name, value in game.ruleset.items() if type(value) is int}
    for name, card, entry in _cards(game, game.ruleset):
        path = f"{name}.{titles.get(card, card)}"
        found |= {f"{path}.{field}": entry[field] for field in sorted(shown & entry.keys())}
    return found


def differences(before: Game, after: Game) -> Iterator[str]:
    """What differs between two rulesets, in words."""
    if before.rules_version != after.rules_version:
        yield f"version {after.rules_version} of the rules"
    # Where a card is left out, ids may move to another card.
    same = len(before.cards()) == len(after.cards())
    old, new = numbers(before), numbers(after, before if same else after)
    for path in old | new:
        # Of a card that is left out, only that it is.
        here = path in new and new.get(f"{path.rpartition('.')[0]}.copies", 1)
        if old.get(path) != new.get(path) and (here or path.endswith(".copies")):
            yield f"{path} {old.get(path, 0)} → {new.get(path, 0)}"
    for name, value in after.ruleset.items():
        if value != before.ruleset[name] and isinstance(value, bool | str):
            yield f"{name} = {value}"


def _titles(game: Game) -> dict[str, str]:
    return {str(card["id"]): str(card["title"]) for card in game.cards()}


def _cards(game: Game, options: Options) -> Iterator[tuple[str, str, Options]]:
    # The entries of the lists of cards: the name of the list, the id of the card, the entry.
    kind = type(game)()
    listed: list[Any] = next((v for v in kind.ruleset.values() if isinstance(v, list)), [])
    ids, own = list(_titles(kind)), list(_titles(game))
    by_number = {}
    if len(listed) == len(ids):
        by_number = {each.get("card"): name for each, name in zip(listed, ids, strict=True)}
    for name, value in options.items():
        for place, entry in enumerate(value if isinstance(value, list) else ()):
            number = entry.get("card")
            yield name, own[place] if number is None else by_number.get(number, own[place]), entry


def _change(game: Game, options: Options, path: str, how: str, text: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    titles, wanted = _titles(game), _plain(path)
    slots = [(options, name) for name in options if _plain(name) == wanted]
    known = dict.fromkeys(options)
    for name, card, entry in _cards(game, options):
        known |= dict.fromkeys(f"{name}.CARD.{field}" for field in entry)
        called = [f"{name}.{each}" for each in (card, titles.get(card, card))]
        for field in entry:
            if any(fnmatchcase(_plain(f"{each}.{field}"), wanted) for each in called):
                slots.append((entry, field))
    if not slots:
        cards = ", ".join(titles.values())
        raise RulesetError(path, f"is not there: there are {', '.join(known)}; cards are {cards}")
    for of, field in slots:
        of[field] = _new(path, of[field], how, value)


def _plain(path: str) -> str:
    return path.lower().replace("_", " ")


def _new(path: str, old: Any, how: str, value: Any) -> Any:
    if how == "=":
        return value
    if not isinstance(old, NUMBERS) or not isinstance(value, NUMBERS):
        raise RulesetError(path, f"{how} needs numbers")
    if how == "+=":
        return old + value
    return math.ceil(old * value) if value > 1 else math.floor(old * value)


def _read_file(game_id: str, path: Path) -> Options:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        if read.keys() <= arena.game_of(game_id).ruleset.keys():
            return dict(read)
        message = json_format.ParseDict(read, Ruleset())
        return wire.read_ruleset(message, "ruleset").ruleset
    except (OSError, ValueError, AttributeError, json_format.ParseError, Refusal) as error:
        raise RulesetError(str(path), f"cannot be read: {error}") from None
