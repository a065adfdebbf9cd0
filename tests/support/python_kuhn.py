"""Kuhn poker in plain Python, which must behave exactly as the compiled one."""

from ctypes import Structure, c_uint8
from typing import ClassVar

from engine.errors import ViewError
from engine.python_game import PythonGame

DECISIONS = ("check", "bet", "call", "fold")  # Numbered from 1.
CHECK, BET, CALL, FOLD = 1, 2, 3, 4
OVER = {(CHECK, CHECK), (BET, CALL), (BET, FOLD), (CHECK, BET, CALL), (CHECK, BET, FOLD)}
LINES = {(), (CHECK,), (BET,), (CHECK, BET), *OVER}


class KuhnState(Structure):
    _fields_ = (("cards", c_uint8 * 2), ("common", c_uint8), ("decisions", c_uint8 * 8))


class KuhnView(Structure):
    _fields_ = (("seat", c_uint8), *KuhnState._fields_)


def line(shown):
    return tuple(decision for decision in shown.decisions if decision)


def is_showdown(decisions):
    return decisions in OVER and decisions[-1] != FOLD


class PythonKuhn(PythonGame):
    id = "python_kuhn"
    abi = 2
    title = "Kuhn poker"
    event_kinds: ClassVar = {1: "dealt", 2: "decided", 3: "shown"}
    hidden_places = ("opponent_hand",)
    reference = True
    sequential_regret = True
    State = KuhnState
    View = KuhnView
    actions: ClassVar = {kind: {} for kind in DECISIONS}

    def cards(self):
        return [{"id": str(rank)} for rank in range(3)]

    def deal(self, state, chance, log):
        deck = [1, 2, 3]
        chance.shuffle(deck)
        for seat in (0, 1):
            state.cards[seat] = deck[seat]
            log.private("dealt", [deck[seat]], seat)

    def deciders(self, state):
        decisions = line(state)
        return () if decisions in OVER else (len(decisions) % 2,)

    def legal(self, state, seat):
        faces_bet = line(state)[-1:] == (BET,)
        return [("fold",), ("call",)] if faces_bet else [("check",), ("bet",)]

    def apply(self, state, joint, chance, log):
        [(seat, (kind,))] = joint.items()
        decision = 1 + DECISIONS.index(kind)
        state.decisions[len(line(state))] = decision
        log.add("decided", [decision], seat)
        if is_showdown(line(state)):
            for side in (0, 1):
                log.add("shown", [state.cards[side]], side)

    def outcome(self, state, seat):
        decisions = line(state)
        payoff = 2 if decisions[-1] == CALL else 1
        winner = int(state.cards[1] > state.cards[0])
        if decisions[-1] == FOLD:
            winner = len(decisions) % 2
        return (2 + payoff if winner == seat else 2 - payoff) / 4

    def view(self, state, seat, view):
        view.decisions = state.decisions
        for side in (0, 1):
            if side == seat or is_showdown(line(state)):
                view.cards[side] = state.cards[side]

    def observe(self, after, joint, seat):
        [(kind,)] = joint.values()
        return (1 + DECISIONS.index(kind)) << 2

    def hidden(self, state, seat):
        return {"opponent_hand": [state.cards[1 - seat] - 1]}

    def root_key(self, state, seat):
        return state.cards[seat]

    def check_view(self, view):
        own, other = view.cards[view.seat], view.cards[1 - view.seat]
        if line(view) not in LINES:
            raise ViewError("decisions", "must be a line of play")
        if not 1 <= own <= 3 or other > 3 or bool(other) != is_showdown(line(view)):
            raise ViewError("cards", "must be what the seat knows")

    def draw(self, view, state, chance):
        state.cards = view.cards
        state.decisions = view.decisions
        if not state.cards[1 - view.seat]:
            others = [card for card in (1, 2, 3) if card != view.cards[view.seat]]
            state.cards[1 - view.seat] = others[chance.below(2)]
