"""The worlds that are drawn for a view: sound, complete and in proportion.

Besides the checks of the contract, the hands that are drawn are compared with their probabilities
as a naive program finds them: it deals every hand that the opponent can have been dealt, lets it
draw every card, and multiplies the chances of what it is seen to do.
"""

import collections
import itertools
import random

import pytest
from engine.errors import ViewError
from engine.game import SeatView
from engine.position import Position
from engine.sampler import Sampler
from gin_rummy.rules.rules import GinRummy
from lab import contract, contract_leaks
from lab.chi_squared import compare, upper_tail

import gin_table as table

RULESETS = {
    "default": {},
    "small": table.SMALL,
    "middle": table.MIDDLE,
    "gin only": {"knock_limit": 0},
    "high limit": {"knock_limit": 50},
    "long": {"target": 100, "ranks": 6, "hand_size": 5},
}
LONGEST = 5_000  # Twenty hands of a hundred turns.
DRAWN = 4_000
STOCK = 1


@pytest.mark.parametrize("ruleset", RULESETS.values(), ids=list(RULESETS))
def test_the_contract(ruleset):
    game = GinRummy(ruleset)
    seeds = range(5)

    def conserved(game, fields):
        held = [*map(table.members, fields["hands"])]
        common = fields["common"]
        everything = [*held[0], *held[1], *filter(None, fields["stock"] + common["pile"])]
        assert len(everything) == len(set(everything)) == len(game.cards())
        for seat in range(2):
            assert set(table.members(fields["known"][seat])) <= set(held[seat])

    contract.check_matches(game, seeds, LONGEST, conserved)
    contract.check_refusals(game, range(2))
    contract.check_actions(game, range(2))
    contract.check_sound(game, range(2), conserved=conserved)
    contract.check_drawn_over(game, seeds)
    contract.check_habits(game, seeds)


def test_proportions_of_simulated_matches():
    game = GinRummy(table.SMALL)
    contract_leaks.check_leaks(game, range(12))
    assert contract.check_proportion(game, 60_000, with_order) > 20


def with_order(game, position, seat):
    """The hand of the opponent, and the stock in its order."""
    fields = position.fields
    return fields["hands"][1 - seat], tuple(fields["stock"])


def posterior(game, view):
    """The probability of each hand of the opponent, when it chooses uniformly."""
    seat = view["seat"]
    turns = view["turns"][: view["turns_count"]]
    deck = {n for n in range(1, 53) if table.bits([n]) & game_deck(game)}
    pending = view["phase"] == 3 and view["to_play"] != seat
    # The cards that the viewer was dealt or has drawn from the stock: the opponent never was.
    own_hidden, taken, pile = set(), set(), [view["upcard"]]
    for turn in turns:
        top = pile.pop() if turn["source"] != STOCK else None
        if turn["seat"] == seat:
            taken.add(top)
            own_hidden |= {turn["card"]} - taken
            taken.discard(turn["card"])
        pile.append(turn["card"])
    own_hidden |= set(filter(None, view["hand"])) - taken - {view["taken"]}
    pool = deck - own_hidden - {view["upcard"]}
    found = collections.Counter()

    def play(hand, left, at, pile, weight):
        if at == len(turns):
            if not pending:
                found[frozenset(hand)] += weight
            elif view["taken"]:
                found[frozenset(hand | {pile[-1]})] += weight
            else:
                for card in left:
                    found[frozenset(hand | {card})] += weight / len(left)
            return
        turn = turns[at]
        drawn, rest = [None], pile
        if turn["source"] != STOCK:
            drawn, rest = [pile[-1]], pile[:-1]
        elif turn["seat"] != seat:
            drawn = left
        for card in drawn:
            if turn["seat"] == seat:
                play(hand, left, at + 1, (*rest, turn["card"]), weight)
                continue
            now = hand | {card}
            may = now if turn["source"] == STOCK else hand
            if turn["card"] not in may:
                continue
            knocks = sum(
                table.least_deadwood(frozenset(now - {each})) <= game.ruleset["knock_limit"]
                for each in may
            )
            chance = weight / (len(may) + knocks)
            unused = left
            if turn["source"] == STOCK:
                chance /= len(left)
                unused = left - {card}
            play(now - {turn["card"]}, unused, at + 1, (*rest, turn["card"]), chance)

    for dealt in itertools.combinations(sorted(pool), game.ruleset["hand_size"]):
        play(frozenset(dealt), pool - set(dealt), 0, (view["upcard"],), 1.0)
    total = sum(found.values())
    return {hand: weight / total for hand, weight in found.items()}


def game_deck(game):
    """The cards of the deck, as a set."""
    ruleset = game.ruleset
    return sum(
        1 << 16 * suit + rank
        for suit in range(ruleset["suits"])
        for rank in range(ruleset["ranks"])
    )


@pytest.mark.parametrize(
    "ruleset",
    [
        table.MIDDLE,
        {"ranks": 6, "suits": 2, "hand_size": 3, "knock_limit": 6},
        {"ranks": 9, "suits": 1, "hand_size": 2, "knock_limit": 8},
    ],
    ids=["sets", "runs", "no melds"],
)
def test_hands_are_drawn_by_their_probabilities(ruleset):
    game = GinRummy(ruleset)
    rng = random.Random(str(ruleset))
    tested, uneven, worst = 0, 0, 1.0
    for seed in itertools.count():
        position = Position.deal(game, seed)
        while not position.over:
            [seat] = position.deciders
            fields = position.view(rng.randrange(2)).fields
            past = sum(
                turn["seat"] != fields["seat"] for turn in fields["turns"][: fields["turns_count"]]
            )
            if past and rng.random() < 0.2:
                expected = posterior(game, fields)
                uneven += max(expected.values()) > 1.2 * min(expected.values())
                sampler = Sampler.of(SeatView.from_fields(game, fields))
                drawn = contract.count_worlds(sampler, DRAWN, rng, opponent)
                assert drawn.keys() <= expected.keys()
                exact = collections.Counter({world: p * 1e9 for world, p in expected.items()})
                worst = min(worst, upper_tail(*compare(drawn, exact)))
                tested += 1
            # A knock would end the hand, before its chance has mattered.
            quiet = [a for a in position.legal(seat) if game.read_action(a)["kind"] != "knock"]
            position.apply({seat: rng.choice(quiet)}, rng.getrandbits(64))
        if tested >= 60:
            break
    assert uneven > 20 and worst > 0.001 / tested


def opponent(game, position, seat):
    """The hand of the opponent."""
    return frozenset(table.members(position.fields["hands"][1 - seat]))


def test_a_view_that_contradicts_itself_is_refused():
    game = GinRummy()
    rng = random.Random(3)
    position = Position.deal(game, 3)
    for n in range(40):
        position.apply(contract.random_joint(position, rng), n)
    view = position.view(0).fields
    for lie in (
        {"dealer": 2},
        {"stock_size": view["stock_size"] - 1},
        {"hand": [*view["hand"][1:], 0]},
        {"hand": [view["pile"][0], *view["hand"][1:]]},
        {"upcard": view["hand"][0]},
        {"points": [1, 0]},
        {"deadwood": [0, 1]},
        {"result": 2},
        {"turns_count": view["turns_count"] - 1},
        {"pile": view["pile"][::-1]},
        {"hand_number": 2},
    ):
        with pytest.raises(ViewError):
            Sampler.of(SeatView.from_fields(game, view | lie))


def test_an_opponent_that_never_knocks_is_drawn_all_the_same():
    # It has taken ten cards that are gin, and could have knocked with each discard since.
    game = GinRummy()
    rng = random.Random(5)
    position = Position.deal(game, 5)
    while not position.over:
        [seat] = position.deciders
        view = position.view(seat)
        sampler = Sampler.of(view)
        for n in range(20):
            assert sampler.sample(n).view(seat) == view
        takes = [a for a in position.legal(seat) if game.read_action(a)["kind"] == "take_discard"]
        quiet = [a for a in position.legal(seat) if game.read_action(a)["kind"] != "knock"]
        best = {a: kept(game, position, seat, a) for a in quiet}
        choice = min(best, key=best.get) if not takes else rng.choice([takes[0], quiet[0]])
        position.apply({seat: choice}, rng.getrandbits(64))


def kept(game, position, seat, action):
    """The deadwood that a discard leaves."""
    hand = table.members(position.fields["hands"][seat])
    return table.least_deadwood(frozenset(hand) - {game.read_action(action).get("card")})
