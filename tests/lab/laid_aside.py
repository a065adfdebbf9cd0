"""Laid Aside: a game with each kind of decision, to plant mistakes in.

There is one card of each rank, from 1 up. Each seat is dealt a hand; the rest is out of play. First
both seats at the same time lay a card aside face down. Then the first seat pledges a card face
down, and the second one. Then they play their other cards in sight, in turn. The higher sum wins,
in which a pledged card counts twice and a card laid aside counts nothing.
"""

import ctypes
from typing import ClassVar

from engine.errors import RulesetError, ViewError
from engine.game import ABI
from engine.python_game import PythonGame

MOST = 12
DEFAULTS = {"ranks": 12, "cards_per_hand": 5}
KINDS = ("lay_aside", "pledge", "pledge")


class State(ctypes.Structure):
    """A card is its rank; 0 is none."""

    _fields_ = (
        ("hands", (ctypes.c_uint8 * (MOST + 1)) * 2),
        ("aside", ctypes.c_uint8 * 2),
        ("pledged", ctypes.c_uint8 * 2),
        ("step", ctypes.c_uint8),
        ("plays", ctypes.c_uint8 * MOST),
    )


class View(ctypes.Structure):
    """A seat sees its own cards, and all plays."""

    _fields_ = (
        ("seat", ctypes.c_uint8),
        ("hand", ctypes.c_uint8 * (MOST + 1)),
        ("aside", ctypes.c_uint8),
        ("pledged", ctypes.c_uint8),
        ("step", ctypes.c_uint8),
        ("plays", ctypes.c_uint8 * MOST),
    )


class LaidAside(PythonGame):
    """The rules."""

    id = "laid_aside"
    abi = ABI
    title = "Laid Aside"
    summary = __doc__
    reference = True
    event_kinds: ClassVar = {
        1: "dealt: cards*",
        2: "dealt_hidden:",
        3: "laid_aside: card",
        4: "laid_aside_hidden:",
        5: "pledged: card",
        6: "pledged_hidden:",
        7: "played: card",
    }
    hidden_places = ("hand", "face_down", "out_of_play")
    actions: ClassVar = {
        "lay_aside": {"card": MOST + 1},
        "pledge": {"card": MOST + 1},
        "play": {"card": MOST + 1},
    }
    State, View = State, View

    def read_ruleset(self, given):
        ruleset = DEFAULTS | given
        if ruleset.keys() != DEFAULTS.keys():
            raise RulesetError("", "has another option", "UNKNOWN_OPTION")
        self.ranks, self.size = ruleset["ranks"], ruleset["cards_per_hand"]
        if not (self.size >= 3 and 2 * self.size <= self.ranks <= MOST):
            raise RulesetError("ranks", f"must be enough for both hands, and at most {MOST}")
        return ruleset

    def cards(self):
        return [
            {
                "id": f"{n}",
                "title": f"{n}",
                "kind": "Card",
                "copies": 1,
                "numbers": {"Rank": n},
                "text": "",
            }
            for n in range(1, self.ranks + 1)
        ]

    def deal(self, state, chance, log):
        ranks = list(range(1, self.ranks + 1))
        chance.shuffle(ranks)
        for seat in range(2):
            hand = sorted(ranks.pop() for _ in range(self.size))
            for card in hand:
                state.hands[seat][card] = 1
            log.private("dealt", hand, seat)

    def deciders(self, state):
        if state.step == 0:
            return (0, 1)
        if state.step == 3 + 2 * (self.size - 2):
            return ()
        return ((state.step + 1) % 2,)

    def legal(self, state, seat):
        kind = "play" if state.step > 2 else KINDS[state.step]
        return [(kind, card) for card in held(state.hands[seat])]

    def apply(self, state, joint, chance, log):
        for seat, (kind, card) in joint.items():
            state.hands[seat][card] = 0
            if kind == "lay_aside":
                state.aside[seat] = card
                log.private("laid_aside", [card], seat)
            elif kind == "pledge":
                state.pledged[seat] = card
                log.private("pledged", [card], seat)
            else:
                state.plays[state.step - 3] = card
                log.add("played", [card], seat)
        state.step += 1

    def outcome(self, state, seat):
        mine, other = (2 * state.pledged[n] + sum(state.plays[n::2]) for n in (seat, 1 - seat))
        return 0.5 if mine == other else float(mine > other)

    def view(self, state, seat, view):
        view.step = state.step
        view.plays = state.plays
        if seat < 2:
            view.hand = state.hands[seat]
            view.aside = state.aside[seat]
            view.pledged = state.pledged[seat]

    def observe(self, after, joint, seat):
        # What was done in sight, and the seat's own.
        own = joint.get(seat, ("", 0))[1]
        shown = after.plays[after.step - 4] if after.step > 3 else 0
        return after.step | own << 8 | shown << 16

    def check_view(self, view):
        cards = held(view.hand) + [card for card in view.plays if card]
        if len(set(cards)) < len(cards) or view.step > 3 + MOST:
            raise ViewError("plays", "must have each card once")

    def draw(self, view, state, chance):
        # The opponent always has as many choices as cards, so all worlds are equally likely.
        seat, other = view.seat, 1 - view.seat
        own = {*held(view.hand), view.aside, view.pledged, *view.plays}
        unseen = [card for card in range(1, self.ranks + 1) if card not in own]
        chance.shuffle(unseen)
        state.step = view.step
        state.plays = view.plays
        state.hands[seat] = view.hand
        state.aside[seat], state.pledged[seat] = view.aside, view.pledged
        count = self.size - sum(card > 0 for card in view.plays[other::2])
        if view.step > 0:
            state.aside[other] = unseen.pop()
            count -= 1
        if view.step > 1 + other:
            state.pledged[other] = unseen.pop()
            count -= 1
        for _ in range(count):
            state.hands[other][unseen.pop()] = 1

    def hidden(self, state, seat):
        other = 1 - seat
        down = [card for card in (state.aside[other], state.pledged[other]) if card]
        known = {
            *held(state.hands[0]),
            *held(state.hands[1]),
            *state.aside,
            *state.pledged,
            *state.plays,
        }
        out = [card for card in range(1, self.ranks + 1) if card not in known]
        places = {"hand": held(state.hands[other]), "face_down": down, "out_of_play": out}
        return {place: [card - 1 for card in cards] for place, cards in places.items()}


def held(hand):
    """The cards of a hand, ascending."""
    return [card for card, flag in enumerate(hand) if flag]
