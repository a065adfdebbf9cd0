"""The exact distribution of the hidden cards in Castle Rampage, by a naive filter.

The filter goes through the events that a seat saw, from the deal on. It keeps every world that fits
them, with its probability: the opponent's hand, each card of its structures, and the draw pile. The
filter is independent of the engine's memory: it asks the engine only how many actions a hand has.
It knows two models of the opponent. In the first, the opponent chooses uniformly among its legal
actions. In the blind one, each card that leaves its hand is any of its cards.
"""

import functools
import itertools
from collections import Counter, defaultdict
from typing import NamedTuple

from engine.position import Position
from tests.games import spread
from tests.games.castle_rampage.layout import (
    AT_RANDOM,
    CATAPULT,
    GRANARY,
    NAMES,
    OGRE,
    TO_PRIEST,
    is_purple,
)


class World(NamedTuple):
    """The cards that a seat does not see, sorted but for the structures."""

    hand: tuple
    kept: tuple
    structures: tuple  # Gate and Castle: every card that was ever put there, in that order.
    pile: tuple

    def lose(self, card):
        """The world after the card has left the hand."""
        at = self.hand.index(card)
        return self._replace(hand=self.hand[:at] + self.hand[at + 1 :])

    def gain(self, *cards):
        return self._replace(hand=tuple(sorted(self.hand + cards)))

    def place(self, structure, *cards):
        structures = list(self.structures)
        structures[structure] += cards
        return self._replace(structures=tuple(structures))

    def take(self, card):
        """The world after the card has left the draw pile."""
        at = self.pile.index(card)
        return self._replace(pile=self.pile[:at] + self.pile[at + 1 :])


@functools.cache
def number_of_actions(game, hand, strengthened, opposed):
    """Count the legal actions of a hand against the opponent's permanent cards."""
    fields = Position.deal(game, 0).fields
    fields["common"] |= {"phase": 2, "active": 0, "strengthened": strengthened}
    fields["common"]["sides"][1] |= {
        "catapults": CATAPULT in opposed,
        "granaries": GRANARY in opposed,
    }
    fields["own"][0]["hand"] = [hand.count(card) for card in range(len(NAMES))]
    return len(Position.from_fields(game, fields).legal(0))


class Filter:
    """All worlds that fit the events a seat saw, with their probabilities."""

    def __init__(self, game, seat, blind=False):
        self.game, self.seat, self.blind = game, seat, blind
        deck = [card for spec in game.ruleset["cards"] for card in [spec["card"]] * spec["copies"]]
        self.worlds = {World((), (), ((), ()), tuple(sorted(deck))): 1.0}
        self.discards = Counter()
        self.permanents = [Counter(), Counter()]
        self.tops = [0, 0]
        self.active = None
        self.strengthened = False
        self.peak = 1
        self.reshuffles = 0

    def turn_into(self, step):
        """Replace each world by those that `step` gives for it, with their probabilities."""
        after = defaultdict(float)
        for world, weight in self.worlds.items():
            for new, share in step(world):
                if share > 0:
                    after[new] += weight * share
        whole = sum(after.values())
        self.worlds = {world: weight / whole for world, weight in after.items()}
        self.peak = max(self.peak, len(after))

    def require(self, so):
        self.turn_into(lambda world: [(world, so(world))])

    def see(self, events, decider):
        """Follow the events of a joint action; `decider` is None for the deal and set-ups."""
        if decider == 1 - self.seat and not self.blind:
            opposed = tuple(sorted(+self.permanents[self.seat]))
            self.turn_into(
                lambda world: [
                    (
                        world,
                        1 / number_of_actions(self.game, world.hand, self.strengthened, opposed),
                    )
                ]
            )
        played = None
        for event in events:
            if not event.seen_by(self.seat):
                continue
            mine = event.seat == self.seat
            if event.kind == "played":
                played = event
                if not mine:
                    self.spend(event.values[0])
            elif event.kind == "returned":
                played = None
                if not mine:
                    self.turn_into(lambda world, cards=event.values: [(world.gain(*cards), 1)])
            elif event.kind == "discarded":
                reason, *cards = event.values
                self.discards.update(cards)
                for card in () if mine else cards:
                    if reason == TO_PRIEST:
                        self.turn_into(lambda world, card=card: [(world.lose(card), 1)])
                    elif reason == AT_RANDOM:
                        self.lose_at_random(card)
                    else:
                        self.spend(card)
            else:
                getattr(self, f"see_{event.kind}", lambda *_: None)(mine, event.values)
        if played is not None:
            card = played.values[0]
            permanent = card in (CATAPULT, GRANARY)
            (self.permanents[played.seat] if permanent else self.discards)[card] += 1

    # Cards that leave the opponent's hand

    def lose_at_random(self, card):
        self.turn_into(
            lambda world: (
                [(world.lose(card), world.hand.count(card) / len(world.hand))]
                if card in world.hand
                else []
            )
        )

    def spend(self, card):
        if self.blind:
            self.lose_at_random(card)
        else:
            self.turn_into(lambda world: [(world.lose(card), 1)] if card in world.hand else [])

    def see_strengthened(self, mine, values):
        self.strengthened = True
        structure, card = values
        if not mine:
            self.spend(card)
            self.turn_into(lambda world: [(world.place(structure, card), 1)])

    def see_strengthened_hidden(self, mine, values):
        self.strengthened = True
        self.turn_into(
            lambda world: [
                (
                    world.lose(card).place(values[0], card),
                    world.hand.count(card) / len(world.hand) if self.blind else 1,
                )
                for card in set(world.hand) - {OGRE}
            ]
        )

    # Cards that come to a hand

    def see_shuffled_hidden(self, mine, values):
        # A shuffle before the first turn tells nothing.
        if self.active is not None:
            pile = tuple(sorted(self.discards.elements()))
            assert values == (len(pile),)
            self.turn_into(lambda world: [] if world.pile else [(world._replace(pile=pile), 1)])
            self.discards.clear()
            self.reshuffles += 1

    def chance(self, world, card):
        """The probability that the next card is this one. Set-ups replace purple cards."""
        able = [card for card in world.pile if self.active is not None or not is_purple(card)]
        return able.count(card) / len(able)

    def see_drawn(self, mine, values):
        for card in values:
            self.turn_into(
                lambda world, card=card: (
                    [(world.take(card), self.chance(world, card))] if card in world.pile else []
                )
            )

    def see_drawn_hidden(self, mine, values):
        for _ in range(values[0]):
            self.turn_into(
                lambda world: [
                    (world.take(card).gain(card), self.chance(world, card))
                    for card in set(world.pile)
                ]
            )

    def see_cards_set_up_hidden(self, mine, values):
        def share_out(world):
            orders = set(itertools.permutations(world.hand))
            for a, b, c, d, keep in orders:
                kept = (*world.kept, keep)
                after = world._replace(hand=(), kept=kept).place(0, a, b).place(1, c, d)
                if len(kept) == self.game.ruleset["set_ups"]:
                    after = after._replace(hand=tuple(sorted(kept)), kept=())
                yield after, 1 / len(orders)

        self.turn_into(share_out)

    def see_turn_started(self, mine, values):
        self.active = self.seat if mine else 1 - self.seat
        self.strengthened = False

    # Cards that are revealed

    def require_top(self, structure, card):
        top = self.tops[structure]
        self.require(lambda world: world.structures[structure][top] == card)

    def see_revealed(self, mine, values):
        if not mine:
            self.require_top(*values[:2])

    def see_destroyed(self, mine, values):
        structure, card = values
        self.discards[card] += 1
        if structure == 2:
            self.permanents[self.seat if mine else 1 - self.seat][card] -= 1
        elif not mine:
            self.require_top(structure, card)
            self.tops[structure] += 1

    def see_looked(self, mine, values):
        for structure, card in enumerate(values):
            if card:
                self.require_top(structure, card)

    def see_hand_shown(self, mine, values):
        if not mine:
            self.require(lambda world: world.hand == tuple(sorted(values)))


def world_of(fields, seat):
    """The world of a position with these fields, as hidden from a seat."""
    other = fields["own"][1 - seat]
    stacks = fields["stacks"][2 * (1 - seat) :][:2]
    return World(
        tuple(spread(other["hand"])),
        (other["kept"],) if other["kept"] else (),
        tuple(tuple(stack["cards"][: stack["count"]]) for stack in stacks),
        tuple(sorted(fields["draw_pile"][: fields["common"]["draw_size"]])),
    )
