"""The fair queue by itself, in simulated time: shares, order, pauses, and what can be started."""

import itertools
import random

import pytest

from service.searching.fair_queue import (
    CHUNK_SECONDS,
    CREDIT_SECONDS,
    MAX_IDLE_ACCOUNTS,
    MIN_CHUNK,
    FairQueue,
    Place,
    Stage,
)
from tests.support.play import note_on_failure

ENDLESS = 1e6
TINY = 1e-9


class Simulation:
    """Searches in a queue, with a clock that jumps from event to event."""

    def __init__(self, threads, **options):
        self.queue = FairQueue(threads, **options)
        self.now = 0.0
        self.left = {}  # By place: the seconds that it has yet to run.
        self.came = {}
        self.began = {}
        self.ended = {}
        self.got = {}  # By owner: thread-seconds.
        self.at_end = {}  # By place: what happens when it ends.
        self.pauses = 0

    def add(self, owner, seconds, threads=1, rank=0, runs=None, at_end=None):
        """Adds a search that is expected to run for `seconds`, and does for `runs`."""
        place = Place(owner, threads, seconds, rank)
        self.left[place] = seconds if runs is None else runs
        self.came[place] = self.now
        self.at_end[place] = at_end
        if self.queue.add(place):
            self.schedule()
        return place

    def remove(self, place):
        """Takes a search away before it has ended."""
        self.queue.remove(place, self.now)
        del self.left[place]
        self.schedule()

    def schedule(self):
        changes = self.queue.schedule(self.now)
        assert not set(changes.pause) & set(changes.go_on)
        self.pauses += len(changes.pause)
        for place in changes.go_on:
            self.began.setdefault(place, self.now)
        running = self.running()
        assert sum(place.threads for place in running) <= self.queue.threads
        assert len(running) == self.queue.running
        started = [place for place in self.left if place.stage is not Stage.WAITING]
        assert self.queue.paused == len(started) - len(running)
        assert self.queue.waiting == len(self.left) - len(started)

    def running(self):
        return [place for place in self.left if place.stage is Stage.RUNNING]

    def run(self, until):
        """Lets time pass."""
        while self.now < until:
            running = self.running()
            times = [self.now + self.left[place] for place in running]
            change = self.queue.next_change()
            if change is not None:
                times.append(max(change, self.now) + TINY)
            step = min([*times, until]) - self.now
            self.now += step
            for place in running:
                self.left[place] -= step
                owned = self.got.get(place.owner, 0.0)
                self.got[place.owner] = owned + step * place.threads
            for place in [place for place in running if self.left[place] <= TINY / 2]:
                self.queue.remove(place, self.now)
                del self.left[place]
                self.ended[place] = self.now
                if self.at_end[place] is not None:
                    self.at_end[place]()
            self.schedule()

    def waited(self, place):
        return self.began[place] - self.came[place]

    def again_and_again(self, owner, seconds, **options):
        """Adds a search whenever the one before has ended; returns the list of all."""
        places = []

        def add():
            places.append(self.add(owner, seconds, **options, at_end=add))

        add()
        return places


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_owners_get_equal_shares_whatever_they_ask_for(threads):
    simulation = Simulation(threads)
    for _ in range(50):
        simulation.add("many", 60)
    simulation.add("wide", 60, threads=threads)
    for _ in range(threads):
        simulation.again_and_again("short", 0.1)
        simulation.again_and_again("tiny", 0.004)
    simulation.run(12)
    shares = {owner: got / simulation.now / threads for owner, got in simulation.got.items()}
    with note_on_failure(shares=shares):
        for share in shares.values():
            assert share == pytest.approx(1 / 4, abs=0.03)


def test_a_search_with_more_threads_pays_for_them():
    simulation = Simulation(2)
    wide = simulation.add("wide", 1.0, threads=2, runs=60)
    narrow = [simulation.add("narrow", 1.0, runs=60) for _ in range(2)]
    simulation.run(20)
    assert simulation.got["wide"] == pytest.approx(20, abs=1)
    assert simulation.got["narrow"] == pytest.approx(20, abs=1)
    # The wide search has run for half of the time, and each of the others as well.
    assert 60 - simulation.left[narrow[0]] == pytest.approx(10, abs=1)
    assert 60 - simulation.left[wide] == pytest.approx(10, abs=1)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("seconds", "wide"), [(0.1, 1), (60, 16), (300, 1)])
def test_500_searches_of_one_owner_hold_up_another_for_a_chunk_at_most(threads, seconds, wide):
    simulation = Simulation(threads)
    for _ in range(500):
        simulation.add("attacker", seconds, threads=min(wide, threads))
    simulation.run(3)
    others = simulation.again_and_again("other", 0.1)
    simulation.run(13)
    waits = [simulation.waited(place) for place in others if place in simulation.began]
    assert waits[0] == 0  # It has not searched before.
    assert max(waits) <= CHUNK_SECONDS + 0.001
    times = [simulation.ended[place] - simulation.came[place] for place in others[:-1]]
    assert max(times) < 4 * 0.1
    # Half of the threads that are used; a wide search leaves none to it, but it leaves one idle.
    used = {(1, 1): 5, (2, 1): 10, (1, 16): 5, (2, 16): 20 / 3}[threads, wide]
    assert simulation.got["other"] == pytest.approx(used, abs=0.6)


def test_an_owner_that_searches_now_and_then_is_served_at_once():
    simulation = Simulation(1)
    for _ in range(20):
        simulation.add("attacker", 60)
    for second in range(1, 20):
        simulation.run(5 * second)
        place = simulation.add("other", 0.1)
        simulation.run(5 * second + 1)
        assert simulation.waited(place) <= CHUNK_SECONDS + 0.001
        assert simulation.ended[place] - simulation.came[place] < 0.1 + 2 * CHUNK_SECONDS + 0.001


def test_nobody_saves_up_for_an_attack():
    simulation = Simulation(1)
    simulation.add("saver", 0.01)
    simulation.add("steady", ENDLESS)
    simulation.run(1000)
    before = simulation.got["saver"]
    for _ in range(10):
        simulation.add("saver", 60)
    simulation.run(1004)
    # Half of the four seconds, and its credit.
    assert simulation.got["saver"] - before <= 2 + CREDIT_SECONDS + CHUNK_SECONDS


def test_cancelling_and_sending_again_gains_nothing():
    simulation = Simulation(1)
    rng = random.Random(1)
    simulation.add("steady", ENDLESS)
    places = [simulation.add("attacker", 60) for _ in range(20)]
    for _ in range(2000):
        simulation.run(simulation.now + 0.01)
        places = [place for place in places if place in simulation.left]
        if places:
            place = rng.choice(places)
            places.remove(place)
            simulation.remove(place)
        places.append(simulation.add("attacker", rng.choice((0.001, 0.1, 60))))
    assert simulation.got["attacker"] <= simulation.now / 2 + CREDIT_SECONDS + CHUNK_SECONDS


def test_searches_cancelled_at_once_are_paid_for():
    simulation = Simulation(1)
    simulation.add("steady", ENDLESS)
    simulation.run(1)
    granted = 0
    for _ in range(10_000):
        place = simulation.add("attacker", 0.001)
        granted += place.stage is Stage.RUNNING
        simulation.remove(place)
    # At the price of 2 ms for each, until its credit is used up.
    assert granted == pytest.approx(CREDIT_SECONDS / 0.002, rel=0.1)


# Ranks


def test_a_lower_rank_goes_first_and_pauses_others_at_once():
    simulation = Simulation(1)
    for match in range(100):
        simulation.add(f"experts {match}", 0.3, rank=1)
    person = simulation.again_and_again("person", 0.004)
    simulation.run(2)
    assert all(simulation.waited(place) == 0 for place in person)
    assert set(simulation.got) == {"person"}


def test_persons_share_by_match():
    simulation = Simulation(1)
    for match in range(100):
        simulation.again_and_again(f"expert {match}", 0.3)
    simulation.run(10)
    casual = simulation.add("casual", 0.004)
    assert casual.stage is Stage.RUNNING
    assert simulation.running() == [casual]


# The searches of one owner


def test_equal_searches_of_one_owner_run_one_after_the_other():
    simulation = Simulation(1)
    places = [simulation.add("one", 1.0) for _ in range(5)]
    simulation.run(5.001)
    assert [round(simulation.ended[place], 3) for place in places] == [1, 2, 3, 4, 5]
    assert simulation.pauses == 0


def test_a_short_search_waits_for_a_chunk_of_a_long_one_of_its_owner():
    simulation = Simulation(1)
    simulation.add("one", 60)
    simulation.run(10)
    short = simulation.add("one", 0.1)
    simulation.run(11)
    assert simulation.waited(short) <= CHUNK_SECONDS + 0.001
    assert simulation.ended[short] <= 10.1 + CHUNK_SECONDS + 0.001


def test_a_wide_search_is_not_overtaken_for_ever():
    simulation = Simulation(2)
    for owner in range(3):
        simulation.again_and_again(owner, 0.3)
    wide = simulation.add("wide", 0.3, threads=2)
    simulation.run(10)
    assert simulation.ended[wide] < 2


# Room


def test_an_owner_starts_a_limited_number_of_searches():
    simulation = Simulation(2, max_started=3)
    rng = random.Random(1)
    for _ in range(300):
        simulation.run(simulation.now + 0.02)
        if len(simulation.left) < 40:
            simulation.add("one", rng.choice((0.05, 0.5)))
        started = [place for place in simulation.left if place.stage is not Stage.WAITING]
        assert len(started) <= 3


def test_a_short_search_starts_although_the_room_for_long_ones_is_full():
    simulation = Simulation(2)
    for owner in range(20):
        simulation.add(owner, 60, threads=2)
    simulation.run(20)
    long = [place for place in simulation.left if place.stage is not Stage.WAITING]
    assert sum(place.threads for place in long) == 4
    # Two searches that fill the room are of two owners: none may take it alone.
    assert len({place.owner for place in long}) == 2
    short = simulation.add("other", 1.0)
    assert short.stage is Stage.RUNNING


def test_a_search_that_is_not_admitted_asks_again_and_holds_up_nobody():
    simulation = Simulation(1)
    asked, answers = [], [False, False, True]

    def admit():
        asked.append(simulation.now)
        return answers.pop(0)

    simulation.left[refused := Place("one", 1, 0.5, 1, admit)] = 0.5
    simulation.at_end[refused] = None
    assert simulation.queue.add(refused)
    simulation.schedule()
    assert simulation.queue.unmet == 1
    assert simulation.add("other", 0.02).stage is Stage.RUNNING
    simulation.run(10)
    assert len(asked) == 3
    assert asked[1] > asked[0] == 0
    assert simulation.queue.unmet is None
    assert refused in simulation.ended


def test_one_owner_does_not_take_the_whole_room():
    simulation = Simulation(1)
    for _ in range(500):
        simulation.add("attacker", ENDLESS)
    simulation.run(10)
    first = simulation.add("other", 60)
    simulation.run(11)
    assert first.stage is not Stage.WAITING


def test_the_room_is_free_again_in_the_end():
    simulation = Simulation(3, max_started=5)
    rng = random.Random(2)
    for _ in range(2000):
        simulation.run(simulation.now + rng.expovariate(50))
        if rng.random() < 0.7:
            simulation.add(rng.randrange(5), rng.choice((0.01, 0.2, 2)), rng.choice((1, 2, 3)))
        elif simulation.left:
            simulation.remove(rng.choice(list(simulation.left)))
    simulation.run(simulation.now + 1e5)
    assert not simulation.left
    assert set(simulation.queue._used_room.values()) == {0}
    assert (simulation.queue.running, simulation.queue.paused, simulation.queue.waiting) == (0,) * 3
    assert simulation.queue.free == 3
    assert simulation.queue.next_change() is None


def test_owners_that_have_left_are_forgotten():
    simulation = Simulation(1)
    for owner in range(3 * MAX_IDLE_ACCOUNTS):
        simulation.add(owner, 0.001)
        simulation.run(simulation.now + 0.001)
    assert not simulation.left
    assert len(simulation.queue._idle) <= MAX_IDLE_ACCOUNTS
    assert not simulation.queue._accounts


def test_no_chunk_is_so_short_that_only_scheduling_goes_on():
    simulation = Simulation(1)
    for owner in range(3):
        simulation.add(owner, 1e-5, runs=1.0)
    schedules = itertools.count()
    schedule = simulation.queue.schedule

    def counting(now):
        next(schedules)
        return schedule(now)

    simulation.queue.schedule = counting
    simulation.run(10)
    assert not simulation.left
    assert next(schedules) < 3 / MIN_CHUNK
