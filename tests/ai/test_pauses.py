"""Pauses of a search: they change nothing of what it finds, and it ends all the same."""

import itertools
import random
import threading
import time

import pytest

from ai.last_look import SHARE
from ai.principal_lines import PrincipalLines
from ai.results import Parameters
from ai.search import Search, search
from ai.worker import Stop
from engine import games
from engine.match import Match
from engine.sampler import Sampler
from tests.support.play import note_on_failure

GAMES = sorted(games())
PAUSES = 200  # At most: on a busy machine each can take milliseconds.


def view_of(game_id, decisions=0):
    """The view of a seat that must decide, after some decisions."""
    match = Match(games()[game_id](), bytes(32))
    rng = random.Random(1)
    for _ in range(decisions):
        if match.deciders:
            seat = match.deciders[0]
            match.apply(seat, rng.choice(match.legal(seat)))
    return match.view(match.deciders[0])


def proven_view():
    """A view of an ending that can be proven, and what a search finds in it."""
    for seed in range(100):
        match, rng = Match(games()["skystones"](), bytes([seed] * 32)), random.Random(seed)
        while match.deciders:
            seat = match.deciders[0]
            if 1 < len(match.legal(seat)) < 6:
                result = search(match.view(seat), iterations=2000, seed=3)
                if result.stop_reason == "proven":
                    return match.view(seat), result
            match.apply(seat, rng.choice(match.legal(seat)))
    raise AssertionError


def findings(view, stop, **limits):
    """All that a search finds, with its last look and its lines."""
    one = Search(view, seed=3, parameters=Parameters(last_look=SHARE))
    one.run(stop=stop, **limits)
    lines = PrincipalLines(one)
    result = one.result()
    actions = [each.action for each in result.actions[:4]]
    return result, [lines.line(each) for each in actions]


class Paused(threading.Thread):
    """Pauses a search again and again, until it ends or was paused often enough."""

    def __init__(self, stop):
        super().__init__()
        self.stop, self.ended, self.pauses = stop, threading.Event(), 0

    def run(self):
        while not self.ended.is_set() and self.pauses < PAUSES:
            self.stop.pause()
            self.pauses += 1
            self.stop.hold(time.monotonic() + 1e-5)
            self.stop.resume()


@pytest.mark.parametrize("game_id", GAMES)
def test_a_search_that_is_paused_finds_the_same(game_id):
    view = view_of(game_id)
    stop = Stop()
    pausing = Paused(stop)
    pausing.start()
    try:
        found = findings(view, stop, iterations=1000)
    finally:
        pausing.ended.set()
        pausing.join()
    with note_on_failure(pauses=pausing.pauses):
        assert found == findings(view, Stop(), iterations=1000)


def test_a_proof_that_is_paused_for_longer_than_its_time_is_found():
    view, expected = proven_view()

    def found(seconds):
        # The proof may take half of the time of the search, which is paused for more than that.
        stop = Stop()
        stop.pause()
        one = Search(view, seed=3)
        limits = {"iterations": 2000, "seconds": seconds}
        running = threading.Thread(target=one.run, kwargs={"stop": stop, **limits})
        running.start()
        paused = Stop()
        paused.pause()
        paused.hold(time.monotonic() + 0.6 * seconds)
        stop.resume()
        running.join()
        return one.result()

    # As long as it takes on this machine.
    assert any(found(0.25 * 2**number) == expected for number in itertools.count())


def test_a_paused_search_ends_at_its_limit_of_time():
    stop = Stop()
    stop.pause()
    one = Search(view_of("powershot_soccer"), seed=1)
    one.run(seconds=0.05, stop=stop)
    assert one.stop_reason == "time"
    assert one.iterations <= 16


@pytest.mark.parametrize("threads", [1, 3])
def test_a_paused_search_can_be_stopped(threads):
    stop = Stop()
    stop.pause()
    assert stop.is_paused()
    one = Search(view_of("powershot_soccer"), seed=1, threads=threads)
    running = threading.Thread(target=one.run, kwargs={"stop": stop})
    running.start()
    stop.set()
    running.join()
    assert (one.stop_reason, one.iterations) == ("cancelled", 0)
    stop.pause()
    assert not stop.is_paused()  # It must end.
    assert stop.is_set()


@pytest.mark.parametrize("threads", [1, 3])
def test_all_threads_of_a_search_go_on_after_a_pause(threads):
    stop = Stop()
    stop.pause()
    one = Search(view_of("powershot_soccer"), seed=1, threads=threads)
    running = threading.Thread(target=one.run, kwargs={"stop": stop, "iterations": 300})
    running.start()
    for _ in range(PAUSES):
        stop.resume()
        stop.pause()
    stop.resume()
    running.join()
    assert (one.stop_reason, one.iterations) == ("iterations", 300)


def test_beliefs_rest_on_the_worlds_drawn_until_they_are_interrupted():
    sampler = Sampler.of(view_of("powershot_soccer"))
    asked = []

    def interrupted():
        asked.append(True)
        return len(asked) == 3

    beliefs = sampler.beliefs(100_000, 1, interrupted)
    assert beliefs.worlds == 3 * 64
    assert beliefs == sampler.beliefs(3 * 64, 1)
    assert sampler.beliefs(10, 1, lambda: True) == sampler.beliefs(10, 1)
