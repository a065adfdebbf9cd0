"""How the facts of Leduc poker are written.

Fields `first`, `second` and `common`, a card each: JACK, QUEEN or KING.
"""

from tests.games import Facts

CARDS = {0: "", 1: "JACK", 2: "QUEEN", 3: "KING"}
DECISIONS = {0: "", 1: "check", 2: "raise", 3: "call", 4: "fold"}


class LeducPokerFacts(Facts):
    """Leduc poker."""

    longest = 8

    def set_up(self, game, given):
        ranks = {text: rank for rank, text in CARDS.items()}
        cards = [ranks[given.get(place, "")] for place in (*self.seats, "common")]
        for i, card in enumerate(cards):
            cards[i] = card or next(rank for rank in (1, 2, 3) if cards.count(rank) < 2)
        return {"cards": cards[:2], "common": cards[2], "decisions": [0] * 8}

    def show_state(self, game, fields):
        shown = {seat: CARDS[fields["cards"][i]] for i, seat in enumerate(self.seats)}
        shown["common"] = CARDS[fields["common"]]
        decisions = fields["decisions"]
        rounds = [
            " ".join(DECISIONS[n] for n in part if n) for part in (decisions[:4], decisions[4:])
        ]
        shown["decisions"] = " / ".join(text for text in rounds if text)
        return shown

    show_view = show_state

    def show_event(self, game, event):
        titles = DECISIONS if event.kind == "decided" else CARDS
        seat = [self.seats[event.seat]] if event.seat >= 0 else []
        return " ".join([*seat, event.kind, *[titles[n] for n in event.values]])

    def check_conserved(self, game, fields):
        cards = [*fields["cards"], fields["common"]]
        assert all(card in (1, 2, 3) and cards.count(card) <= 2 for card in cards)

    def hidden(self, game, fields, seat):
        return fields["cards"][1 - seat], fields["common"]
