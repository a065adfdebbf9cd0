"""German Whist: a trick-taking game in which the first half of the match decides the hands.

The pack has 52 cards in four suits: clubs, diamonds, hearts and spades. In each suit the Ace is the
highest card, then King, Queen, Jack and 10 down to 2. Each seat is dealt 13 cards, which only it
sees. The other 26 cards are the stock, face down, and its top card is turned up. The suit of this
first card is trump for the whole match.

First leads to the first trick: it plays any card. The other seat must play a card of the same suit
if it has one, and may else play any card. The higher card of the suit that was led wins the trick,
unless a trump was played: then the higher trump does. Whoever wins a trick leads to the next.

In the first phase, the winner of each trick takes the card that is turned up, and the loser takes
the next card of the stock without showing it. Then the next card is turned up. So a trick may be
worth losing, if the card that is turned up is a bad one. The first phase ends with the stock, after
13 tricks.

In the second phase nothing is drawn, and the last 13 tricks are played out. Only these count:
whoever wins more of them wins the match.

With fewer cards in each hand, the low cards of each suit are left out: with 4 cards, a suit has
Ace, King, Queen and Jack. A match with an even number of cards can end in a draw.
"""

from typing import Any, ClassVar

from engine.errors import RulesetError
from engine.python_game import PythonGame
from german_whist.rules import inference
from german_whist.rules.state import (
    CARDS,
    HAND,
    IN_RANKS,
    RANKS,
    SUIT_SETS,
    SUITS,
    State,
    View,
    beats,
    cards_of,
)

MIN_HAND = 3
# Pictures of the suits, as the data of SVG paths for a box of 24 by 24 units.
GLYPHS = (
    "M12 2A4.5 4.5 0 0 1 15.5 9.4A4.5 4.5 0 1 1 13 16.5L15 22H9L11 16.5A4.5 4.5 0 1 1 8.5 9.4"
    "A4.5 4.5 0 0 1 12 2Z",
    "M12 2L20 12L12 22L4 12Z",
    "M12 21C5 15 2 11.5 2 7.5A5 5 0 0 1 12 6A5 5 0 0 1 22 7.5C22 11.5 19 15 12 21Z",
    "M12 2C17 8 21 11 21 14.5A4.5 4.5 0 0 1 13 17L15 22H9L11 17A4.5 4.5 0 0 1 3 14.5"
    "C3 11 7 8 12 2Z",
)


class GermanWhist(PythonGame):
    """German Whist. Its only option is the number of cards in each hand."""

    id = "german_whist"
    abi = 2
    title = "German Whist"
    summary = __doc__
    event_kinds: ClassVar = {
        1: "dealt: cards*",
        2: "dealt_hidden: count",
        3: "turned_up: card",
        4: "played: card",
        5: "trick_won:",
        6: "taken: card",
        7: "drawn: card",
        8: "drawn_hidden:",
    }
    hidden_places = ("opponent_hand", "stock")
    unseen_order = True
    phrases: ClassVar = {
        "action.play": "Play {card}",
        "event.dealt": "{seat} {is|are} dealt {count} cards[: {cards}]",
        "event.turned_up": "{card} is turned up",
        "event.played": "{seat} {plays|play} {card}",
        "event.trick_won": "{seat} {wins|win} the trick",
        "event.taken": "{seat} {takes|take} {card}",
        "event.drawn": "{seat} {draws|draw} a card[: {card}]",
        "aspect.trick_won": "you win the trick",
        "aspect.trumps": "your trumps after the trick",
        "view.trump": "Trump",
        "view.leader": "Leads the trick",
        "view.tricks": "Tricks that count",
        "view.hand": "Your hand",
        "view.exposed": "Cards turned up, the last one on the stock",
        "view.plays": "Cards played",
    }
    aspects: ClassVar = {"trick_won": "chance", "trumps": "amount"}
    State, View = State, View
    actions: ClassVar = {"play": {"card": CARDS}}

    def read_ruleset(self, given: dict[str, Any]) -> dict[str, Any]:
        size = given.pop("cards_per_hand", HAND)
        if given:
            raise RulesetError(next(iter(given)), "is not an option of this game", "UNKNOWN_OPTION")
        if not MIN_HAND <= size <= HAND:
            raise RulesetError("cards_per_hand", f"must be from {MIN_HAND} to {HAND}")
        self.size = size
        self.pack = [card for card in range(CARDS) if card % IN_RANKS >= IN_RANKS - size]
        return {"cards_per_hand": size}

    def cards(self) -> list[dict[str, Any]]:
        return [
            {
                "id": f"{SUITS[card // IN_RANKS]}_{RANKS[card % IN_RANKS]}".upper(),
                "title": f"{RANKS[card % IN_RANKS]} of {SUITS[card // IN_RANKS]}",
                "kind": SUITS[card // IN_RANKS],
                "copies": int(card in self.pack),
                "numbers": {"Rank": card % IN_RANKS + 2},
                "text": "",
                "glyph": GLYPHS[card // IN_RANKS],
            }
            for card in range(CARDS)
        ]

    def deal(self, state, chance, log):
        pack = list(self.pack)
        chance.shuffle(pack)
        for seat in (0, 1):
            hand = sorted(pack[self.size * seat : self.size * (seat + 1)])
            for card in hand:
                state.hands[seat] |= 1 << card
            log.private("dealt", hand, seat, shown=[self.size])
        stock = pack[2 * self.size :]
        state.stock[: len(stock)] = stock
        state.stock_count = len(stock)
        turn_up(state, log)

    def shuffle_unseen(self, state, chance):
        stock = state.stock[: state.stock_count]
        chance.shuffle(stock)
        state.stock[: len(stock)] = stock

    def deciders(self, state):
        played = state.plays_count
        if played == 4 * self.size:
            return ()
        return (state.leader ^ (played & 1),)

    def legal(self, state, seat):
        hand = state.hands[seat]
        if state.plays_count & 1:
            led = state.plays[state.plays_count - 1]
            hand = hand & SUIT_SETS[led // IN_RANKS] or hand
        return [("play", card) for card in cards_of(hand)]

    def apply(self, state, joint, chance, log):
        [(seat, (_, card))] = joint.items()
        played = state.plays_count
        state.hands[seat] ^= 1 << card
        state.plays[played] = card
        state.plays_count = played + 1
        log.add("played", [card], seat)
        if not played & 1:
            return
        trump = state.exposed[0] // IN_RANKS
        winner = seat if beats(card, state.plays[played - 1], trump) else 1 - seat
        state.leader = winner
        log.add("trick_won", seat=winner)
        if played < 2 * self.size:
            take_cards(state, winner, log)
        else:
            state.tricks[winner] += 1

    def outcome(self, state, seat):
        own, other = state.tricks[seat], state.tricks[1 - seat]
        return 0.5 if own == other else float(own > other)

    def view(self, state, seat, view):
        view.trump = state.exposed[0] // IN_RANKS
        view.leader = state.leader
        view.tricks = state.tricks
        view.exposed_count = state.exposed_count
        view.exposed = state.exposed
        view.plays_count = state.plays_count
        view.plays = state.plays
        if seat < 2:
            hand = cards_of(state.hands[seat])
            view.hand_count = len(hand)
            view.hand[: len(hand)] = hand

    def observe(self, after, joint, seat):
        # What both seats see: the card that was played, and how many cards were turned up and
        # which is the last. What the seat drew would split the search for little.
        [(_, card)] = joint.values()
        count = after.exposed_count
        return (card + 1) | count << 8 | (after.exposed[count - 1] + 1) << 16

    def hidden(self, state, seat):
        return {
            "opponent_hand": cards_of(state.hands[1 - seat]),
            "stock": state.stock[: state.stock_count],
        }

    def choose(self, state, seat, chance):
        # Follows with the lowest card that wins, if there is one and winning is good, and else with
        # the lowest; leads at random.
        hand = state.hands[seat]
        played = state.plays_count
        if not played & 1:
            cards = cards_of(hand)
            return ("play", cards[chance.below(len(cards))])
        led = state.plays[played - 1]
        trump = state.exposed[0] // IN_RANKS
        cards = cards_of(hand & SUIT_SETS[led // IN_RANKS] or hand)
        if played >= 2 * self.size or worth_taking(state, trump):
            winning = [card for card in cards if beats(card, led, trump)]
            if winning:
                return ("play", min(winning, key=lambda card: value_of(card, trump)))
        return ("play", min(cards, key=lambda card: value_of(card, trump)))

    def follow(self, begin, now, seat):
        # The trick, and what is in hand when it is over.
        played = begin.plays_count | 1
        if now.plays_count <= played:
            return None
        trumps = now.hands[seat] & SUIT_SETS[begin.exposed[0] // IN_RANKS]
        return now.leader == seat, trumps.bit_count()

    def check_view(self, view):
        return inference.Table(view, self.pack, self.size)

    def draw(self, view, state, chance, table):
        table.draw(view, state, chance)


def turn_up(state, log) -> None:
    """Turns up the next card of the stock."""
    count = state.stock_count - 1
    card = state.stock[count]
    state.stock[count] = 0
    state.stock_count = count
    state.exposed[state.exposed_count] = card
    state.exposed_count += 1
    log.add("turned_up", [card])


def take_cards(state, winner: int, log) -> None:
    """Gives the card that is turned up to the winner of a trick, and the next one to the loser."""
    taken = state.exposed[state.exposed_count - 1]
    state.hands[winner] |= 1 << taken
    log.add("taken", [taken], winner)
    count = state.stock_count - 1
    drawn = state.stock[count]
    state.stock[count] = 0
    state.stock_count = count
    state.hands[1 - winner] |= 1 << drawn
    log.private("drawn", [drawn], 1 - winner)
    if count:
        turn_up(state, log)


def value_of(card: int, trump: int) -> int:
    """Returns how much a card is worth keeping: trumps more than all others."""
    return card % IN_RANKS + IN_RANKS * (card // IN_RANKS == trump)


def worth_taking(state, trump: int) -> bool:
    """Returns whether the card that is turned up is better than most that could come next."""
    card = state.exposed[state.exposed_count - 1]
    return card // IN_RANKS == trump or card % IN_RANKS >= 8
