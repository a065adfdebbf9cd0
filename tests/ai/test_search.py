"""The search: its properties in every game, and its answers to problems with known answers."""

import math
import os
import statistics
import subprocess
import sys
import threading
import time

import pytest

from ai.endings import Proof
from ai.results import Parameters
from ai.search import Search, search
from ai.worker import Stop
from engine import games
from engine.errors import ViewError
from engine.game import SeatView
from engine.model import nothing
from engine.position import Position
from tests.support.play import seeded

GAMES = list(games())
FROM_DEAL = ("kuhn_poker", "leduc_poker")  # Small enough by default.


def start(game_id, seed=1):
    """Return a new deal and the view of the first seat that must decide."""
    position = Position.deal(games()[game_id](), seed)
    return position, position.view(position.deciders[0])


@pytest.mark.parametrize("game_id", GAMES)
def test_a_seed_gives_the_same_answer(game_id):
    _, view = start(game_id)
    assert search(view, iterations=500, seed=5) == search(view, iterations=500, seed=5)
    results = [search(view, iterations=500, seed=seed) for seed in range(5, 25)]
    if game_id in FROM_DEAL:
        # A search from the deal does not depend on the seed. The seed only samples the action.
        assert all(result.actions == results[0].actions for result in results)
        assert len({result.action for result in results}) > 1
    else:
        assert results[0] != results[1]


def test_a_seed_gives_the_same_answer_in_another_process():
    program = (
        "from tests.ai.test_search import start, GAMES\n"
        "from ai.search import search\n"
        "print([search(start(g)[1], iterations=300, seed=9) for g in GAMES])\n"
    )
    expected = f"{[search(start(g)[1], iterations=300, seed=9) for g in GAMES]}\n"
    for _ in range(2):
        assert subprocess.check_output([sys.executable, "-c", program], text=True) == expected


@pytest.mark.parametrize("game_id", GAMES)
@pytest.mark.parametrize("threads", [1, 3])
def test_the_figures_of_a_result_fit_together(game_id, threads):
    position, view = start(game_id)
    result = search(view, iterations=1000, threads=threads, seed=2)
    assert result.iterations == 1000
    assert result.stop_reason == "iterations"
    assert sorted(one.action for one in result.actions) == list(position.legal(view.seat))
    assert sum(one.visits for one in result.actions) == 1000
    assert all(one.availability == 1000 for one in result.actions)
    assert sum(one.probability for one in result.actions) == pytest.approx(1)
    assert result.win + result.draw + result.loss == pytest.approx(1)
    assert all(0 <= one.expected_score <= 1 and one.deviation >= 0 for one in result.actions)
    assert 0 <= result.expected_score <= 1
    probabilities = [one.probability for one in result.actions]
    assert probabilities == sorted(probabilities, reverse=True)
    assert next(one for one in result.actions if one.action == result.action).probability > 0


def test_rounding_leads_no_score_out_of_its_range(monkeypatch):
    _, view = start(GAMES[0])
    above = math.nextafter(1, 2)
    scores = {one.action: above for one in search(view, iterations=1).actions}
    proof = Proof(tuple(scores), scores, above, above, 0.0)
    monkeypatch.setattr("ai.search.prove", lambda *given, **named: proof)
    result = search(view, iterations=1)
    assert {each.expected_score for each in (result, *result.actions)} == {result.win} == {1}


@pytest.mark.parametrize("game_id", GAMES)
def test_time_ends_a_search(game_id):
    _, view = start(game_id)
    result = search(view, seconds=0.02, seed=1)
    assert result.stop_reason == "time"
    assert result.iterations > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_a_search_can_be_stopped_at_any_time(threads):
    _, view = start("champion_chess")
    stop = Stop()
    one = Search(view, threads=threads, seed=1)
    running = threading.Thread(target=one.run, kwargs={"stop": stop})
    running.start()
    while running.is_alive() and not one.iterations:
        os.sched_yield()
    stop.set()
    running.join()
    result = one.result()
    assert result.stop_reason == "cancelled"
    assert result.iterations > 0

    again = search(view, iterations=1000, seed=1, stop=stop)
    assert (again.stop_reason, again.iterations) == ("cancelled", 0)
    assert sum(one.probability for one in again.actions) == pytest.approx(1)


def test_reports_take_at_most_a_tenth_of_a_search():
    position = Position.deal(games()["skystones"](), 1)
    running = Search(position.view(position.deciders[0]))
    reports = []

    def report():
        began = time.thread_time()
        while time.thread_time() < began + 0.02:
            running.result()
        reports.append(running.iterations)

    running.run(seconds=0.5, every=0.001, report=report)
    assert 1 <= len(reports) <= 4


def test_a_search_needs_a_limit_and_a_seat_that_decides():
    position, view = start("kuhn_poker")
    with pytest.raises(ValueError, match="limit"):
        search(view)
    with pytest.raises(ValueError, match="owes no decision"):
        search(position.view(1 - view.seat), iterations=10)
    with pytest.raises(ViewError, match="seat"):
        search(position.view(2), iterations=10)


def test_a_single_action_needs_no_long_search():
    game = games()["champion_chess"]()
    rng = seeded("single")
    position = Position.deal(game, 4)
    while all(len(position.legal(seat)) > 1 for seat in position.deciders):
        position.apply({s: rng.choice(position.legal(s)) for s in (0, 1)}, rng.getrandbits(60))
    seat = min(position.deciders, key=lambda seat: len(position.legal(seat)))
    result = search(position.view(seat), iterations=1_000_000, seed=1)
    assert result.stop_reason == "single_action"
    assert result.iterations < 1000
    (only,) = result.actions
    assert only.probability == 1
    assert only.visits == only.availability == result.iterations
    assert only.expected_score == pytest.approx(result.win + result.draw / 2, abs=0.1)
    assert only.expected_score == result.expected_score

    # A bot searches as long with one action as with many, so that its time gives nothing away.
    unlimited = Parameters(single_action=0)
    result = search(position.view(seat), iterations=1000, seed=1, parameters=unlimited)
    assert (result.stop_reason, result.iterations) == ("iterations", 1000)


def test_a_search_continues_without_memory():
    _, view = start("skystones")
    small = Parameters(memory=1 << 16)
    result = search(view, iterations=3000, seed=1, parameters=small)
    assert result.iterations == 3000
    assert result.nodes < 700
    assert result.nodes < search(view, iterations=3000, seed=1).nodes


def test_a_search_from_the_deal_that_does_not_fit_continues_from_the_present():
    _, view = start("leduc_poker")
    # Of the 2,042 nodes, of 1,024 bytes each, a half fits.
    small = Parameters(memory=1 << 20)
    result = search(view, iterations=3000, seed=1, parameters=small)
    assert result.iterations == 3000
    present = search(view, iterations=3000, seed=1, parameters=small._replace(from_deal=False))
    assert result == present
    assert result != search(view, iterations=3000, seed=1, parameters=Parameters(memory=1 << 21))
    timed = search(view, seconds=0.05, seed=1, threads=2, parameters=small)
    assert timed.stop_reason == "time"
    assert all(one.availability == timed.iterations for one in timed.actions)


@pytest.mark.parametrize("game_id", [g for g in GAMES if not games()[g].reference])
def test_the_search_beats_random_play(game_id):
    game = games()[game_id]()
    rng = seeded("beats", game_id)
    score = 0
    pairs = 12
    for pair in range(pairs):
        for seat in (0, 1):
            position = Position.deal(game, pair)
            while not position.over:
                joint = {s: rng.choice(position.legal(s)) for s in position.deciders}
                if seat in joint:
                    seed = rng.getrandbits(60)
                    joint[seat] = search(position.view(seat), iterations=150, seed=seed).action
                position.apply(joint, rng.getrandbits(60))
            score += position.scores[seat]
    assert score / (2 * pairs) > 0.7


# A position of Champion Chess in which one game of matching pennies follows another.
#
# Four nobles whose numbers make King beat Rook, Rook beat Bishop and Queen, Queen beat King, and
# Bishop and King capture each other. White holds King and Bishop, with the Queen in the deck; Black
# holds King and Rook, and every card is known. White's score, by champions:
#
#              Black King             Black Rook
#   King       both Kings fall: 1/2   Black is left with the King, whom the Queen beats: 1
#   Bishop     both fall: 1           White holds King and Queen, Black King and Rook: see below
#
#   King       both Kings fall: 1/2   Black is left with the King, whom the Queen beats: 1
#   Queen      the King falls: 1      the Queen falls, and then two Kings may meet: 1/2
#
# The lower game is worth 3/4 (each plays either at 1/2), so the upper one is [1/2 1; 1 3/4], and
# there both play the King at 1/3, and White scores 5/6.

KING, QUEEN, BISHOP, ROOK = range(4)
NUMBERS = {KING: (2, 6, 0), QUEEN: (4, 0, 4), BISHOP: (2, 0, 2), ROOK: (0, 2, 6)}


def counts(*cards):
    return [cards.count(card) for card in range(12)]


def pennies():
    cards = [
        {"card": card, "copies": 1, "movement": move, "attack": attack, "defend": defend}
        for card, (move, attack, defend) in NUMBERS.items()
    ]
    game = games()["champion_chess"]({"castling": False, "hand_size": 2, "cards": cards})
    fields = Position.deal(game, 1).fields

    def lay(seat, hand, deck, defeated):
        side = fields["side"][seat]
        side |= {"hand_size": len(hand), "deck_size": len(deck)}
        side |= {"reserve": counts(), "defeated": counts(*defeated)}
        side["memory"] |= {"hand": counts(*hand), "deck": counts(*deck)}
        fields["own"][seat]["hand"] = counts(*hand)
        fields["deck"][seat] = [*deck, *[0] * (80 - len(deck))]

    lay(0, (KING, BISHOP), (QUEEN,), (ROOK,))
    lay(1, (KING, ROOK), (), (QUEEN, BISHOP))
    return Position.from_fields(game, fields)


def test_regret_matching_goes_on_from_what_ucb1_has_found():
    def probabilities(seed, visits_each):
        position, view = start("champion_chess", seed)
        count = len(position.legal(view.seat))
        plain = nothing(position.game)
        found = search(view, iterations=count * visits_each, seed=3, model=plain)
        return sorted(each.probability for each in found.actions)

    before = games()["champion_chess"]().visits_before_mixing
    # One champion is better than the other, and half as many visits do not put that in question.
    assert probabilities(3, before)[-1] == 1
    assert probabilities(3, before + before // 2)[-1] > 0.9
    # The choice among three is a mixture, though no short search can say so.
    assert probabilities(2, before)[-1] == 1
    assert probabilities(2, 10 * before)[0] > 0


@pytest.mark.parametrize("seat, score", [(0, 5 / 6), (1, 1 / 6)])
def test_the_search_finds_the_mixture_in_matching_pennies(seat, score):
    position = pennies()
    view = position.view(seat)
    assert SeatView(position.game, bytes(view)) == view
    results = [search(view, iterations=40_000, seed=seed) for seed in range(8)]
    kings = [min(result.actions, key=lambda one: one.action).probability for result in results]
    assert statistics.mean(kings) == pytest.approx(1 / 3, abs=0.04)
    assert all(king == pytest.approx(1 / 3, abs=0.08) for king in kings), kings
    mean_score = statistics.mean(result.expected_score for result in results)
    assert mean_score == pytest.approx(score, abs=0.03)
