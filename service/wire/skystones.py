"""Skystones on the wire. The engine counts cards; a message lists them."""

from typing import cast

from croupier.v1 import skystones_pb2 as pb
from engine.errors import ViewError
from engine.events import Event
from engine.game import Game
from service.wire import Fields
from service.wire.fields import counted, filled, options, plain

VIEW_PATHS = {"common.": ""}

_NONE = 255  # No seat, where the engine writes one.
_TYPES = 60
_SQUARES = 9
_MAX_PLACEMENTS = 90
_NO_SQUARE = {"field": 0, "card": 0, "owner": 0}
_PLACEMENT = ("round", "seat", "card", "square")
_NO_PLACEMENT = dict.fromkeys(_PLACEMENT, 0)


# Rulesets and actions


def ruleset_to_fields(message: pb.SkystonesRuleset) -> Fields:
    """The options that are set."""
    fields = options(message, ("special_fields", "board_size", "hand_size", "hand_limit"))
    if message.cards:
        fields["cards"] = [_card_to_fields(spec) for spec in message.cards]
    return fields


def _card_to_fields(message: pb.SkystonesCardSpec) -> Fields:
    printed = plain(message, ("title", "element", "north", "east", "south", "west"))
    return {**printed, **options(message, ("copies",))}


def ruleset_to_proto(fields: Fields) -> pb.SkystonesRuleset:
    """A whole ruleset."""
    return pb.SkystonesRuleset(
        **{**fields, "cards": [pb.SkystonesCardSpec(**spec) for spec in fields["cards"]]}
    )


def action_to_proto(game: Game, fields: Fields) -> pb.SkystonesAction:
    """An action."""
    message = pb.SkystonesAction()
    if fields["kind"] == "pick_card":
        message.pick_card.card = fields["card"]
    else:
        message.place_card.card = fields["card"]
        message.place_card.square = fields["square"]
    return message


def action_to_fields(message: pb.SkystonesAction) -> Fields:
    """The fields of an action."""
    kind = str(message.WhichOneof("action"))
    if kind == "pick_card":
        return {"kind": kind, "card": message.pick_card.card}
    return {"kind": kind, "card": message.place_card.card, "square": message.place_card.square}


# Events


def event_to_proto(event: Event) -> pb.SkystonesEvent:
    """An event; what is hidden of it is not set."""
    message = pb.SkystonesEvent()
    values = event.values
    match event.kind:
        case "dealt":
            message.dealt.seat = event.seat
            message.dealt.count = len(values)
            message.dealt.cards.extend(values)
        case "dealt_hidden":
            message.dealt.seat = event.seat
            message.dealt.count = values[0]
        case "set_aside" | "set_aside_hidden":
            message.dealt.count = 1
            message.dealt.cards.extend(values)
        case "field_laid":
            message.field_laid.square = values[0]
            message.field_laid.field = cast(pb.SkystonesField, values[1])
        case "round_started":
            message.round_started.round = values[0]
            message.round_started.starter = event.seat
        case "picked" | "picked_hidden":
            message.picked.seat = event.seat
            if values:
                message.picked.card = values[0]
        case "placed":
            message.placed.seat = event.seat
            message.placed.card, message.placed.square = values[:2]
            message.placed.taken.extend(values[2:])
        case "passed":
            message.passed.seat = event.seat
        case _:  # round_ended
            ended = message.round_ended
            ended.round = values[0]
            if values[1] != _NONE:
                ended.winner = values[1]
            ended.chips.extend(values[2:4])
            ended.returned.extend(values[4:])
    return message


# Views


def view_to_fields(game: Game, message: pb.SkystonesView, seat: int) -> Fields:
    """The fields of a view; raises ViewError if they do not fit the engine's."""
    placements = [plain(placement, _PLACEMENT) for placement in message.placements]
    squares = game.ruleset["board_size"] ** 2
    if len(message.board) != squares:
        raise ViewError("board", f"must have {squares} squares")
    board = [_square_to_fields(square, f"board[{i}]") for i, square in enumerate(message.board)]
    return {
        "seat": seat,
        "common": {
            **plain(message, ("phase", "round", "first_starter", "starter", "turn")),
            "board": filled(board, _SQUARES, _NO_SQUARE, "board"),
            "sides": [plain(side, ("points", "hand_size", "pile_size")) for side in message.sides],
            "placement_count": len(placements),
            "placements": filled(placements, _MAX_PLACEMENTS, _NO_PLACEMENT, "placements"),
        },
        "hand": counted(message.hand, _TYPES, "hand"),
        "pile": counted(message.pile, _TYPES, "pile"),
    }


def _square_to_fields(message: pb.SkystonesSquare, path: str) -> Fields:
    if message.HasField("card") != message.HasField("owner"):
        raise ViewError(f"{path}.owner", "must be set if a card lies there, and only then")
    return {
        "field": message.field,
        "card": message.card + 1 if message.HasField("card") else 0,
        "owner": message.owner,
    }
