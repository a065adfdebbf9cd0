"""Translates between the engine and the messages of the API.

Games are found, not registered, and nothing here names one. `api/translation.py` of a game has a
class `Translation` with what is particular to the game; all else is in `wire/translation.py`. Its
`api/view_writer.pyx` writes the views of a game faster than its translation does.
"""

import importlib
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache, partial
from typing import Any, Protocol, cast

from google.protobuf.message import Message

from croupier.phrases import Words, ending_fields, fields_of
from croupier.v1 import catalog_pb2
from croupier.v1.error_pb2 import ErrorReason
from croupier.v1.game_pb2 import Ending, EndingValue, MatchAction, MatchEvent, Ruleset, View
from engine import events
from engine.errors import ActionError, GameError, RulesetError, ViewError
from engine.faults import guarded
from engine.game import SPECTATOR, Game, SeatView
from engine.parts import module_of
from wire.encoding import field as field
from wire.encoding import number_field as number_field
from wire.errors import Refusal, invalid_field
from wire.games import PACKAGED
from wire.games import discard_unknown as discard_unknown
from wire.games import game_of as game_of
from wire.games import hosted_games as hosted_games
from wire.games import is_over_games as is_over_games
from wire.games import messages as messages
from wire.games import no_such_game as no_such_game
from wire.games import of_each as of_each
from wire.games import packaged_type as packaged_type
from wire.games import packaged_types as packaged_types
from wire.games import rule_of as rule_of
from wire.games import translation as _translation

_RULESETS_KEPT = 256
_ACTIONS_KEPT = 16384
_EVENTS_KEPT = 16384
_LISTED = 8  # Legal actions that a refusal names.
_EVENT_VERSION = MatchEvent.VERSION_FIELD_NUMBER


class WriteView(Protocol):
    """What writes the views of a game."""

    def __call__(self, game: Game, view: SeatView) -> bytes:
        """Returns what the viewer knows, as the game's field of a View holds it, serialized."""


@cache
def _view_writer(game_id: str) -> WriteView:
    name = module_of(hosted_games()[game_id], "api.view_writer")
    own = messages(game_id)
    if name is not None:
        write = cast(WriteView, importlib.import_module(name).write_view)
        if own.field == PACKAGED:
            write = cast(WriteView, guarded(write, "write_view"))
    else:
        write = partial(_translation(game_id).serialize_view, own.types[View])
    return write if own.field != PACKAGED else lambda game, view: own.wrap(write(game, view))


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
        options = messages(game_id).read(ruleset, RulesetError)
        return _game(game_id, options.SerializeToString(deterministic=True))
    except RulesetError as error:
        whole = f"{path}.{messages(game_id).field}"
        raise _refusal(
            ErrorReason.ERROR_REASON_INVALID_RULESET, whole, error.field, error
        ) from None


@lru_cache(maxsize=_RULESETS_KEPT)
def _game(game_id: str, options: bytes) -> Game:
    # A Game never changes, so one serves all matches under its ruleset.
    message = messages(game_id).types[Ruleset].FromString(options)
    return hosted_games()[game_id](_translation(game_id).read(message))


def write_ruleset(game: Game) -> Ruleset:
    """Returns the ruleset of a game, with every option and the whole card list."""
    ruleset = Ruleset()
    messages(game.id).write(
        ruleset, lambda message: _translation(game.id).write(message, game.ruleset)
    )
    return ruleset


# Actions


def write_action(game: Game, action: int) -> MatchAction:
    """Returns an action as a message."""
    # Parsing takes less time than filling in a message.
    return MatchAction.FromString(serialize_action(game, action))


def read_action(game: Game, action: MatchAction) -> int:
    """Returns the action of a message; raises ActionError if there is no such action."""
    message = messages(game.id).read(action, ActionError)
    return game.make_action(_translation(game.id).read_action(message))


@lru_cache(maxsize=_ACTIONS_KEPT)
def serialize_action(game: Game, action: int) -> bytes:
    """Returns an action as the log has it."""
    message = MatchAction()
    fields = game.read_action(action)
    messages(game.id).write(
        message, lambda inner: _translation(game.id).write_action(inner, fields)
    )
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
            f"{path}.{message.WhichOneof('game')}", "OTHER_GAME", f"must be an action of {game.id}"
        )


def illegal_action(error: ActionError, game: Game, action: MatchAction, path: str) -> Refusal:
    """Returns the refusal of an action from the field `path` of a request."""
    if error.legal:
        legal = ", ".join(_in_words(game, each) for each in error.legal[:_LISTED])
        refused = _in_words(game, read_action(game, action))
        rule = f"not legal now: {refused}. Legal are: {legal}"
        error = ActionError(error.field, rule, error.reason)
    field = "" if error.field in ("seat", "action", "kind") else error.field
    game_field = str(action.WhichOneof("game"))
    kind = _kind(getattr(action, game_field)) if game_field != PACKAGED else ""
    return _refusal(
        ErrorReason.ERROR_REASON_ILLEGAL_ACTION,
        f"{path}.{game_field}.{kind}".removesuffix("."),
        field,
        error,
        {"rule": error.reason},
    )


def _in_words(game: Game, action: int) -> str:
    return _english(game).sentence("action", messages(game.id).read(write_action(game, action)))


@lru_cache(maxsize=_RULESETS_KEPT)
def _english(game: Game) -> Words:
    # What says things of a game under its ruleset, by the titles of the seats.
    cards = [
        catalog_pb2.Card(id=card["id"], title=card["title"], kind=card["kind"])
        for card in game.cards()
    ]
    described = catalog_pb2.Game(seat_titles=game.seat_titles, cards=cards, phrases=phrases(game))
    return Words(described)


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
    messages(game.id).write(message, lambda inner: _translation(game.id).write_event(inner, event))
    return message.SerializeToString()


def write_recorded_events(
    game: Game, happened: Iterable[events.Event], version: int
) -> list[MatchEvent]:
    """Returns what a record tells of one version of a match, as messages."""
    written = [write_event(game, event, version) for event in happened if event.recorded]
    inner = [messages(game.id).read(message) for message in written]
    told = []
    for message in _translation(game.id).recorded(game.rules_version, inner):
        told.append(MatchEvent(version=version))
        messages(game.id).put(told[-1], message)
    return told


def write_view(game: Game, view: SeatView) -> bytes:
    """Returns a serialized View with only the game's part."""
    return field(_view_field(game.id), _view_writer(game.id)(game, view))


@cache
def _view_field(game_id: str) -> int:
    return View.DESCRIPTOR.fields_by_name[messages(game_id).field].number


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
            f"{path}.{message.WhichOneof('game')}", "OTHER_GAME", f"must be a view of {game.id}"
        )
    try:
        shown = messages(game.id).read(message, ViewError)
        fields = _translation(game.id).read_view(game, shown, message.seat)
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
    whole = f"{path}.{messages(game_id).field}"
    return _refusal(ErrorReason.ERROR_REASON_INCONSISTENT_VIEW, whole, field, error)


# Endings

# What is said in every game, and why a match ended where its rules have not told. <language>.toml
# here has the translations.
GENERAL = {
    "word.and": "and",
    "word.yes": "yes",
    "word.no": "no",
    "word.you": "you",
    "word.bot": "the bot",
    "word.friend": "your friend",
    "word.card": "a card",
    "word.no_cards": "no cards",
    "word.cards": "{count} cards",
    "word.cards.count=1": "1 card",
    "word.decimal_mark": ".",
    "reason.chance": "{aspect} in {value} of {cases} cases; in {other_value} with: {other}",
    "reason.amount": "{aspect}: {value}; {other_value} with: {other}",
    "reason.answer": "The most likely answer: {action}",
    "place.opponent_hand": "Hand",
    "place.opponent_pile": "Pile",
    "place.set_aside": "Set aside",
    "place.stock": "Stock",
    "event.seat_decided": "{seat} decided",
    "event.match_ended": "The match is over",
    "event.time_expired": "{seats} ran out of time",
    "event.seat_joined": "{seat} took the seat",
    "event.seat_token_replaced": "{seat} moved to another device",
    "event.seat_declined": "{seat} declined the match",
    "event.seat_aborted": "{seat} aborted the match",
    "event.offer_made": "{seat} asked for a pause",
    "event.offer_made.kind=takeback": "{seat} asked to take a move back",
    "event.offer_answered": "{seat} dropped the offer",
    "event.offer_answered.agreed=true": "{seat} agreed",
    "event.match_resumed": "The match goes on",
    "event.entropy_hash": "{seat} added to the shuffle",
    "event.entropy": "{seat} added to the shuffle",
    "over.rules": "The match was played to its end.",
    "over.resignation": "{seat} resigned.",
    "over.resignation.you": "You resigned.",
    "over.withdrawn": "{seat} called the match off before cards were dealt.",
    "over.withdrawn.you": "You called the match off before cards were dealt.",
    "over.time": "{seat} ran out of time.",
    "over.time.you": "You ran out of time.",
    "over.time.both": "Both players ran out of time.",
    "over.abandoned": "{seat} made no move for too long.",
    "over.abandoned.you": "You made no move of your own for too long.",
    "over.abandoned.both": "Both players made no move for too long.",
    "over.idle": "{seat} made no move for too long.",
    "over.idle.you": "You made no move for too long.",
    "over.idle.both": "Nobody made a move for too long.",
    "over.declined": "The rematch did not come about, so no cards were dealt.",
    "over.aborted": "The match was aborted before both players had made a move.",
}


def phrases(game: Game) -> dict[str, str]:
    """Returns the phrases of a game in English, as `Game.phrases` of the API has them."""
    endings = _translation(game.id).endings
    ending = {f"ending.{name}": phrase for name, phrase in endings.items()}
    return {**GENERAL, **game.phrases, **ending}


def write_ending(view: SeatView, happened: Iterable[events.Event]) -> Ending | None:
    """Returns what decided a match that its rules have ended; None if the game does not tell.

    `view` is that of a spectator after the end, `happened` all events of the last version. Raises
    whatever the game's own code raises.
    """
    game = view.game
    translation = _translation(game.id)
    told = translation.ending(view, [event for event in happened if event.seen_by(SPECTATOR)])
    if told is None:
        return None
    name, values = told
    phrase = translation.endings[name]
    fields = dict.fromkeys(fields_of(phrase))
    ending = Ending(id=name, values=[_ending_value(field, values[field]) for field in fields])
    english = _english(game)
    ending.text = english.fill(phrase, ending_fields(ending, english))
    return ending


def _ending_value(name: str, value: Any) -> EndingValue:
    kind = name.rpartition("_")[2]
    if kind not in ("seat", "card"):
        kind = "text" if isinstance(value, str) else "number"
    return EndingValue(field=name, **{kind: value})


# Refusals


def game_not_found(game_id: str) -> Refusal:
    """Returns the refusal of a request that names an unknown game."""
    return Refusal(
        ErrorReason.ERROR_REASON_GAME_NOT_FOUND,
        no_such_game(game_id),
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
