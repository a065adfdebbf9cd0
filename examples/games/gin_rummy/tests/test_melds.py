"""Melding and laying off, against brute force."""

import random

from gin_rummy.rules.melds import deadwood_of

import gin_table as table


def hand(rng, size):
    """A hand that often has melds: cards of few ranks or of few suits."""
    low = rng.randrange(13)
    ranks = rng.sample(range(13), 13) if rng.random() < 0.3 else range(low, low + 5)
    some = [1 + 13 * suit + rank % 13 for suit in range(4) for rank in ranks]
    return rng.sample(some, min(size, len(some)))


def test_the_least_deadwood_of_any_hand():
    rng = random.Random(1)
    shared = 0
    for _ in range(3000):
        held = hand(rng, rng.randrange(1, 12))
        assert deadwood_of(held) == table.least_deadwood(frozenset(held)), table.text(held)
        shared += table.least_deadwood(frozenset(held)) > 0
    assert shared > 500


def test_hands_that_tempt():
    # The set of sevens, or the run through one of them.
    assert deadwood_of(table.cards("7C 7D 7H 8H 9H")) == 14
    assert deadwood_of(table.cards("7C 7D 7S 7H 8H 9H")) == 0
    # Two sets across three runs: the runs win.
    assert deadwood_of(table.cards("4C 5C 6C 4D 5D 6D 4H 5H 6H")) == 0
    assert deadwood_of(table.cards("4C 5C 6C 4D 5D 6D 4H 5H 6H KC")) == 10
    # The ace is low.
    assert deadwood_of(table.cards("QS KS AS")) == 21
    assert deadwood_of(table.cards("AS 2S 3S")) == 0
    # No run reaches into the next suit.
    assert deadwood_of(table.cards("QC KC AD 2D")) == 23


def test_knocks_against_brute_force():
    rng = random.Random(2)
    results = set()
    for _ in range(2_000):
        north = hand(rng, 11)
        rest = [n for n in range(1, 53) if n not in north]
        south = hand(rng, 16)
        south = [n for n in south if n in rest][:10]
        south += rng.sample([n for n in rest if n not in south], 10 - len(south))
        where = table.position(table.text(north), table.text(south))
        knocks = [a for a in where.legal(0) if where.game.read_action(a)["kind"] == "knock"]
        allowed = {card for card in north if table.least_deadwood(frozenset(north) - {card}) <= 10}
        assert {where.game.read_action(a)["card"] for a in knocks} == allowed
        if not knocks:
            continue
        action = rng.choice(knocks)
        kept = frozenset(north) - {where.game.read_action(action)["card"]}
        events = [event for event in where.apply({0: action}, 1) if event.recorded]
        shown = [frozenset(e.values) for e in events if (e.kind, e.seat) == ("melded", 0)]
        assert all(one in table.all_melds() and one <= kept for one in shown)
        own = table.least_deadwood(kept)
        assert own == table.values(kept) - sum(map(table.values, shown))
        gin = own == 0
        other = (
            table.least_deadwood(frozenset(south))
            if gin
            else table.least_after_laying_off(frozenset(south), shown)
        )
        result = 3 if gin else 2 if own < other else 4
        points = {2: other - own, 3: 25 + other, 4: 25 + own - other}[result]
        winner = 1 if result == 4 else 0
        assert events[-1].values == (result, points, own, other, winner), where.fields
        laid_off = any(event.kind == "laid_off" for event in events)
        results.add((result, laid_off))
    assert results == {(2, False), (2, True), (3, False), (4, False), (4, True)}
