"""How a record of the first rules tells what the engine now tells otherwise."""

from croupier.v1 import castle_rampage_pb2 as pb
from engine import games
from engine.castle_rampage.wire import Translation

KNIGHT = pb.CASTLE_RAMPAGE_CARD_KNIGHT
ARCHER = pb.CASTLE_RAMPAGE_CARD_ARCHER
GIANT = pb.CASTLE_RAMPAGE_CARD_GIANT


def drawn(seat, *cards):
    return pb.CastleRampageEvent(seat=seat, drawn={"count": len(cards), "cards": cards})


def shuffled(count):
    return pb.CastleRampageEvent(shuffled={"count": count})


def told(*events):
    return Translation(games()["castle_rampage"]).recorded(1, list(events))


def test_cards_drawn_before_a_shuffle_are_told_after_it_and_come_first():
    events = drawn(0, GIANT, KNIGHT), shuffled(9), drawn(0, ARCHER)
    assert told(*events) == [shuffled(9), drawn(0, GIANT, KNIGHT, ARCHER)]


def test_cards_that_another_seat_drew_before_a_shuffle_stay_there():
    events = drawn(1, GIANT), shuffled(9), drawn(0, ARCHER)
    assert told(*events) == list(events)


def test_neither_the_starter_nor_the_reason_of_a_discard_is_told():
    starter = pb.CastleRampageEvent(seat=1, starter_drawn={})
    discarded = pb.CastleRampageEvent(
        discarded={"cards": [GIANT], "reason": pb.CASTLE_RAMPAGE_DISCARD_REASON_RANDOM}
    )
    plain = pb.CastleRampageEvent(discarded={"cards": [GIANT]})
    assert told(starter, discarded) == [plain]
