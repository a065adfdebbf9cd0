"""Translates between the engine and the messages of the API.

Games are found, not registered: the wire module of a game is `service/wire/<game id>.py`, and in
every `oneof` of the schema over the games, a game's field is named by its id. Nothing outside a
wire module names a game. A wire module has a class `Translation` with what is particular to the
game; all else is in `service/wire/translation.py`. `service/wire/<game id>_view.pyx` writes the
views of the game.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Protocol, cast

from google.protobuf.message import Message

from croupier.v1.error_pb2 import ErrorReason
from croupier.v1.game_pb2 import MatchAction, MatchEvent, Ruleset, View
from engine import events, games
from engine.errors import ActionError, GameError, RulesetError, ViewError
from engine.game import Game, SeatView
from service.common.errors import Refusal, invalid_field
from service.wire.encoding import field as field
from service.wire.encoding import number_field as number_field
from service.wire.translation import Translation

_RULESETS_KEPT = 256
_ACTIONS_KEPT = 16384
_EVENTS_KEPT = 16384
_EVENT_VERSION = MatchEvent.VERSION_FIELD_NUMBER


class ViewModule(Protocol):
    """The module that writes the views of a game."""

    def write_view(self, game: Game, view: SeatView) -> bytes:
        """Returns what the viewer knows, as a serialized view message of the game."""


@cache
def hosted_games() -> dict[str, type[Game]]:
    """Returns the games that this server can host, by id, in order of the ids."""
    translated = {module.name for module in pkgutil.iter_modules(__path__)}
    return {
        name: game for name, game in games().items() if name in translated and not game.reference
    }


@cache
def _translation(game_id: str) -> Translation:
    kind: type[Translation] = importlib.import_module(f"{__name__}.{game_id}").Translation
    return kind(hosted_games()[game_id])


@cache
def _view_module(game_id: str) -> ViewModule:
    return cast(ViewModule, importlib.import_module(f"{__name__}.{game_id}_view"))


def game_of(message: Ruleset | MatchAction | View) -> str:
    """Returns the id of the game of a message, in which one is set."""
    return str(message.WhichOneof("game"))


def _kind(message: Message) -> str:
    # An action of a game has one field: its kind.
    fields = message.ListFields()
    return str(fields[0][0].name) if fields else ""


# Rulesets


def read_ruleset(ruleset: Ruleset, path: str) -> Game:
    """Returns the game under a ruleset from the field `path` of a request; raises Refusal."""
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
    return hosted_games()[game_id](_translation(game_id).read(message))


def write_ruleset(game: Game) -> Ruleset:
    """Returns the ruleset of a game, with every option and the whole card list."""
    ruleset = Ruleset()
    _translation(game.id).write(getattr(ruleset, game.id), game.ruleset)
    return ruleset


# Actions


def write_action(game: Game, action: int) -> MatchAction:
    """Returns an action as a message."""
    # Parsing takes less time than filling in a message.
    return MatchAction.FromString(serialize_action(game, action))


def read_action(game: Game, action: MatchAction) -> int:
    """Returns the action of a message; raises ActionError if there is no such action."""
    return game.make_action(_translation(game.id).read_action(getattr(action, game.id)))


@lru_cache(maxsize=_ACTIONS_KEPT)
def serialize_action(game: Game, action: int) -> bytes:
    """Returns an action as the log has it."""
    message = MatchAction()
    _translation(game.id).write_action(getattr(message, game.id), game.read_action(action))
    return message.SerializeToString(deterministic=True)


@lru_cache(maxsize=_ACTIONS_KEPT)
def parse_action(game: Game, data: bytes) -> int:
    """Returns the action of a serialized message; raises ActionError if there is none such."""
    return read_action(game, MatchAction.FromString(data))


def canonical_action(game: Game, action: MatchAction) -> bytes:
    """Returns an action as the log has it, or unchanged if there is no such action."""
    data = action.SerializeToString(deterministic=True)
    try:
        return serialize_action(game, parse_action(game, data))
    except ActionError:
        return data


def check_game(game: Game, message: MatchAction, path: str) -> None:
    """Raises Refusal if an action from the field `path` of a request is of another game."""
    if game_of(message) != game.id:
        raise invalid_field(
            f"{path}.{game_of(message)}", "OTHER_GAME", f"must be an action of {game.id}"
        )


def illegal_action(error: ActionError, action: MatchAction, path: str) -> Refusal:
    """Returns the refusal of an action from the field `path` of a request."""
    message = getattr(action, game_of(action))
    field = "" if error.field in ("seat", "action", "kind") else error.field
    return _refusal(
        ErrorReason.ERROR_REASON_ILLEGAL_ACTION,
        f"{path}.{game_of(action)}.{_kind(message)}",
        field,
        error,
        {"rule": error.reason},
    )


# Events and views


def write_event(game: Game, event: events.Event, version: int) -> MatchEvent:
    """Returns an event as a message."""
    return MatchEvent.FromString(serialize_event(game, event, version))


def serialize_event(game: Game, event: events.Event, version: int) -> bytes:
    """Returns an event as a serialized MatchEvent."""
    # What happens is seen by several readers, and happens again in other matches.
    what = _serialize_event(game, event)
    return number_field(_EVENT_VERSION, version) + what if version else what


@lru_cache(maxsize=_EVENTS_KEPT)
def _serialize_event(game: Game, event: events.Event) -> bytes:
    message = MatchEvent()
    _translation(game.id).write_event(getattr(message, game.id), event)
    return message.SerializeToString()


def write_recorded_events(
    game: Game, happened: Iterable[events.Event], version: int
) -> list[MatchEvent]:
    """Returns what a record tells of one version of a match, as messages."""
    written = [write_event(game, event, version) for event in happened if event.recorded]
    messages = [getattr(message, game.id) for message in written]
    told = _translation(game.id).recorded(game.rules_version, messages)
    return [MatchEvent(version=version, **{game.id: message}) for message in told]


def write_view(game: Game, view: SeatView) -> bytes:
    """Returns a serialized View with only the game's part."""
    return field(_view_field(game.id), _view_module(game.id).write_view(game, view))


@cache
def _view_field(game_id: str) -> int:
    return View.DESCRIPTOR.fields_by_name[game_id].number


def write_legal_actions(game: Game, actions: Iterable[int]) -> bytes:
    """Returns a serialized View with only these legal actions."""
    return b"".join(map(_legal_actions(game).__getitem__, actions))


class _LegalActions(dict[int, bytes]):
    """Serialized Views with only one legal action of a game each, by the action."""

    def __init__(self, game: Game) -> None:
        self._game = game

    def __missing__(self, action: int) -> bytes:
        if len(self) >= _ACTIONS_KEPT:
            self.clear()
        view = View(legal_actions=[write_action(self._game, action)])
        written = self[action] = view.SerializeToString()
        return written


_legal_actions = lru_cache(maxsize=_RULESETS_KEPT)(_LegalActions)


def read_view(message: View, path: str) -> SeatView:
    """Returns a seat's view from the field `path` of a request; raises Refusal."""
    if not message.HasField("seat"):
        raise invalid_field(
            f"{path}.seat", "REQUIRED", "must be set: a spectator has nothing to decide"
        )
    game = read_ruleset(message.ruleset, f"{path}.ruleset")
    if game_of(message) != game.id:
        raise invalid_field(
            f"{path}.{game_of(message)}", "OTHER_GAME", f"must be a view of {game.id}"
        )
    try:
        fields = _translation(game.id).read_view(game, getattr(message, game.id), message.seat)
        return SeatView.from_fields(game, fields)
    except ViewError as error:
        raise inconsistent_view(error, game.id, path) from None


def inconsistent_view(error: ViewError, game_id: str, path: str) -> Refusal:
    """Returns the refusal of a view from the field `path` of a request."""
    field = error.field
    for start, instead in _translation(game_id).view_paths.items():
        if field.startswith(start):
            field = instead + field.removeprefix(start)
            break
    return _refusal(ErrorReason.ERROR_REASON_INCONSISTENT_VIEW, f"{path}.{game_id}", field, error)


# Refusals


def game_not_found(game_id: str) -> Refusal:
    """Returns the refusal of a request that names an unknown game."""
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
        reason,
        f"{whole}: {error.rule}",
        fields=[(whole, error.reason, error.rule)],
        metadata=metadata,
    )
