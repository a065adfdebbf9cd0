"""What is learned of Castle Rampage, compared with slow sums, deals and choices."""

import math
import struct
from collections import Counter

import pytest

from engine import games
from engine.features import SCALE, Features
from engine.model import Model
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from lab.chi_squared import p_of_distribution
from tests.games.castle_rampage.layout import (
    CATAPULT,
    GRANARY,
    NAMES,
    OGRE,
    PRIEST,
    SABOTEUR,
    read_cards,
)
from tests.support.models import positions, random_model
from tests.support.play import note_on_failure

KNIGHT, ARCHER, AXE_MAN, MERCENARY, VETERAN, DIGGER, BOMBER, SPY, JESTER, SUMMONER, VOLLEY = (
    read_cards("Knight Archer Axe_Man Mercenary Veteran Digger Bomber Spy Jester Summoner Volley")
)
DEAL = 5
UNIFORM = 0.1
SHARPNESS = 2  # Of the playout policy.
SET_UP, TURN = 1, 2  # Phases.
P = 1e-4  # Tests of chance fail with this probability.


def default_game():
    return games()["castle_rampage"]()


def titles():
    return [name.replace("_", " ").lower() for name in NAMES]


def model_with(game, named, uses):
    """A model of which all weights are 0 but those that are named, by kind, in units of 1."""
    weights = {
        kind: {name: round(SCALE * named.get(kind, {}).get(name, 0)) for name in names}
        for kind, names in Features.of(game).decisions.items()
    }
    return Model(game, weights, uses)


def rows_of(features, position, seat):
    kind, packed = features.rows(position, seat)
    width = len(features.decisions[kind])
    numbers = struct.unpack(f"{len(packed) // 2}h", packed)
    return kind, [numbers[i : i + width] for i in range(0, len(numbers), width)]


def standing(fields, seat, structure):
    stack = fields["stacks"][2 * seat + structure]
    cards = stack["cards"][stack["top"] : stack["count"]]
    return cards, stack["known"][stack["top"] : stack["count"]]


def described(position, seat, action):
    """The kind of a decision, and the features of an action by their names but for zeros."""
    game, fields, name = position.game, position.fields, titles()
    common = fields["common"]
    given = game.read_action(action)
    numbers = {spec["card"]: spec for spec in game.ruleset["cards"]}
    if common["phase"] == SET_UP:
        low, top = given["castle"][1], given["castle"][0]
        found = Counter([f"on gate {name[given['gate'][0]]}", f"castle {name[low]}"])
        found.update([f"castle {name[top]}", f"on castle {name[top]}"])
        return "set-up", found + Counter([f"keep {name[given['keep']]}"])
    hand, other = common["sides"][seat]["hand_size"], common["sides"][1 - seat]
    fresh = not common["strengthened"]
    own_gate, own_castle = (len(standing(fields, seat, i)[0]) for i in range(2))
    kind, card, choice = given["kind"], given.get("card", 0), given.get("choice", 0)
    if kind == "end_turn":
        return "turn", Counter({"end": 1, "end, not strengthened": fresh, "end, cards": hand})
    paid = [each for each in given["discards"] if each]
    found = Counter(f"{'unit' if card >= VOLLEY else 'pay'} {name[each]}" for each in paid)
    if kind == "strengthen":
        where = ("gate", "castle")[given["structure"]]
        found[f"{where} {name[card]}"] += 1
        return "turn", found + Counter(
            {
                "strengthen, cards": hand,
                f"{where}, gate cards": own_gate,
                f"{where}, castle cards": own_castle,
            }
        )
    found[f"play {name[card]}"] += 1
    found |= Counter({"play, not strengthened": fresh, "play, cards": hand})
    gate, castle = (standing(fields, 1 - seat, i) for i in range(2))
    extra = {
        PRIEST: {
            "priest, other hand": other["hand_size"],
            "priest, archers": choice == 2,
            "priest, axe men": choice == 3,
        },
        SABOTEUR: {"saboteur, granary": choice == GRANARY},
        BOMBER: {"bomber, gate cards": len(gate[0])},
        JESTER: {"jester, castle cards": own_castle, "jester, last card": own_castle == 1},
        SUMMONER: {
            "summoner, castle cards": own_castle,
            "summoner, other castle cards": len(castle[0]),
            "summoner, wins": len(castle[0]) == 1 and own_castle > 1,
            "summoner, loses": own_castle == 1,
        },
        ARCHER: {"archer, other hand": other["hand_size"]},
        MERCENARY: {"mercenary, paid": len(paid)},
    }.get(card, {})
    found |= Counter(extra)
    if not numbers[card]["attack"]:
        return "turn", found
    bonus = numbers[card]["bonus"] * (len(paid) if card == MERCENARY else choice)
    strength = numbers[card]["attack"] + bonus + common["sides"][seat]["catapults"]
    found |= Counter({"strength": strength, "bonus": card >= VOLLEY and choice})
    met, structure = (castle, "castle") if card == DIGGER or not gate[0] else (gate, "gate")
    if structure == "castle":
        found |= Counter(
            {
                "at castle": 1,
                "at castle, strength": strength,
                "at castle, cards": len(castle[0]),
                "at castle, last card": len(castle[0]) == 1,
            }
        )
    if met[1][0]:
        margin = strength - numbers[met[0][0]][structure]
        found |= Counter(
            {
                "beats": margin > 0,
                "beats, margin": max(0, margin),
                "equals": margin == 0,
                "stopped": margin < 0,
                "stopped, veteran": margin < 0 and card == VETERAN,
            }
        )
    return "turn", found


def test_actions_are_described_as_by_a_slow_reading_of_them():
    game = default_game()
    features = Features.of(game)
    seen = Counter()
    for seed in range(12):
        for position in positions(game, seed):
            for seat in position.deciders:
                if len(position.legal(seat)) < 2:
                    continue
                kind, rows = rows_of(features, position, seat)
                names = features.decisions[kind]
                for action, row in zip(position.legal(seat), rows, strict=True):
                    expected = described(position, seat, action)
                    found = {name: n for name, n in zip(names, row, strict=True) if n}
                    with note_on_failure(seed=seed):
                        assert (kind, found) == (expected[0], dict(+expected[1]))
                    seen.update(found)
    never = {
        name
        for names in features.decisions.values()
        for name in names
        if not seen[name] and not name.startswith(("gate ", "castle ", "pay ", "play "))
    }
    assert len(never) < 4, never


def test_the_start_of_a_turn_is_described_as_the_seat_to_move_sees_it():
    game = default_game()
    features, names = Features.of(game), titles()
    sides = {0: 0, 1: 0}
    for seed in range(6):
        for position in positions(game, seed):
            fields = position.fields
            common = fields["common"]
            expected = Counter()
            for side, seat in (("own", common["active"]), ("other", 1 - common["active"])):
                for card, n in enumerate(fields["own"][seat]["hand"]):
                    if card:
                        expected[f"{side} hand: {names[card]}"] += n
                for structure, title in enumerate(("gate", "castle")):
                    cards, _ = standing(fields, seat, structure)
                    for card in cards:
                        expected[f"{side} {title}: {names[card]}"] += 1
                    for card in cards[:1]:
                        expected[f"{side} {title}: {names[card]} on top"] += 1
                    expected[f"{side} {title}: cards"] += len(cards)
                    expected[f"{side} {title}: empty"] += not cards
                    expected[f"{side} {title}: one card"] += len(cards) == 1
                given = common["sides"][seat]
                expected[f"{side} catapults"] += given["catapults"]
                expected[f"{side} granaries"] += given["granaries"]
                expected[f"{side} hand size"] += given["hand_size"]
            seat, packed = features.row(position)
            row = struct.unpack(f"{len(packed) // 2}h", packed)
            found = dict(zip(features.inputs, row, strict=True))
            assert seat == common["active"]
            assert {n: v for n, v in found.items() if v} == {n: v for n, v in expected.items() if v}
            sides[seat] += 1
    assert min(sides.values()) > 50


def test_a_card_lies_where_set_ups_by_the_model_put_it():
    game = default_game()
    model = random_model(game, 5, most=2 * SCALE)
    weights = list(model.weights["set-up"].values())
    features = Features.of(game)
    put, dealt = Counter(), Counter()
    for seed in range(1500):
        position = Position.deal(game, seed)
        for seat in position.deciders:
            legal = position.legal(seat)
            if len(legal) < 2:
                continue
            _, rows = rows_of(features, position, seat)
            sums = [sum(a * b for a, b in zip(row, weights, strict=True)) / SCALE for row in rows]
            likely = [math.exp(each) for each in sums]
            for action, weight in zip(legal, likely, strict=True):
                given = game.read_action(action)
                cards = [*given["gate"], *given["castle"], given["keep"]]
                for place, card in enumerate(cards):
                    put[place, card] += weight / sum(likely)
            dealt.update(cards)
    found = list(model.features.place_weights().values())
    for (place, card), n in put.items():
        if dealt[card] < 300:
            continue
        share = n / dealt[card]
        noise = 5 * math.sqrt(share * (1 - share) * (1 / dealt[card] + 1 / 200)) + 0.01
        expected = (found[place][card] - UNIFORM) / (1 - UNIFORM) / DEAL
        assert expected == pytest.approx(share, abs=noise), (place, NAMES[card])


def a_view(game, seed, after=None):
    """The view of the seat that has the first turn, or of a turn after so many decisions."""
    n = 0
    for position in positions(game, seed):
        if position.fields["common"]["phase"] == TURN:
            n += 1
            if n > (after or 0):
                return position, position.view(position.deciders[0])
    return None, None


def test_the_card_on_a_gate_is_drawn_in_proportion():
    game = default_game()
    for seed in range(3):
        model = random_model(game, seed, most=2 * SCALE)
        position, view = a_view(game, seed)
        seat = position.deciders[0]
        fields = position.fields
        copies = {spec["card"]: spec["copies"] for spec in game.ruleset["cards"]}
        unseen = Counter(copies)
        for i in range(2):
            unseen.subtract(standing(fields, seat, i)[0])
        unseen.subtract(dict(enumerate(fields["own"][seat]["hand"])))
        likely = model.features.place_weights()["gate top"]
        expected = {
            card: n * likely[card] for card, n in unseen.items() if not OGRE <= card <= SPY and n
        }
        total = sum(expected.values())
        sampler = Sampler.of(view, model)
        seen = Counter(
            standing(sampler.sample(world).fields, 1 - seat, 0)[0][0] for world in range(3000)
        )
        p = p_of_distribution(seen, {card: n / total for card, n in expected.items()})
        assert p > P, seed


def chance_in_hand(view, model, card):
    """The expected copies of a card in the opponent's hand."""
    index = [spec["card"] for spec in view.game.ruleset["cards"]].index(card)
    beliefs = Sampler.of(view, model).beliefs(2000, 1).cards
    return sum(
        each.expected for each in beliefs if (each.place, each.card) == ("opponent_hand", index)
    )


def test_a_card_that_would_have_been_played_is_seldom_in_hand():
    game = default_game()
    eager = model_with(game, {"turn": {"play spy": 5, "play granary": 5}}, ("beliefs",))
    lazy = model_with(game, {"turn": {"play spy": -5, "play granary": -5}}, ("beliefs",))
    with_eager = with_lazy = n = 0
    for seed in range(30):
        _, view = a_view(game, seed, after=20)
        if view is None:
            continue
        n += 1
        for card in (SPY, GRANARY):
            with_eager += chance_in_hand(view, eager, card)
            with_lazy += chance_in_hand(view, lazy, card)
    assert n > 15
    assert with_eager < 0.75 * with_lazy


def test_a_card_that_goes_under_a_structure_is_often_there():
    game = default_game()
    fond = model_with(game, {"turn": {"gate catapult": 4, "castle priest": 4}}, ("beliefs",))
    weights = fond.features.place_weights()
    assert weights["under gate"][CATAPULT] > 5 > 1 > weights["under gate"][PRIEST]
    assert weights["under castle"][PRIEST] > 5 > 1 > weights["under castle"][CATAPULT]
    for seed in range(40):
        position, view = a_view(game, seed, after=20)
        if view is None:
            continue
        other = 1 - position.deciders[0]
        for structure, card in enumerate((CATAPULT, PRIEST)):
            stack = view.fields["stacks"][2 * other + structure]
            places = [i for i in range(4, stack["count"]) if stack["cards"][i] == 0]
            if not places:
                continue

            def share(model, places=places, card=card, at=2 * other + structure, view=view):
                sampler = Sampler.of(view, model)
                worlds = [sampler.sample(world).fields["stacks"][at] for world in range(400)]
                return sum(world["cards"][i] == card for world in worlds for i in places)

            assert share(fond) > 2 * share(None)
            return
    raise AssertionError


def test_the_policy_chooses_by_a_sharp_softmax():
    # Of hands of which no card costs others, where the policy leaves nothing to an order of cards.
    game = default_game()
    model = random_model(game, 7, most=SCALE)
    features, policy = Features.of(game), PlayoutPolicy.of(game, model)
    weights = list(model.weights["turn"].values())
    plain = {KNIGHT, ARCHER, AXE_MAN, SPY, 0}
    tested = 0
    for seed in range(200):
        for ply, position in enumerate(positions(game, seed)):
            fields = position.fields
            if fields["common"]["phase"] != TURN or ply % 2:
                continue
            seat = position.deciders[0]
            hand = fields["own"][seat]["hand"]
            legal = position.legal(seat)
            if len(legal) < 4 or not {i for i, n in enumerate(hand) if n} <= plain:
                continue
            _, rows = rows_of(features, position, seat)
            sums = [sum(a * b for a, b in zip(row, weights, strict=True)) / SCALE for row in rows]
            likely = [math.exp(SHARPNESS * (each - max(sums))) for each in sums]
            seen = Counter(policy.action(position, seat, n) for n in range(2000))
            for action, weight in zip(legal, likely, strict=True):
                share = weight / sum(likely)
                noise = 5 * math.sqrt(share * (1 - share) / 2000) + 0.015
                assert seen[action] / 2000 == pytest.approx(share, abs=noise), (seed, ply)
            tested += 1
            break
        if tested == 12:
            return
    raise AssertionError(tested)


def test_the_policy_sets_up_by_the_model():
    game = default_game()
    keen = model_with(game, {"set-up": {"keep granary": 9, "castle archer": 9}}, ("playouts",))
    policy = PlayoutPolicy.of(game, keen)
    kept = archers = 0
    for seed in range(400):
        position = Position.deal(game, seed)
        hand = position.fields["own"][0]["hand"]
        if hand[GRANARY] and hand[ARCHER]:
            given = game.read_action(policy.action(position, 0, seed))
            kept += given["keep"] == GRANARY
            archers += ARCHER in given["castle"]
    assert kept == archers > 5
