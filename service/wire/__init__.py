"""Between the engine's fields and the messages of the API.

Games are found, not registered: the wire module of a game is `service/wire/<game id>.py`, and in
every `oneof` of the schema over the games, a game's field is named by its id. Nothing outside a
wire module names a game. A wire module has the functions of `WireModule`; all of them translate and
none of them judges: field rules are the schema's, the others the engine's. Beside it there is the
module that writes the views of the game, `service/wire/<game id>_view.pyx`.

The engine names what is wrong by its own field names. Where those of a view differ from the
schema's, `VIEW_PATHS` of the wire module says how a path begins there: {"side[": "sides["}.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, Protocol, cast

from google.protobuf.message import Message

from croupier.v1.error_pb2 import ErrorReason
from croupier.v1.game_pb2 import Action, Event, Ruleset, View
from engine import events, games
from engine.errors import ActionError, GameError, RulesetError, ViewError
from engine.game import Game, SeatView
from service.errors import Refusal, invalid_field

Fields = dict[str, Any]

_RULESETS_KEPT = 256
_ACTIONS_KEPT = 16384
_VARINTS_KEPT = 16384
_LENGTH_DELIMITED = 2  # As the format of protobuf calls messages, strings and bytes.


class WireModule(Protocol):
    """What the module of a game offers."""

    def ruleset_to_fields(self, message: Any) -> Fields:
        """The options that the message sets, as `Game` takes them."""

    def ruleset_to_proto(self, fields: Fields) -> Any:
        """A whole ruleset, every option spelled out."""

    def view_to_fields(self, game: Game, message: Any, seat: int) -> Fields:
        """The fields of a view by `seat`; outputs are not read. Raises ViewError if it must."""

    def action_to_proto(self, game: Game, fields: Fields) -> Any:
        """An action, from its fields."""

    def action_to_fields(self, message: Any) -> Fields:
        """The fields of an action."""

    def event_to_proto(self, event: events.Event) -> Any:
        """An event. One that is said twice, openly and hidden, becomes the same message."""


class ViewModule(Protocol):
    """What the module offers that writes a game's views."""

    def write_view(self, game: Game, view: SeatView) -> bytes:
        """What is known of the game, as the message that a view has of it, serialized."""


@cache
def hosted_games() -> dict[str, type[Game]]:
    """The games that this server can host, by id, in order."""
    translated = {module.name for module in pkgutil.iter_modules(__path__)}
    return {
        name: game for name, game in games().items() if name in translated and not game.reference
    }


@cache
def _module(game_id: str) -> WireModule:
    return cast(WireModule, importlib.import_module(f"{__name__}.{game_id}"))


@cache
def _view_module(game_id: str) -> ViewModule:
    return cast(ViewModule, importlib.import_module(f"{__name__}.{game_id}_view"))


def game_of(message: Ruleset | Action | View) -> str:
    """The id of the game that a message is about; it is set."""
    return str(message.WhichOneof("game"))


def _kind(message: Message) -> str:
    # The name of the one field that is set: the kind of a game's action.
    fields = message.ListFields()
    return str(fields[0][0].name) if fields else ""


# Serialized messages, one after the other, are one: a message that has the fields of all, and its
# lists have what all of them have, in order. So what is the same in many messages is kept
# serialized, and a message is put together as bytes. To make a small one takes Python ten times as
# long as to copy its bytes.


def field(number: int, content: bytes) -> bytes:
    """A serialized message of nothing but one field: a string, a list of numbers or a message."""
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(len(content)) + content


def number_field(number: int, content: int) -> bytes:
    """A serialized message of nothing but one field: a number that is not negative."""
    return _varint(number << 3) + _varint(content)


@lru_cache(maxsize=_VARINTS_KEPT)
def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    data.append(number)
    return bytes(data)


# Rulesets


def read_ruleset(ruleset: Ruleset, path: str) -> Game:
    """The game under a ruleset that came in the field `path`; raises Refusal."""
    game_id = game_of(ruleset)
    if game_id not in hosted_games():
        raise game_not_found(game_id)
    try:
        return _game(game_id, getattr(ruleset, game_id).SerializeToString(deterministic=True))
    except RulesetError as error:
        raise _refusal(
            ErrorReason.ERROR_REASON_INVALID_RULESET, f"{path}.{game_id}", error.field, error
        ) from None


@lru_cache(maxsize=_RULESETS_KEPT)
def _game(game_id: str, options: bytes) -> Game:
    # A Game never changes, so one serves all matches under its ruleset.
    ruleset = Ruleset()
    message = getattr(ruleset, game_id)
    message.ParseFromString(options)
    return hosted_games()[game_id](_module(game_id).ruleset_to_fields(message))


def write_ruleset(game: Game) -> Ruleset:
    """The ruleset of a game, every option and its card list spelled out."""
    message = _module(game.id).ruleset_to_proto(game.ruleset)
    return Ruleset(**{game.id: message})


# Actions


def write_action(game: Game, action: int) -> Action:
    """An action as a message."""
    # To read it takes less than to put it together.
    return Action.FromString(serialize_action(game, action))


def read_action(game: Game, action: Action) -> int:
    """An action out of a message; raises ActionError if there is no such action."""
    return game.make_action(_module(game.id).action_to_fields(getattr(action, game.id)))


@lru_cache(maxsize=_ACTIONS_KEPT)
def serialize_action(game: Game, action: int) -> bytes:
    """An action as the log has it."""
    message = _module(game.id).action_to_proto(game, game.read_action(action))
    return Action(**{game.id: message}).SerializeToString(deterministic=True)


@lru_cache(maxsize=_ACTIONS_KEPT)
def parse_action(game: Game, data: bytes) -> int:
    """An action out of a serialized message; raises ActionError if there is no such action."""
    return read_action(game, Action.FromString(data))


def canonical_action(game: Game, action: Action) -> bytes:
    """An action as the log has it, or as it came if there is no such action."""
    data = action.SerializeToString(deterministic=True)
    try:
        return serialize_action(game, parse_action(game, data))
    except ActionError:
        return data


def check_game(game: Game, message: Action, path: str) -> None:
    """Raises Refusal if an action that came in the field `path` is one of another game."""
    if game_of(message) != game.id:
        raise invalid_field(f"{path}.{game_of(message)}", f"must be an action of {game.id}")


def illegal_action(error: ActionError, action: Action, path: str) -> Refusal:
    """The refusal of an action that came in the field `path`."""
    message = getattr(action, game_of(action))
    field = "" if error.field in ("seat", "action", "kind") else error.field
    return _refusal(
        ErrorReason.ERROR_REASON_ILLEGAL_ACTION,
        f"{path}.{game_of(action)}.{_kind(message)}",
        field,
        error,
        {"rule": error.rule},
    )


# Events and views


def write_event(game: Game, event: events.Event, version: int) -> Event:
    """An event as a message."""
    message = _module(game.id).event_to_proto(event)
    return Event(version=version, **{game.id: message})


def write_view(game: Game, view: SeatView) -> bytes:
    """What a view tells of the game, as a serialized View of nothing else."""
    return field(_view_field(game.id), _view_module(game.id).write_view(game, view))


@cache
def _view_field(game_id: str) -> int:
    return View.DESCRIPTOR.fields_by_name[game_id].number


def write_legal_actions(game: Game, actions: Iterable[int]) -> bytes:
    """The actions that are legal, as a serialized View of nothing else."""
    return b"".join([_legal_action(game, action) for action in actions])


@lru_cache(maxsize=_ACTIONS_KEPT)
def _legal_action(game: Game, action: int) -> bytes:
    return View(legal_actions=[write_action(game, action)]).SerializeToString()


def read_view(message: View, path: str) -> SeatView:
    """A seat's view out of a message that came in the field `path`; raises Refusal."""
    if not message.HasField("seat"):
        raise invalid_field(f"{path}.seat", "must be set: a spectator has nothing to decide")
    game = read_ruleset(message.ruleset, f"{path}.ruleset")
    if game_of(message) != game.id:
        raise invalid_field(f"{path}.{game_of(message)}", f"must be a view of {game.id}")
    try:
        fields = _module(game.id).view_to_fields(game, getattr(message, game.id), message.seat)
        return SeatView.from_fields(game, fields)
    except ViewError as error:
        raise inconsistent_view(error, game.id, path) from None


def inconsistent_view(error: ViewError, game_id: str, path: str) -> Refusal:
    """The refusal of a view that came in the field `path`."""
    field = error.field
    for start, instead in view_paths(game_id).items():
        if field.startswith(start):
            field = instead + field.removeprefix(start)
            break
    return _refusal(ErrorReason.ERROR_REASON_INCONSISTENT_VIEW, f"{path}.{game_id}", field, error)


def view_paths(game_id: str) -> Mapping[str, str]:
    """How the engine's paths in a view begin, and how the schema's do, where they differ."""
    paths: Mapping[str, str] = getattr(_module(game_id), "VIEW_PATHS", {})
    return paths


# Refusals


def game_not_found(game_id: str) -> Refusal:
    """There is no such game."""
    return Refusal(
        ErrorReason.ERROR_REASON_GAME_NOT_FOUND,
        f"there is no game {game_id!r}; there are {', '.join(hosted_games())}",
        metadata={"game": f"games/{game_id}"},
    )


def _refusal(
    reason: ErrorReason,
    path: str,
    field: str,
    error: GameError,
    metadata: Mapping[str, str] | None = None,
) -> Refusal:
    whole = f"{path}.{field}" if field else path
    return Refusal(
        reason, f"{whole}: {error.rule}", fields=[(whole, error.rule)], metadata=metadata
    )
