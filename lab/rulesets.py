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
from difflib import get_close_matches
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
Options = dict[str, Any]


def changed(game_id: str, texts: Sequence[str], ruleset: str = "{}") -> str:
    """A ruleset with some changes, as JSON of the options that differ from the default.

    Raises RulesetError.
    """
    game, default = arena.game_of(game_id, ruleset), arena.game_of(game_id).ruleset
    options: Options = {"rules_version": json.loads(ruleset).get("rules_version")}
    options |= json.loads(json.dumps(game.ruleset))
    for text in texts:
        try:
            if text.endswith(".json"):
                options |= _read_file(game_id, Path(text))
                game = arena.game_of(game_id, json.dumps(options))
            elif found := _CHANGE.fullmatch(text):
                _change(game, options, *found.groups())
            else:
                known = "PATH=VALUE, PATH*=FACTOR, PATH+=NUMBER or a file, FILE.json"
                raise RulesetError(text.strip() or "an empty change", f"is not {known}")
        except (AttributeError, LookupError, TypeError) as error:
            raise RulesetError(text, f"cannot be done: {error}") from None
    for name, value in options.items():
        if isinstance(value, list):
            kept = [each for each in value if not isinstance(each, dict) or each.get("copies", 1)]
            options[name] = kept
    differ = {name: value for name, value in options.items() if value != default.get(name)}
    text = json.dumps(differ, sort_keys=True)
    try:
        made = arena.game_of(game_id, text).ruleset
    except RulesetError as error:
        near = get_close_matches(error.field, default)
        if error.field in default or not near:
            raise
        raise RulesetError(error.field, f"is not there; is it {' or '.join(near)}?") from None
    for name in differ.keys() & made.keys():
        if not _has(made[name], differ[name]):
            raise RulesetError(name, f"{differ[name]} stands for the default: name another value")
    return text


def numbers(game: Game, named: Game | None = None) -> dict[str, int]:
    """All whole numbers of a ruleset that can be changed, by their paths.

    They are those of the options, and of cards: copies, and what the cards show. Cards are called
    as in `named`, since a title may tell a number.
    """
    shown = {"copies"} | {str(name).lower() for card in game.cards() for name in card["numbers"]}
    options = game.ruleset
    return {
        path: of[name]
        for path, _, of, name in _places(game, options, named)
        if type(of[name]) is int and (of is options or name in shown)
    }


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


def titles(game: Game) -> dict[str, str]:
    """What cards are called, by their ids."""
    return {str(card["id"]): str(card["title"]) for card in game.cards()}


def _places(
    game: Game, options: Options, named: Game | None = None
) -> Iterator[tuple[str, str, Options, str]]:
    # Each value: its path by the title of its card, the same by its id, what holds it by what name.
    kind, called, own = type(game)(), titles(named or game), list(titles(game))
    # A card is told by its number, if the list of all has one for each, or by its place.
    listed = next((each for each in map(_entries, kind.ruleset.values()) if each), [])
    ids = titles(kind) if len(listed) == len(kind.cards()) else ()
    by_number = {each.get("card"): card for each, card in zip(listed, ids, strict=False)}
    for name, value in options.items():
        yield name, name, options, name
        for place, entry in enumerate(_entries(value)):
            number = entry.get("card")
            card = own[place] if number is None else by_number.get(number, own[place])
            for field in entry:
                by_id = f"{name}.{card}.{field}"
                yield f"{name}.{called.get(card, card)}.{field}", by_id, entry, field


def _entries(value: Any) -> list[Options]:
    # What a list says of cards; a package may have lists of something else.
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _change(game: Game, options: Options, path: str, how: str, text: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    found, wanted = [], path.lower().replace("_", " ")
    for *paths, of, name in _places(game, options):
        if any(fnmatchcase(each.lower().replace("_", " "), wanted) for each in paths):
            found.append((of, name))
    if not found and how == "=" and "." not in path:
        found = [(options, path)]  # Of which the game itself says whether it is an option.
    if not found:
        there = dict.fromkeys(each for each, *_ in _places(game, options))
        near = get_close_matches(path, there) or get_close_matches(path, there, 3, 0)
        raise RulesetError(path, f"is not there; is it {' or '.join(near)}?")
    for of, name in found:
        before = of.get(name)
        try:
            if how == "=":
                made = value
            elif how == "+=":
                made = before + value
            else:
                made = (math.ceil if value > 1 else math.floor)(before * value)
            fits = type(before) is not int or type(made) is int
        except (ArithmeticError, TypeError, ValueError):  # Of infinite numbers, and what is none.
            fits = False
        if not fits:
            raise RulesetError(f"{path}{how}{text}", "must give a whole number")
        of[name] = made


def _has(made: Any, asked: Any) -> bool:
    # Whether a game has taken a value as it was asked for, and not its default in place of nothing.
    if not (asked and _entries(asked)):
        return bool(made == asked)
    return all(each in made or any(other | each == other for other in made) for each in asked)


def _read_file(game_id: str, path: Path) -> Options:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(read, dict):
            raise json_format.ParseError
        if read.keys() <= arena.game_of(game_id).ruleset.keys():
            return dict(read)
        game = wire.read_ruleset(json_format.ParseDict(read, Ruleset()), "ruleset")
        if game.id != game_id:
            raise ValueError(f"it is of {game.title}")
        return game.ruleset
    except json_format.ParseError:
        known = ", ".join(arena.game_of(game_id).ruleset)
        raise RulesetError(str(path), f"has neither options ({known}) nor a Ruleset") from None
    except (OSError, ValueError, Refusal) as error:
        raise RulesetError(str(path), f"cannot be read: {error}") from None
