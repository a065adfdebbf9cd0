"""Tests particular to Skystones: its characters, and forged views."""

import csv
from collections import Counter
from importlib.resources import files

import pytest

from engine import games
from engine.errors import ViewError
from engine.game import SeatView
from engine.match import Match
from engine.sampler import Sampler
from tests.games.skystones import EDGES
from tests.support.long_form import LONG_FORM
from tests.support.play import cases, game_of, note_on_failure, random_joint, random_secret, seeded

# The characters as the pages of the rule sheet print them, each row with its element.
TOTALS = """
FIRE 2 3 4  EARTH 1 3 2  ELECTRO 3 4 2  AIR 1 5 1  WATER 2 3 1
FIRE 2 3 5  EARTH 2 3 2  ELECTRO 5 4 2  AIR 2 5 1  WATER 3 6 3
FIRE 2 5 4  EARTH 5 6 4  ELECTRO 2 4 3  AIR 3 5 4  WATER 2 6 1
"""
CHANGES = 4


def test_the_characters_are_those_of_the_rule_sheet():
    with (files("games.skystones") / "cards.csv").open() as file:
        rows = list(csv.DictReader(file))
    words = TOTALS.split()
    expected = [(words[i], word) for i in range(0, len(words), 4) for word in words[i + 1 : i + 4]]
    assert [(row["element"], row["total"]) for row in rows] == expected
    assert all(int(row["total"]) == sum(int(row[edge]) for edge in EDGES) for row in rows)
    assert len({row["title"] for row in rows}) == len(rows) == 45


def test_the_catalog_shows_them():
    cards = games()["skystones"]().cards()
    assert Counter(card["kind"] for card in cards) == dict.fromkeys(
        ("Fire", "Earth", "Electro", "Water", "Air"), 9
    )
    for card in cards:
        numbers = card["numbers"]
        assert numbers["Total"] == sum(numbers[edge.capitalize()] for edge in EDGES)


def numbers_in(fields):
    """Every number in nested dicts and lists, as a container and its key."""
    for key in fields if isinstance(fields, dict) else range(len(fields)):
        if isinstance(fields[key], dict | list):
            yield from numbers_in(fields[key])
        else:
            yield fields, key


@pytest.mark.parametrize(
    ("game_id", "ruleset"), [case for case in cases("rulesets") if case.values[0] == "skystones"]
)
def test_a_view_that_was_tampered_with_is_refused_or_possible(game_id, ruleset):
    game, _ = game_of(game_id, ruleset)
    refused = taken = 0
    for seed in range(100 if LONG_FORM else 25):
        with note_on_failure(seed=seed):
            rng = seeded("tampered", ruleset, seed)
            match = Match(game, random_secret(rng))
            while not match.over:
                fields = match.view(seed % 2).fields
                placed = fields["common"]["placement_count"]
                del fields["common"]["placements"][placed + 1 :]
                places = list(numbers_in(fields))
                for container, key in rng.choices(places, k=rng.randrange(1, CHANGES)):
                    container[key] = max(0, container[key] + rng.choice((-2, -1, 1, 1, 2, 200)))
                nothing = dict.fromkeys(("round", "seat", "card", "square"), 0)
                fields["common"]["placements"] += [nothing] * (89 - placed)
                try:
                    view = SeatView.from_fields(game, fields)
                    sampler = Sampler.of(view)
                except ViewError:
                    refused += 1
                else:
                    taken += 1
                    for n in range(5):
                        assert sampler.sample(n).view(view.seat) == view
                for seat, action in random_joint(match.position, rng).items():
                    match.apply(seat, action)
    assert refused > taken > 0


def test_the_largest_rulesets_are_sampled_too():
    # With so many possible hands, the sampler does not weigh all hands of some rounds.
    chance = seeded("large")
    cards = [
        {"element": 1 + i % 5, "copies": 1 + (i < 29)}
        | {edge: chance.randrange(9) for edge in EDGES}
        for i in range(60)
    ]
    ruleset = {"board_size": 2, "special_fields": 4, "hand_limit": 99, "cards": cards}
    game = games()["skystones"](ruleset)
    totals = [card["numbers"]["Total"] for card in game.cards()]
    match = Match(game, random_secret(chance))
    while not match.over:
        common = match.position.fields["common"]
        if common["phase"] == 2 and common["round"] in (1, 8, 14, 17):
            for seat in (0, 1):
                view = match.view(seat)
                sampler = Sampler.of(view)
                for n in range(10 if LONG_FORM else 3):
                    world = sampler.sample(n)
                    assert world.view(seat) == view and world.legal(seat) == match.legal(seat)
                    hand = world.fields["hands"][1 - seat]
                    assert sum(totals[i] * count for i, count in enumerate(hand)) <= 99
        for seat, action in random_joint(match.position, chance).items():
            match.apply(seat, action)
    assert common["round"] > 10
