"""Aspects of a hint: certain where they are certain, reasons that hold, and scores that stay."""

import math
from typing import ClassVar

import pytest

from ai import reasons
from ai.last_look import SHARE
from ai.results import Estimate, Parameters
from ai.search import search
from ai.worker import Rounds, Watched
from engine import games
from engine.aspects import CHANCE, Aspects
from engine.errors import RulesFault
from engine.position import Position
from tests.support.play import decisions, note_on_failure, random_joint, seeded
from tests.support.python_kuhn import PythonKuhn

GAMES = [game_id for game_id in games() if Aspects.of(games()[game_id]()).units]
LOOK = Parameters(last_look=SHARE, endings=False)


def without_aspects(result):
    """A result without all that aspects add to it."""
    actions = [each._replace(aspects={}) for each in result.actions]
    return result._replace(actions=actions, reasons=())


@pytest.mark.parametrize("game_id", GAMES)
def test_aspects_change_no_score_and_have_their_range(game_id):
    watched = 0
    units = Aspects.of(games()[game_id]()).units
    for number, (position, seat) in enumerate(decisions(game_id, 12, "aspects")):
        with note_on_failure(number=number):
            view = position.view(seat)
            found = search(view, iterations=1_000, seed=number, parameters=LOOK)
            plain = LOOK._replace(aspects=False)
            other = search(view, iterations=1_000, seed=number, parameters=plain)
            assert without_aspects(found) == other
            for each in found.actions:
                if each.aspects:
                    watched += 1
                    assert each.aspects.keys() == units.keys()
                for name, foretold in each.aspects.items():
                    assert foretold.mean >= 0
                    assert foretold.mean <= 1 or units[name] != CHANCE
                    assert 0 < foretold.deviation < 5
            chosen = found.actions[0]
            for reason in found.reasons:
                other = next(each for each in found.actions if each.action == reason.other)
                assert other.probability == 0
                assert reason.value == chosen.aspects[reason.aspect].mean
                assert reason.other_value == other.aspects[reason.aspect].mean
    assert watched > 12


def foretold(position, seat, **fields):
    """What a search foretells of an action with these fields, after enough rounds."""
    view = position.view(seat)
    result = search(view, iterations=4_000, seed=1, parameters=LOOK)
    means = [
        {name: estimate.mean for name, estimate in each.aspects.items()}
        for each in result.actions
        if each.aspects and fields.items() <= position.game.read_action(each.action).items()
    ]
    assert means, "the search has not looked at it"
    return means


def soccer(hand, **common):
    """HOME decides, with these cards in hand and a random draw pile."""
    game = games()["powershot_soccer"]()
    position = Position.deal(game, 3)
    fields = position.fields
    fields["common"] = {**fields["common"], "possession": 0, "first_kick_off": 0, **common}
    titles = [card["title"] for card in game.cards()]
    wanted = [titles.index(title) for title in hand]
    deck = list(fields["own"][0]["draw_pile"][: fields["common"]["draw_sizes"][0]])
    held = [card for card, n in enumerate(fields["own"][0]["hand"]) for _ in range(n)]
    left = held + deck
    for card in wanted:
        left.remove(card)
    counts = [0] * len(fields["own"][0]["hand"])
    for card in wanted:
        counts[card] += 1
    fields["own"][0]["hand"] = counts
    pile = list(fields["own"][0]["draw_pile"])
    pile[: len(left)] = left[: len(pile)]
    fields["own"][0]["draw_pile"] = pile
    return Position.from_fields(game, fields)


NOTHING_TO_ATTACK_WITH = [
    *("Tackle 1", "Tackle 2", "Tackle 3", "Intercept 1", "Intercept 2", "Intercept 3"),
    *("Save 1", "Save 2", "Save 3", "Save 4", "Save 5"),
]


def test_soccer_who_gives_the_ball_up_loses_it():
    for told in foretold(soccer(NOTHING_TO_ATTACK_WITH), 0, role=11):
        assert told == {"goal": 0, "conceded": 0, "ball_won": 0, "ball_lost": 1}


def kings(hand):
    """A Champion Chess of a King and a Queen for each seat, and nothing else."""
    game = games()["champion_chess"]()
    cards = [
        {**spec, "copies": int(number in hand)} for number, spec in enumerate(game.ruleset["cards"])
    ]
    return Position.deal(games()["champion_chess"]({"cards": cards}), 1)


def test_chess_a_king_without_aid_falls_whatever_meets_him():
    position = kings((0, 1))
    parameters = LOOK._replace(from_deal=False)
    result = search(position.view(0), iterations=4_000, seed=1, parameters=parameters)
    for each in result.actions:
        noble = position.game.read_action(each.action)["noble"]
        if noble == 0:
            assert each.aspects["own_king"].mean == 1
            assert each.aspects["challenge_won"].mean == 0
        assert each.aspects["next_won"].mean == 0
        assert each.aspects["own_king"].deviation < 0.05


def test_skystones_the_last_card_of_a_round_settles_its_chips():
    rng = seeded("last card")
    game = games()["skystones"]({"board_size": 2, "hand_size": 3})
    for _ in range(3):
        position = Position.deal(game, rng.getrandbits(60))
        while sum(square["card"] > 0 for square in position.fields["common"]["board"]) < 3:
            position.apply(random_joint(position, rng), rng.getrandbits(60))
        [seat] = position.deciders
        result = search(position.view(seat), iterations=2_000, seed=1, parameters=LOOK)
        assert sum(bool(each.aspects) for each in result.actions) > 1
        for each in result.actions:
            events = position.copy().apply({seat: each.action}, 1)
            [chips] = [event.values[2:4] for event in events if event.kind == "round_ended"]
            if each.aspects:
                assert each.aspects["chips"].mean == chips[seat]
                assert each.aspects["round_won"].mean == (chips[seat] > chips[1 - seat])
                assert each.aspects["card_taken"].mean == 0


def test_castle_nothing_of_theirs_falls_in_a_turn_that_is_ended():
    seen = 0
    for position, seat in decisions("castle_rampage", 40, "end"):
        if position.fields["common"]["phase"] != 2:
            continue
        result = search(position.view(seat), iterations=1_500, seed=1, parameters=LOOK)
        for each in result.actions:
            if position.game.read_action(each.action)["kind"] == "end_turn" and each.aspects:
                seen += 1
                assert each.aspects["their_castle"].mean == each.aspects["their_gate"].mean == 0
    assert seen > 3


# Packages


class WithAspects(PythonKuhn):
    id = "kuhn_with_aspects"
    aspects: ClassVar = {"called": "chance", "decisions": "amount"}

    def follow(self, begin, now, seat):
        taken = [decision for decision in now.decisions if decision]
        if self.deciders(now):
            return None
        return taken[-1] == 3, len(taken)


def test_a_package_in_python_has_them_by_one_method():
    position = Position.deal(WithAspects(), 1)
    parameters = LOOK._replace(from_deal=False)
    result = search(position.view(0), iterations=2_000, seed=1, parameters=parameters)
    told = {position.game.read_action(each.action)["kind"]: each.aspects for each in result.actions}
    # A bet ends with the answer; after a check, a bet of the other has one too.
    assert told["bet"]["decisions"].mean == 2
    assert 2 <= told["check"]["decisions"].mean <= 3
    assert 0 <= told["bet"]["called"].mean <= 1
    plain = parameters._replace(aspects=False)
    assert without_aspects(result) == search(
        position.view(0), iterations=2_000, seed=1, parameters=plain
    )


@pytest.mark.parametrize("fault", [lambda *_: 1 / 0, lambda *_: (1,)])
def test_a_fault_in_the_method_ends_the_search(monkeypatch, fault):
    monkeypatch.setattr(WithAspects, "follow", fault)
    position = Position.deal(WithAspects(), 1)
    with pytest.raises(RulesFault, match="failed in follow"):
        search(
            position.view(0),
            iterations=2_000,
            parameters=LOOK._replace(from_deal=False),
        )


def test_a_game_without_aspects_has_no_reasons():
    position = Position.deal(PythonKuhn(), 1)
    parameters = LOOK._replace(from_deal=False)
    result = search(position.view(0), iterations=2_000, seed=1, parameters=parameters)
    assert not result.reasons
    assert not any(each.aspects for each in result.actions)


# Reasons


def watched(rows):
    """The rounds of two actions, 1 and 2, given the (values, score) of each in turn."""
    seen = tuple(
        Watched(
            len(of),
            math.fsum(score for _, score in of),
            *(
                tuple(math.fsum(figure(values[i], score) for values, score in of) for i in range(2))
                for figure in (lambda v, _: v, lambda v, _: v * v, lambda v, score: v * score)
            ),
        )
        for of in zip(*rows, strict=True)
    )
    zeros = (0.0, 0.0)
    return [Rounds((1, 2), len(rows), zeros, zeros, (zeros, zeros), seen)]


def why(rows):
    stages = watched(rows)
    names = ("goal", "hand")
    own, other = (reasons.estimates(stages, names, action) for action in (1, 2))
    return [
        (each.aspect, each.value, each.other_value)
        for each in reasons.weigh(stages, names, own, other, 2)
    ]


def test_a_reason_is_what_differs_and_is_worth_something():
    # The goal makes the score; the hand differs as much and is worth nothing.
    rows = [
        (
            ((i % 4 > 0, i % 2), 0.2 + 0.6 * (i % 4 > 0)),
            ((i % 4 == 0, i % 2), 0.2 + 0.6 * (i % 4 == 0)),
        )
        for i in range(200)
    ]
    assert why(rows) == [("goal", 0.75, 0.25)]
    # It speaks for the other action.
    assert why([(second, first) for first, second in rows]) == []
    # After a few rounds the difference is within its noise.
    assert why(rows[:6]) == []
    # What is worth less comes second.
    rows = [
        tuple(
            ((goal, hand), 0.2 + 0.6 * goal + 0.05 * hand)
            for goal, hand in ((i % 4 > 0, 2 + i % 3), (i % 4 == 0, i % 3))
        )
        for i in range(240)
    ]
    assert [name for name, *_ in why(rows)] == ["goal", "hand"]


def test_an_estimate_is_a_mean_with_its_deviation():
    rows = [(((1, 5), 0.5), ((i % 2, i % 3), 0.5)) for i in range(600)]
    found = reasons.estimates(watched(rows), ("goal", "hand"), 2)
    assert found["goal"] == Estimate(0.5, pytest.approx(0.5 / 600**0.5, rel=0.01))
    assert found["hand"].mean == pytest.approx(1)
    # What was always seen is not certain after few rounds.
    few = reasons.estimates(watched(rows[:4]), ("goal", "hand"), 1)
    assert few["goal"].mean == 1 and few["goal"].deviation > 0.1
