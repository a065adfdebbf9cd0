"""Records of Castle Rampage: their events tell the match."""

from collections import Counter

import pytest

from service.hosting.records import write_record
from tests.games import spread
from tests.games.castle_rampage.layout import (
    AT_RANDOM,
    CATAPULT,
    GRANARY,
    PAID,
    TO_PRIEST,
    is_purple,
)
from tests.support.long_form import LONG_FORM
from tests.support.play import note_on_failure, seeded
from tests.support.random_matches import random_match

MATCHES = 12 if LONG_FORM else 5


class Replay:
    """A match that follows the events of a record one after the other, and reads no action.

    A replay draws nothing and chooses nothing. It keeps the order of the draw pile and every hand,
    and asserts that each event follows from them.
    """

    def __init__(self):
        self.pile = []  # The draw pile from the top.
        self.aside = []  # Purple cards that were replaced in the deal.
        self.hands = [Counter(), Counter()]
        self.kept = [[], []]
        self.structures = [[[], []], [[], []]]  # By seat and structure, each from the top.
        self.permanents = [Counter(), Counter()]
        self.discards = Counter()
        self.in_play = None
        self.starter = None
        self.turn = 0
        self.last = ""
        self.seen = Counter()

    def follow(self, record):
        version = 0
        for entry in record.entries:
            if entry.version != version:
                self.settle()
                version = entry.version
            if not entry.HasField("event"):
                continue
            event = entry.event.castle_rampage
            kind = event.WhichOneof("event")
            if kind is None:
                continue
            seat = event.seat if event.HasField("seat") else None
            getattr(self, kind)(seat, getattr(event, kind))
            self.last = kind
            self.seen[kind] += 1
        self.settle()

    def settle(self):
        """Discard the played card when its effect is done; a permanent card stays in play."""
        if self.in_play is not None:
            seat, card = self.in_play
            stays = card in (CATAPULT, GRANARY)
            (self.permanents[seat] if stays else self.discards)[card] += 1
            self.in_play = None

    def lose(self, seat, cards):
        for card in cards:
            assert self.hands[seat][card] > 0
            self.hands[seat][card] -= 1
        self.hands[seat] = +self.hands[seat]

    def starter_drawn(self, seat, _):
        assert self.starter is None and not self.pile
        self.starter = seat

    def shuffled(self, _, event):
        if self.starter is not None and self.turn:
            assert not self.pile
            assert Counter(event.cards) == +self.discards
            self.discards.clear()
        elif self.pile:
            assert Counter(event.cards) == Counter([*self.pile, *self.aside])
        self.aside.clear()
        self.pile = list(event.cards)

    def drawn(self, seat, event):
        for card in event.cards:
            while not self.turn and is_purple(self.pile[0]):
                self.aside.append(self.pile.pop(0))
            assert self.pile.pop(0) == card
            self.hands[seat][card] += 1

    def cards_set_up(self, seat, event):
        self.lose(seat, [*event.gate, *event.castle, event.keep])
        assert not self.hands[seat]
        self.structures[seat][0] += event.gate
        self.structures[seat][1] += event.castle
        self.kept[seat].append(event.keep)

    def turn_started(self, seat, event):
        if event.turn == 1:
            assert seat == self.starter
            self.hands = [Counter(cards) for cards in self.kept]
        self.settle()
        self.turn += 1
        assert event.turn == self.turn
        assert seat == (self.starter + event.turn + 1) % 2

    def turn_cut(self, seat, _):
        self.settle()

    def strengthened(self, seat, event):
        self.lose(seat, [event.card])
        self.structures[seat][event.structure - 1].append(event.card)

    def played(self, seat, event):
        self.lose(seat, [event.card])
        self.in_play = seat, event.card

    def discarded(self, seat, event):
        self.seen[event.reason] += 1
        if event.reason == PAID:
            assert self.last == "played" or self.in_play is None
        elif event.reason == AT_RANDOM:
            assert self.in_play is not None
        else:
            assert event.reason == TO_PRIEST and self.last == "hand_shown"
            assert seat != self.in_play[0]
        self.lose(seat, event.cards)
        self.discards.update(event.cards)

    def top_of(self, seat, event):
        return self.structures[seat][event.structure - 1][0]

    def revealed(self, seat, event):
        assert self.top_of(seat, event) == event.card

    def held(self, seat, event):
        assert self.top_of(seat, event) == event.card

    def destroyed(self, seat, event):
        if event.structure:
            assert self.structures[seat][event.structure - 1].pop(0) == event.card
        else:
            self.permanents[seat][event.card] -= 1
        self.discards[event.card] += 1

    def returned(self, seat, event):
        assert self.in_play == (seat, event.card)
        self.hands[seat][event.card] += 1
        self.in_play = None

    def looked(self, seat, event):
        tops = [cards[0] if cards else 0 for cards in self.structures[1 - seat]]
        assert tops == [event.gate, event.castle]

    def hand_shown(self, seat, event):
        assert sorted(self.hands[seat].elements()) == list(event.cards)


@pytest.mark.parametrize("name", ["default", "one_set_up", "costly", "purple", "tiny", "informers"])
def test_the_events_of_a_record_tell_the_whole_match(name):
    seen = Counter()
    for number in range(MATCHES):
        rng = seeded("replay", name, number)
        state = random_match("castle_rampage", name, rng)
        replay = Replay()
        with note_on_failure(number=number):
            replay.follow(write_record(state))
            seen.update(replay.seen)
            fields = state.match.position.fields
            common = fields["common"]
            # In a state, the top card of the draw pile is last.
            assert replay.pile == fields["draw_pile"][: common["draw_size"]][::-1]
            assert +replay.discards == Counter(spread(common["discards"]))
            for seat in range(2):
                assert +replay.hands[seat] == Counter(spread(fields["own"][seat]["hand"]))
                for structure in range(2):
                    stack = fields["stacks"][2 * seat + structure]
                    stands = stack["cards"][stack["top"] : stack["count"]]
                    assert replay.structures[seat][structure] == stands
    assert seen["starter_drawn"] == MATCHES
    if name == "costly":
        assert seen[PAID] and seen[AT_RANDOM] and seen[TO_PRIEST]
    if name == "purple":
        assert seen["shuffled"] > 3 * MATCHES
