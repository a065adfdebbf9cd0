"""Aspects are what the events of random matches say, up to the same horizon."""

import pytest

from engine import games
from engine.aspects import Aspects
from engine.position import Position
from tests.support.play import note_on_failure, random_joint, seeded

GOAL, LOST, STANDS, GIVE_UP = 4, 3, 1, 11  # Of PowerShot Soccer.


def powershot_soccer(events, seat, begin):
    """The end of the attack."""
    attacker = begin["possession"]
    mine = attacker == seat
    told = dict.fromkeys(("goal", "conceded", "ball_won", "ball_lost"), 0)
    for step in events:
        kinds = {each.kind: each for each in step}
        decided = kinds.get("exchange_decided")
        outcome = decided.values[0] if decided else None
        gave_up = kinds["played"].values[1] == GIVE_UP
        if outcome == GOAL:
            return {**told, "goal" if mine else "conceded": 1}
        if "half_ended" in kinds:
            return told
        if outcome == LOST or gave_up:
            return {**told, "ball_lost" if mine else "ball_won": 1}
        if outcome not in (None, STANDS):
            return told
    return None


def champion_chess(events, seat, begin):
    """Two challenges."""
    decided = [[each for each in step if each.kind == "challenge_decided"] for step in events]
    decided = [step for step in decided if step][:2]
    fallen = {each.seat for step in decided for each in step if each.values[:2] == (0, 0)}
    if len(decided) < 2 and not fallen:
        return None
    [won] = [each.values[1] for each in decided[0] if each.seat == seat]
    discards = begin["phase"] == 3
    return {
        "challenge_won": won * (not discards),
        "next_won": won * discards,
        "own_king": seat in fallen,
        "their_king": 1 - seat in fallen,
    }


def skystones(events, seat, begin):
    """The end of the round."""
    square, taken = None, False
    for step in events:
        for each in step:
            if each.kind == "placed":
                if square is None:
                    square = each.values[1]
                elif square in each.values[2:]:
                    taken = each.seat != seat
            if each.kind == "round_ended":
                chips = each.values[2:4]
                return {
                    "chips": chips[seat],
                    "round_won": chips[seat] > chips[1 - seat],
                    "card_taken": taken and begin["phase"] == 2,
                }
    return None


def castle_rampage(events, seat, begin):
    """This turn, and the next one."""
    if begin["phase"] == 1:
        return dict.fromkeys(("their_castle", "their_gate", "own_castle", "own_gate"), 0)
    fallen = dict.fromkeys(("their_castle", "their_gate", "own_castle", "own_gate"), 0)
    turns = 0
    for step in events:
        for each in step:
            structure = ("gate", "castle", None)[each.values[0]] if each.kind == "destroyed" else 0
            turns += each.kind == "turn_started"
            if structure and each.seat == seat:
                fallen[f"own_{structure}"] += 1
            elif structure and turns == 0:
                fallen[f"their_{structure}"] += 1
        if turns == 2:
            return fallen
    return fallen


ORACLES = (powershot_soccer, champion_chess, skystones, castle_rampage)


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda each: each.__name__)
def test_aspects_are_what_the_events_say(oracle):
    game = games()[oracle.__name__]()
    aspects = Aspects.of(game)
    rng = seeded("aspects", game.id)
    seen = {name: set() for name in aspects.units}
    for number in range(12):
        position = Position.deal(game, rng.getrandbits(60))
        positions, events = [position.copy()], []
        while not position.over and len(events) < 120:
            events.append(position.apply(random_joint(position, rng), rng.getrandbits(60)))
            positions.append(position.copy())
        for at, begin in enumerate(positions[:-1]):
            for seat in begin.deciders:
                fields = begin.fields
                told = oracle(events[at:], seat, fields.get("common", fields))
                with note_on_failure(number=number, at=at, seat=seat):
                    measured = aspects.measure(positions[at:], seat)
                    # A match that was cut off has no horizon.
                    if measured is not None:
                        assert measured == told
                        for name, value in measured.items():
                            seen[name].add(value)
    assert all(len(values) > 1 for values in seen.values()), seen


@pytest.mark.parametrize("game_id", games())
def test_every_match_reaches_the_horizon_and_has_a_phrase_for_it(game_id):
    game = games()[game_id]()
    aspects = Aspects.of(game)
    assert {f"aspect.{name}" for name in aspects.units} == {
        name for name in game.phrases if name.startswith("aspect.")
    }
    rng = seeded("horizon", game_id)
    position = Position.deal(game, rng.getrandbits(60))
    positions = [position.copy()]
    while not position.over:
        position.apply(random_joint(position, rng), rng.getrandbits(60))
        positions.append(position.copy())
    for at in (0, len(positions) // 2, len(positions) - 2):
        seat = positions[at].deciders[0]
        measured = aspects.measure(positions[at:], seat)
        assert measured is not None
        assert measured.keys() == aspects.units.keys()
        for name, value in measured.items():
            assert value in (0, 1) or aspects.units[name] == "amount"
            assert value >= 0
