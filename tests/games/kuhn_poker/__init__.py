"""How the facts of Kuhn poker are written: fields `first` and `second`, a card each."""

from tests.games import Facts

CARDS = {0: "", 1: "JACK", 2: "QUEEN", 3: "KING"}
DECISIONS = {0: "", 1: "check", 2: "bet", 3: "call", 4: "fold"}


class KuhnPokerFacts(Facts):
    """Kuhn poker."""

    longest = 3

    def set_up(self, game, given):
        ranks = {text: rank for rank, text in CARDS.items()}
        cards = [ranks[given.get(seat, "")] for seat in self.seats]
        for seat in range(2):
            cards[seat] = cards[seat] or next(rank for rank in (1, 2, 3) if rank not in cards)
        return {"cards": cards, "common": 0, "decisions": [0] * 8}

    def show_state(self, game, fields):
        shown = {seat: CARDS[fields["cards"][i]] for i, seat in enumerate(self.seats)}
        shown["decisions"] = " ".join(DECISIONS[n] for n in fields["decisions"] if n)
        return shown

    show_view = show_state

    def show_event(self, game, event):
        titles = DECISIONS if event.kind == "decided" else CARDS
        return " ".join([self.seats[event.seat], event.kind, *[titles[n] for n in event.values]])

    def check_conserved(self, game, fields):
        first, second = fields["cards"]
        assert first in (1, 2, 3) and second in (1, 2, 3) and first != second

    def hidden(self, game, fields, seat):
        return fields["cards"][1 - seat]
