"""Reads options of a game, each "NAME=VALUE", into a ruleset, by the schema of the game."""

from collections.abc import Iterable
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from croupier import enums
from croupier.messages import GameMessages
from croupier.v1 import game_pb2

_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_FLOATS = (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)


class OptionError(ValueError):
    """An option that cannot be read; the message says why."""


def ruleset(game: GameMessages, options: Iterable[str]) -> game_pb2.Ruleset:
    """Returns the ruleset of a game with these options; raises OptionError."""
    try:
        message = game.new_ruleset()
    except ValueError as error:
        raise OptionError(str(error)) from None
    fields = {
        field.name: field
        for field in message.DESCRIPTOR.fields
        if not field.is_repeated and field.message_type is None
    }
    for option in options:
        name, equals, text = option.partition("=")
        field = fields.get(name.strip().replace("-", "_"))
        if not equals or field is None:
            known = ", ".join(f"{f.name}={_kind(f)}" for f in fields.values()) or "none"
            what = f"there is no option {name!r}" if equals else f"{option!r} is not NAME=VALUE"
            raise OptionError(f"{what}; {game.name} has: {known}")
        try:
            setattr(message, field.name, _value(field, text.strip()))
        except (ValueError, KeyError, StopIteration):
            raise OptionError(f"{field.name} must be {_kind(field)}, not {text!r}") from None
    return game.ruleset(message)


def _value(field: Any, text: str) -> Any:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return _WORDS[text.lower()]
        case FieldDescriptor.CPPTYPE_STRING:
            return text
        case FieldDescriptor.CPPTYPE_ENUM:
            assert field.enum_type is not None
            named = enums.words(field.enum_type).items()
            return next(number for number, name in named if name == text.lower())
        case kind:
            return float(text) if kind in _FLOATS else int(text)


def _kind(field: Any) -> str:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return "true|false"
        case FieldDescriptor.CPPTYPE_STRING:
            return "TEXT"
        case FieldDescriptor.CPPTYPE_ENUM:
            return "NAME"
        case _:
            return "NUMBER"
