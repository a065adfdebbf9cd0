"""What a seat can infer about the opponent's hand in German Whist, and how likely each hand is.

Every deal is equally likely before the play. A world is then as likely as the product, over the
opponent's decisions, of 1 / the number of its legal actions. Only two kinds of decision tell
something: where it followed suit, it could have played any of its cards of that suit, so hands with
few of them are more likely; where it did not, it had none. All else only depends on the size of the
hand, which is no secret.

So the weight of a hand depends on how many cards it has of each suit, and on nothing else. It is
found exactly by going back from the present to the deal. A hand that goes back over a play gains
the card that was played, if the seat did not take it in sight. One that goes back over a card drawn
from the stock loses any of the cards that it did not take in sight, each of which may be the one.
At the deal, whatever is left is one hand of many that are equally likely. `weigher` adds up the
weights of all these paths; it meets few different hands, since it only counts suits.
"""

from collections.abc import Callable
from functools import cache
from itertools import product
from math import comb
from typing import Any, NamedTuple

from engine.errors import ViewError
from german_whist.rules.state import IN_RANKS, beats, set_of

Suits = tuple[int, ...]  # A number of cards for each suit.


class Step(NamedTuple):
    """What changed a seat's hand: a card played, or one drawn face down."""

    suit: int  # Of the card played; -1 for a card drawn.
    hidden: bool  # Whether the other seat did not know where the card came from.
    led: int  # The suit that the seat had to follow; -1 if it led.
    known: Suits  # The cards taken in sight that were in the hand before the play.


DRAWN = Step(-1, True, -1, (0, 0, 0, 0))


class Replay:
    """What the plays and the cards turned up say: both seats see these."""

    def __init__(self, plays: list[int], exposed: list[int], size: int) -> None:
        """Raises ViewError if no match can go like this."""
        seen = plays + [card for card in exposed if card not in plays]
        if len(set(plays)) < len(plays) or len(set(exposed)) < len(exposed):
            raise ViewError("plays", "must not have a card twice")
        if len(exposed) != min(size, len(plays) // 2 + 1):
            raise ViewError("exposed", "must have a card for each trick of the first phase so far")
        self.trump = exposed[0] // IN_RANKS
        self.leader = 0
        self.tricks = [0, 0]
        self.taken = [0, 0]  # By seat: the cards in its hand that it took in sight.
        self.steps: tuple[list[Step], list[Step]] = ([], [])
        self.drawn = [0, 0]
        self.seen = set_of(seen)
        for at, card in enumerate(plays):
            seat = self.leader ^ (at & 1)
            led = plays[at - 1] // IN_RANKS if at & 1 else -1
            self._play(seat, card, led)
            if at & 1:
                won = beats(card, plays[at - 1], self.trump)
                if at // 2 < size and exposed[at // 2] in plays[: at + 1]:
                    raise ViewError("plays", "must not have a card before it was turned up")
                self._end_trick(seat if won else 1 - seat, at // 2, exposed, size)
        for card in exposed[len(plays) // 2 :]:
            if card in plays:
                raise ViewError("plays", "must not have the card that is turned up")

    def _play(self, seat: int, card: int, led: int) -> None:
        known = self.taken[seat]
        if self.taken[1 - seat] >> card & 1:
            raise ViewError("plays", "must have each card from the seat that took it")
        counts = tuple((known >> IN_RANKS * suit & 0x1FFF).bit_count() for suit in range(4))
        self.steps[seat].append(Step(card // IN_RANKS, not known >> card & 1, led, counts))
        self.taken[seat] = known & ~(1 << card)

    def _end_trick(self, winner: int, trick: int, exposed: list[int], size: int) -> None:
        self.leader = winner
        if trick >= size:
            self.tricks[winner] += 1
            return
        self.taken[winner] |= 1 << exposed[trick]
        self.steps[1 - winner].append(DRAWN)
        self.drawn[1 - winner] += 1


def weigher(steps: list[Step], size: int) -> Callable[[Suits], float]:
    """Returns what weighs a hand of today, by how many cards of each suit it drew unseen."""

    @cache
    def back(left: int, hand: Suits) -> float:
        if left == 0:
            return float(sum(hand) == size)
        step = steps[left - 1]
        if step.suit < 0:
            return sum(
                count * back(left - 1, change(hand, suit, -1))
                for suit, count in enumerate(hand)
                if count
            )
        if step.hidden:
            hand = change(hand, step.suit, 1)
        if step.led < 0:
            return back(left - 1, hand)
        choices = hand[step.led] + step.known[step.led]
        if step.led != step.suit:
            return 0.0 if choices else back(left - 1, hand)
        return back(left - 1, hand) / choices

    return lambda now: back(len(steps), now)


def change(hand: Suits, suit: int, by: int) -> Suits:
    """Returns the numbers of cards of each suit with so many more of one."""
    return (*hand[:suit], hand[suit] + by, *hand[suit + 1 :])


class Table:
    """The hands that the opponent can have in one view, by suits, with their weights."""

    def __init__(self, view: Any, pack: list[int], size: int) -> None:
        """Raises ViewError if no world fits the view."""
        seat = view.seat
        plays, hand, exposed = (read(view, name, pack) for name in ("plays", "hand", "exposed"))
        if not exposed:
            raise ViewError("exposed", "must have the first card turned up")
        self.seat = seat
        self.replay = replay = Replay(plays, exposed, size)
        self.hand = set_of(hand)
        held, taken = self.hand, replay.taken
        if held & set_of(plays) or held & taken[1 - seat] or taken[seat] & ~held:
            raise ViewError("hand", "must agree with what was played and turned up")
        if len(plays) < 2 * size and held >> exposed[-1] & 1:
            raise ViewError("hand", "must not have the card that is turned up")
        own, self.count = (self._hidden_cards(each, size) for each in (seat, 1 - seat))
        if len(hand) != own + taken[seat].bit_count() or self.count < 0:
            raise ViewError("hand", "must have as many cards as were dealt and not played")
        if not weigher(replay.steps[seat], size)(by_suit(held & ~taken[seat])):
            raise ViewError("plays", "must be legal for the seat of the view")
        unseen = [card for card in pack if not (held | replay.seen) >> card & 1]
        self.unseen = [[card for card in unseen if card // IN_RANKS == suit] for suit in range(4)]
        self.hands: list[Suits] = []
        self.weights: list[float] = []
        self._weigh(replay.steps[1 - seat], size)

    def _hidden_cards(self, seat: int, size: int) -> int:
        # The cards in a hand that its seat did not take in sight.
        steps = self.replay.steps[seat]
        played = sum(step.hidden for step in steps if step.suit >= 0)
        return size + self.replay.drawn[seat] - played

    def _weigh(self, steps: list[Step], size: int) -> None:
        most = [len(cards) for cards in self.unseen]
        weigh = weigher(steps, size)
        ranges = [range(min(count, self.count) + 1) for count in most[:3]]
        for first in product(*ranges):
            last = self.count - sum(first)
            if not 0 <= last <= most[3]:
                continue
            now = (*first, last)
            weight = weigh(now)
            if weight > 0:
                for count, taken in zip(most, now, strict=True):
                    weight *= comb(count, taken)
                self.hands.append(now)
                self.weights.append(weight)
        if not self.hands:
            raise ViewError("plays", "must be possible for the opponent")

    def draw(self, view: Any, state: Any, chance: Any) -> None:
        """Draws a world into a state."""
        replay = self.replay
        counts = self.hands[chance.weighted(self.weights)]
        opposing = replay.taken[1 - self.seat]
        stock = []
        for unseen, count in zip(self.unseen, counts, strict=True):
            if count < len(unseen):
                left = list(unseen)
                held = chance.take(left, count) if count else ()
                stock += left
            else:
                held = unseen
            for card in held:
                opposing |= 1 << card
        chance.shuffle(stock)
        state.hands[self.seat] = self.hand
        state.hands[1 - self.seat] = opposing
        state.leader = replay.leader
        state.tricks[:] = replay.tricks
        state.stock_count = len(stock)
        state.stock[: len(stock)] = stock
        state.exposed_count = view.exposed_count
        state.exposed = view.exposed
        state.plays_count = view.plays_count
        state.plays = view.plays


def by_suit(cards: int) -> Suits:
    """Returns how many cards of each suit are in a set."""
    return tuple((cards >> IN_RANKS * suit & 0x1FFF).bit_count() for suit in range(4))


def read(view: Any, name: str, pack: list[int]) -> list[int]:
    """Returns the cards of an array of a view; raises ViewError for what is no card of the pack."""
    array, count = getattr(view, name), getattr(view, f"{name}_count")
    if count > len(array):
        raise ViewError(name, f"must have at most {len(array)} cards")
    cards: list[int] = array[:count]
    for at, card in enumerate(cards):
        if card not in pack:
            raise ViewError(f"{name}[{at}]", "must be a card of the pack")
    if name == "hand" and (sorted(set(cards)) != cards):
        raise ViewError(name, "must be sorted, without a card twice")
    return cards
