"""PowerShot Soccer on the wire. The engine counts cards; a message lists them."""

from typing import cast

from croupier.v1 import powershot_soccer_pb2 as pb
from engine.events import Event
from engine.game import Game
from service.wire import Fields
from service.wire.fields import counted, filled, options, plain

VIEW_PATHS = {
    "common.draw_sizes[": "sides[",
    "common.goals": "sides",
    "common.kick_off_cards": "kick_offs",
    "common.": "",
}

_SEATS = (0, 1)
_TYPES = 60
_MAX_PLAYS = 180
_MAX_KICK_OFFS = 8
_PLAY = ("seat", "card", "role", "outcome")
_NO_PLAY = dict.fromkeys(_PLAY, 0)
_SHARED = ("phase", "half", "possession", "standing", "attack_start", "first_kick_off")


# Rulesets and actions


def ruleset_to_fields(message: pb.PowerShotSoccerRuleset) -> Fields:
    """The options that are set."""
    fields = options(message, ("hand_size",))
    if message.cards:
        fields["cards"] = [
            {**plain(spec, ("role", "power")), **options(spec, ("copies",))}
            for spec in message.cards
        ]
    return fields


def ruleset_to_proto(fields: Fields) -> pb.PowerShotSoccerRuleset:
    """A whole ruleset."""
    return pb.PowerShotSoccerRuleset(
        hand_size=fields["hand_size"],
        cards=[pb.PowerShotSoccerCardSpec(**spec) for spec in fields["cards"]],
    )


def action_to_proto(game: Game, fields: Fields) -> pb.PowerShotSoccerAction:
    """An action."""
    message = pb.PowerShotSoccerAction()
    message.play_card.card = fields["card"]
    message.play_card.role = fields["role"]
    return message


def action_to_fields(message: pb.PowerShotSoccerAction) -> Fields:
    """The fields of an action."""
    kind = str(message.WhichOneof("action"))
    return {"kind": kind, **plain(message.play_card, ("card", "role"))}


# Events


def event_to_proto(event: Event) -> pb.PowerShotSoccerEvent:
    """An event; what is hidden of it is not set."""
    message = pb.PowerShotSoccerEvent()
    values = event.values
    match event.kind:
        case "shuffled" | "shuffled_hidden":
            _write_cards(message.shuffled, event)
        case "drawn" | "drawn_hidden":
            _write_cards(message.drawn, event)
        case "kick_off_shown":
            message.kick_off_shown.seat = event.seat
            message.kick_off_shown.card = values[0]
        case "half_started":
            message.half_started.half = values[0]
            message.half_started.kick_off = event.seat
        case "played":
            message.played.seat = event.seat
            message.played.card = values[0]
            message.played.role = cast(pb.PowerShotSoccerRole, values[1])
        case "exchange_decided":
            decided = message.exchange_decided
            decided.seat = event.seat
            decided.outcome = cast(pb.PowerShotSoccerOutcome, values[0])
            decided.power, decided.defence = values[1:]
        case _:  # half_ended
            message.half_ended.half = values[0]
            message.half_ended.goals.extend(values[1:])
    return message


def _write_cards(
    message: pb.PowerShotSoccerEvent.Shuffled | pb.PowerShotSoccerEvent.Drawn, event: Event
) -> None:
    message.seat = event.seat
    if event.kind.endswith("_hidden"):
        message.count = event.values[0]
    else:
        message.count = len(event.values)
        message.cards.extend(event.values)


# Views


def view_to_fields(game: Game, message: pb.PowerShotSoccerView, seat: int) -> Fields:
    """The fields of a view; raises ViewError if they do not fit the engine's."""
    plays = [plain(play, _PLAY) for play in message.plays]
    pairs = [list(kick_off.cards) for kick_off in message.kick_offs]
    return {
        "seat": seat,
        "common": {
            **plain(message, _SHARED),
            "kick_offs": len(pairs),
            "kick_off_cards": filled(pairs, _MAX_KICK_OFFS, [0, 0], "kick_offs"),
            "goals": [side.goals for side in message.sides],
            "draw_sizes": [side.draw_pile_size for side in message.sides],
            "play_count": len(plays),
            "plays": filled(plays, _MAX_PLAYS, _NO_PLAY, "plays"),
        },
        "hand": counted(message.hand, _TYPES, "hand"),
    }
