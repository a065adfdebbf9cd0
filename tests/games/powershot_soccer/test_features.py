"""What is learned of PowerShot Soccer, compared with slow rules and sums of its own."""

import math
import random
import struct
from collections import Counter, defaultdict
from functools import cache
from itertools import combinations, islice

import pytest

from engine import games
from engine.features import SCALE, Features
from engine.model import Model
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from lab.chi_squared import p_of_distribution
from tests.games.powershot_soccer import ROLES, read_card_list, spread
from tests.support.long_form import LONG_FORM
from tests.support.models import random_model
from tests.support.play import note_on_failure

UNIFORM = 0.1
SHARPNESS = 3  # Of the playout policy.
ATTACK, DEFEND = 1, 2
DEFENCES = {"pass": "intercept", "dribble": "tackle", "shoot": "save"}
HIGH = 6
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


def described(position, action):
    """The kind of a decision, and the features of an action by their names but for zeros."""
    game, common = position.game, position.fields["common"]
    titles = [card["title"] for card in game.cards()]
    cards = game.ruleset["cards"]
    fields = game.read_action(action)
    card, role = fields["card"], ROLES[fields["role"]]
    own, power, title = ROLES[cards[card]["role"]], cards[card]["power"], titles[card]
    star = own == "star_player"
    standing = common["standing"]
    plays = common["plays"][: common["play_count"]]
    bonus_cards = ("cross", "fancy_footwork")
    if common["phase"] == ATTACK:
        kind = ("attack", "attack after 1", "attack after 2")[min(standing, 2)]
        bonus = standing and ROLES[cards[plays[-2]["card"]]["role"]] in bonus_cards
        if role == "give_up":
            return kind, {f"gives up with {title}": 1}
        if role != "shoot":
            found = {f"{title} as {role}": 1}
            if standing >= 2:
                found |= {"plays on after 3": standing >= 3, "plays on with bonus": bonus}
            return kind, found
        total = power + 2 * (standing - (1 if own == "long_range_shot" else 2)) + 2 * bool(bonus)
        found = {"power shot" if total > 8 else f"shot of {total}": 1}
        if standing >= 2:
            found |= {
                "long range": own == "long_range_shot",
                "star shoots": star,
                "power spent": power if total > 8 else 0,
            }
        return kind, found
    against = ROLES[plays[-1]["role"]]
    kind = "answer to a shot" if against == "shoot" else "answer"
    attacked = cards[plays[-1]["card"]]["power"]
    if against == "shoot":
        shooter = ROLES[cards[plays[-1]["card"]]["role"]]
        attacked += 2 * (standing - (1 if shooter == "long_range_shot" else 2))
        attacked += 2 * (ROLES[cards[plays[-3]["card"]]["role"]] in bonus_cards)
    if role != DEFENCES[against] or power < attacked or (against == "shoot" and attacked > 8):
        return kind, {f"throws away {title}": 1}
    when = {"after 1": standing == 1, "after 2": standing >= 2}
    if power == attacked:
        found = {"repels": 1, "repels: power": power}
        found |= {f"repels {name}": value for name, value in when.items()}
        return kind, found | ({"repels by star": star} if against != "shoot" else {})
    found = {"wins": 1, "wins: margin": power - attacked, "wins: power": power}
    found |= {"wins by star": star} | {f"wins {name}": value for name, value in when.items()}
    return kind, found | ({"wins a dribble": against == "dribble"} if against != "shoot" else {})


def likelihoods(position, seat, model, sharpness=1):
    """How likely each legal action is, in proportion, by the weights of a model."""
    found = {}
    for action in position.legal(seat):
        kind, features = described(position, action)
        weights = model.weights[kind]
        sum_of_weights = sum(weights[name] * n for name, n in features.items())
        found[action] = math.exp(sharpness * sum_of_weights / SCALE)
    return found


def shared(likely):
    whole = sum(likely.values())
    return {key: value / whole for key, value in likely.items()}


def as_the_model_plays(model):
    def choose(position, seat, chance):
        likely = likelihoods(position, seat, model)
        return chance.choices(list(likely), list(likely.values()))[0]

    return choose


def test_actions_are_described_as_a_slow_reader_does():
    game = games()["powershot_soccer"]()
    features = Features.of(game)
    kinds = Counter()
    for seed in range(12):
        with note_on_failure(seed=seed):
            for position in positions(game, seed):
                seat = position.deciders[0]
                kind, packed = features.rows(position, seat)
                names = features.decisions[kind]
                numbers = struct.unpack(f"{len(packed) // 2}h", packed)
                kinds[kind] += 1
                for i, action in enumerate(position.legal(seat)):
                    row = numbers[i * len(names) : (i + 1) * len(names)]
                    found = {n: value for n, value in zip(names, row, strict=True) if value}
                    slow_kind, slow = described(position, action)
                    assert kind == slow_kind
                    assert found == {name: int(value) for name, value in slow.items() if value}
    assert len(kinds) == 5 and min(kinds.values()) > 20, kinds


def test_the_policy_plays_with_the_probabilities_of_the_model():
    game = games()["powershot_soccer"]()
    model = random_model(game, 1)
    policy = PlayoutPolicy.of(game, model)
    chance = random.Random(3)
    tested = 0
    for seed in range(8):
        with note_on_failure(seed=seed):
            for position in positions(game, seed):
                if chance.random() > 0.05:
                    continue
                seat = position.deciders[0]
                drawn = Counter(policy.action(position, seat, draw) for draw in range(2_000))
                expected = shared(likelihoods(position, seat, model, SHARPNESS))
                assert p_of_distribution(drawn, expected) > 1e-6
                tested += 1
    assert tested > 30


@pytest.mark.parametrize("uses", [("playouts",), ("value",), ("playouts", "value")])
def test_playouts_are_play_by_the_model(uses):
    # The means of many playouts, and of as many matches that the policy plays on as far.
    game = games()["powershot_soccer"]()
    model = random_model(game, 5, uses=uses)
    policy = PlayoutPolicy.of(game, model)
    n = 4_000
    for seed, ply in ((0, 30), (1, 75), (2, 140)):
        with note_on_failure(seed=seed):
            position = next(islice(positions(game, seed), ply, None))
            fast, _ = policy.playouts(position, n, seed)
            total, squares = 0.0, 0.0
            for number in range(n):
                played = position.copy()
                end = policy.at(position) + policy.horizon
                chance = (seed + 1) << 40 | number << 8
                while not played.over and policy.at(played) < end:
                    seat = played.deciders[0]
                    chance += 2
                    played.apply({seat: policy.action(played, seat, chance)}, chance + 1)
                score = played.scores[0] if played.over else policy.score(played)[0]
                total += score
                squares += score * score
            mean = total / n
            error = math.sqrt(max(squares / n - mean * mean, 0) * 2 / n)
            assert abs(fast - mean) < 5 * error + 1e-9, (fast, mean, error)


def test_positions_are_described_as_the_seat_in_possession_sees_them():
    game = games()["powershot_soccer"]()
    features = Features.of(game)
    titles = [card["title"] for card in game.cards()]
    pending, attackers = Counter(), Counter()
    for seed in range(8):
        with note_on_failure(seed=seed):
            for position in positions(game, seed):
                if position.over:
                    break
                fields = position.fields
                common = fields["common"]
                own = common["possession"]
                expected = Counter()
                for side, seat in (("own", own), ("other", 1 - own)):
                    for card, n in enumerate(fields["own"][seat]["hand"][: len(titles)]):
                        expected[f"{side} hand: {titles[card]}"] += n
                    pile = fields["own"][seat]["draw_pile"][: common["draw_sizes"][seat]]
                    for card in pile:
                        expected[f"{side} draw pile: {titles[card]}"] += 1
                lead = common["goals"][own] - common["goals"][1 - own]
                left = min(sum(common["draw_sizes"]) // 8, 11)
                expected["lead"] = lead
                expected[f"lead {max(-3, min(lead, 3))}"] = 1
                expected[f"half {common['half']}, {4 * left} cards left"] = 1
                expected["standing"] = common["standing"]
                expected["may shoot"] = common["standing"] >= 2
                if common["phase"] == DEFEND:
                    answers = [described(position, a) for a in position.legal(position.deciders[0])]
                    can = any({"wins", "repels"} & names.keys() for _, names in answers)
                    what = "goal" if answers[0][0] == "answer to a shot" else "card"
                    name = f"{'unsure' if can else 'sure'} {what}"
                    pending[name] += 1
                    expected[name] = 1
                seat, packed = features.row(position)
                row = struct.unpack(f"{len(packed) // 2}h", packed)
                found = dict(zip(features.inputs, row, strict=True))
                assert seat == own
                assert {n: v for n, v in found.items() if v} == {
                    n: v for n, v in expected.items() if v
                }
                attackers[own] += 1
    assert len(pending) == 4 and len(attackers) == 2


def test_playouts_value_a_position_as_it_is_described():
    # A playout describes its own form of a position, and the estimate the position.
    game = games()["powershot_soccer"]()
    policy = PlayoutPolicy.of(game, random_model(game, 3, uses=("value",)))
    policy.horizon = 1
    seen = 0
    for seed in range(8):
        with note_on_failure(seed=seed):
            for position in positions(game, seed):
                if position.over or position.fields["common"]["play_count"] % 4 != 3:
                    continue
                seat = position.deciders[0]
                after = []
                for action in position.legal(seat):
                    after.append(position.copy())
                    after[-1].apply({seat: action}, 1)
                if any(each.over or each.fields["common"]["play_count"] == 0 for each in after):
                    continue
                assert policy.playouts(position, 1, seed) in [
                    pytest.approx(policy.score(each)) for each in after
                ]
                seen += 1
    assert seen > 30


# Beliefs


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
