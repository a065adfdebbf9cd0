"""What the choices of a model tell of hands in PowerShot Soccer."""

import math
import random
from collections import Counter, defaultdict
from functools import cache
from itertools import combinations, islice

import pytest

from engine import games
from engine.model import Model
from engine.position import Position
from engine.sampler import Sampler
from tests.games import spread
from tests.games.powershot_soccer import ROLES, read_card_list
from tests.support.chi_squared import p_of_distribution
from tests.support.long_form import LONG_FORM
from tests.support.models import likelihoods, random_model, shared
from tests.support.play import note_on_failure

UNIFORM = 0.1
ATTACK, DEFEND = 1, 2
SMALL = (
    4,
    "PASS 1, PASS 5, DRIBBLE 3, DRIBBLE 7, CROSS 4, SHOOT 2, SHOOT 6, SAVE 3, SAVE 7, TACKLE 2,"
    "TACKLE 6, INTERCEPT 4, STAR_PLAYER 8",
)


def small_game():
    hand_size, cards = SMALL
    return games()["powershot_soccer"]({"hand_size": hand_size, "cards": read_card_list(cards)})


def positions(game, seed, choose=None):
    """Yield the positions of a match that is random, or played by `choose`."""
    chance = random.Random(seed)
    position = Position.deal(game, seed)
    while not position.over:
        yield position
        seat = position.deciders[0]
        action = choose(position, seat, chance) if choose else chance.choice(position.legal(seat))
        position.apply({seat: action}, chance.getrandbits(64))


def as_the_model_plays(model):
    def choose(position, seat, chance):
        likely = likelihoods(position, seat, model)
        return chance.choices(list(likely), list(likely.values()))[0]

    return choose


def hand_after_one_choice(position, other, model):
    """The exact chance of each hand of a seat that has made one choice and drawn a card.

    The card that it drew is any of its hand, and what it had before is the rest and the card that
    it played.
    """
    game, fields = position.game, position.fields
    common = fields["common"]
    [played] = [p for p in common["plays"][: common["play_count"]] if p["seat"] == other]
    plays = common["plays"][: common["play_count"]]
    shown = {pair[other] for pair in common["kick_off_cards"][: common["kick_offs"]]}
    unseen = [card for card in range(len(game.ruleset["cards"])) if card != played["card"]]
    hand_size = game.ruleset["hand_size"]
    found = defaultdict(float)
    action = played["card"] << 4 | played["role"]

    @cache
    def chances_before(had):
        return likelihoods(position_before(position, other, plays, had), other, model)

    for hand in combinations(unseen, hand_size):
        for drawn in hand:
            had = tuple(sorted({*hand, played["card"]} - {drawn}))
            if shown & set(had):
                continue
            likely = chances_before(had)
            assert action in likely
            # As for the sampler, every hand has as many choices as cards.
            chance = (1 - UNIFORM) * likely[action] / sum(likely.values())
            found[hand] += UNIFORM / hand_size + chance
    return shared(found)


def position_before(position, seat, plays, hand):
    """The position at the first choice of a seat, if it held a hand."""
    fields = position.fields
    common = fields["common"]
    at = next(i for i, play in enumerate(plays) if play["seat"] == seat)
    own = fields["own"][seat]
    own["hand"] = [int(card in hand) for card in range(len(own["hand"]))]
    none = {"seat": 0, "card": 0, "role": 0, "outcome": 0}
    common["plays"] = plays[:at] + [none] * (len(common["plays"]) - at)
    answers = at and ROLES[plays[at - 1]["role"]] != "give_up"
    common["play_count"] = at
    common["standing"] = 0
    common["phase"] = DEFEND if answers else ATTACK
    common["possession"] = 1 - seat if answers else seat
    return Position.from_fields(position.game, fields)


def test_hands_after_one_choice_are_nearly_in_proportion():
    game = small_game()
    cards = len(game.ruleset["cards"])
    farther, nearer, tested = 0.0, 0.0, 0
    for seed in range(16 if LONG_FORM else 8):
        with note_on_failure(seed=seed):
            model = random_model(game, seed, most=1_000)
            position = next(islice(positions(game, seed), 2, None))
            common = position.fields["common"]
            movers = Counter(play["seat"] for play in common["plays"][:2])
            if common["half"] != 1 or len(movers) != 2:
                continue
            for seat in range(2):
                exact = hand_after_one_choice(position, 1 - seat, model)
                chances = [0.0] * cards
                for hand, chance in exact.items():
                    for card in hand:
                        chances[card] += chance
                for used, total in ((None, "farther"), (model, "nearer")):
                    beliefs = Sampler.of(position.view(seat), used).beliefs(20_000, seed)
                    held = dict.fromkeys(range(cards), 0.0)
                    for each in beliefs.cards:
                        if each.place == "opponent_hand":
                            held[each.card] = each.probability
                    off = sum(abs(held[card] - chances[card]) for card in range(cards))
                    if total == "nearer":
                        nearer += off
                    else:
                        farther += off
                tested += 1
    assert tested >= 5
    assert nearer < 0.4 * farther, (nearer / tested, farther / tested)


def test_hands_are_told_better_from_the_choices_of_the_model():
    # The log loss of the cards in the opponent's hand, in matches that are played by the model.
    game = games()["powershot_soccer"]()
    model = random_model(game, 4, most=2_000)
    gains = []
    for seed in range(4):
        with note_on_failure(seed=seed):
            for ply, position in enumerate(positions(game, seed, as_the_model_plays(model))):
                if ply % 9 != 8:
                    continue
                seat = position.deciders[0]
                truth = position.hidden(seat)["opponent_hand"]
                losses = []
                for used in (None, model):
                    beliefs = Sampler.of(position.view(seat), used).beliefs(600, seed)
                    held = {
                        each.card: each.probability
                        for each in beliefs.cards
                        if each.place == "opponent_hand"
                    }
                    losses.append(0.0)
                    for card, copies in enumerate(truth):
                        chance = (600 * held.get(card, 0.0) + 0.5) / 601
                        losses[-1] -= math.log(chance if copies else 1 - chance)
                gains.append(losses[0] - losses[1])
    mean = sum(gains) / len(gains)
    error = math.sqrt(sum((gain - mean) ** 2 for gain in gains)) / len(gains)
    assert len(gains) > 50
    assert mean > 4 * error and mean > 0.5, (mean, error)


def test_all_worlds_of_a_view_have_the_probability_that_they_are_drawn_with():
    game = small_game()
    several = 0
    for seed in range(6 if LONG_FORM else 3):
        model = random_model(game, seed, most=2_000)
        with note_on_failure(seed=seed):
            for position in positions(game, seed):
                seat = position.deciders[0]
                sampler = Sampler.of(position.view(seat), model)
                worlds = sampler.worlds(2_000)
                if worlds is None:
                    continue
                expected = defaultdict(float)
                for world, chance in worlds.items():
                    expected[tuple(spread(world.fields["own"][1 - seat]["hand"]))] += chance
                if len(expected) == 1:
                    continue
                drawn = Counter(
                    tuple(spread(sampler.sample(draw).fields["own"][1 - seat]["hand"]))
                    for draw in range(30 * len(expected))
                )
                assert drawn.keys() <= expected.keys()
                assert p_of_distribution(drawn, expected) > 1e-5
                several += 1
    assert several > 10


def test_beliefs_change_the_exact_proportions_of_nothing_but_choices():
    # With weights of 0, every card is as likely to be played as any other.
    game = small_game()
    even = random_model(game, 0, most=500)
    weights = {kind: dict.fromkeys(named, 0) for kind, named in even.weights.items()}
    model = Model(game, weights, even.uses, net=even.net)
    for seed in range(4):
        with note_on_failure(seed=seed):
            for position in positions(game, seed):
                seat = position.deciders[0]
                one = Sampler.of(position.view(seat), model)
                other = Sampler.of(position.view(seat))
                held = [
                    {
                        each.card: each.probability
                        for each in sampler.beliefs(2_000, seed).cards
                        if each.place == "opponent_hand"
                    }
                    for sampler in (one, other)
                ]
                for card in held[0].keys() | held[1].keys():
                    assert held[0].get(card, 0) == pytest.approx(held[1].get(card, 0), abs=0.12)
