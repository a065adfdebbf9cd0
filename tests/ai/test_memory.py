"""The account of memory: never more is shared out than its bound, and all is given back."""

import gc
import threading
import time

import pytest

from ai.graphs import graphs
from ai.memory import account
from ai.results import Parameters
from ai.search import Search, search
from engine import games
from engine.position import Position
from service.searching.memory import Ask
from tests.support.play import decisions, seeded

MIB = 1 << 20
ENDLESS = Parameters(single_action=0, proven=0)


@pytest.fixture
def bound():
    """Sets the bound of an account that holds nothing; what it holds must be given back."""
    before = account.bound
    graphs.clear()
    gc.collect()
    assert account.held == 0

    def set_bound(size):
        account.bound = size

    yield set_bound
    graphs.clear()
    gc.collect()
    assert account.held == 0
    account.bound = before


def some_view(game_id="castle_rampage", seed=1):
    position = Position.deal(games()[game_id](), seed)
    return position.view(position.deciders[0])


def test_what_was_set_aside_is_there_and_no_more_than_the_limit(bound):
    bound(100)
    first = account.reserve(2, 30, 70, 1000)
    assert len(first) == 2
    assert account.held == 60
    assert account.reserve(1, 11, 70, 1000) is None
    assert account.held == 60
    second = account.reserve(1, 40, 100, 1000)
    assert account.held == 100
    assert account.reserve(1, 1, 1000, 1000) is None
    del second
    assert account.held == 60
    first.pop()
    assert account.held == 30


@pytest.mark.parametrize("seed", range(3))
def test_searches_beside_each_other_never_hold_more_than_the_bound(bound, seed):
    rng = seeded("account", seed)
    size = rng.randrange(4, 12) * MIB
    bound(size)
    views = [position.view(seat) for position, seat in decisions("champion_chess", 8, seed)]
    views += [some_view(game_id) for game_id in ("leduc_poker", "skystones", "powershot_soccer")]
    most, done = [0], threading.Event()

    def watch():
        while not done.is_set():
            most[0] = max(most[0], account.held)
            time.sleep(1e-4)

    def run(own):
        for _ in range(3):
            running = None
            if grants := account.reserve(1, own.randrange(MIB // 2, MIB), size, 8 * MIB):
                running = Search(own.choice(views), grants=grants, parameters=ENDLESS)
                running.run(iterations=own.randrange(1000, 30_000))
                assert running.result().iterations

    watching = threading.Thread(target=watch)
    threads = [threading.Thread(target=run, args=(seeded("account", seed, i),)) for i in range(4)]
    for thread in (watching, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    watching.join()
    assert MIB < most[0] <= size


def test_growing_leaves_a_part_to_what_begins(bound):
    bound(8 * MIB)
    large = Search(some_view(), parameters=ENDLESS)
    large.run(iterations=60_000)
    assert large.refused
    assert large.result().full
    assert large.iterations == 60_000
    assert 5 * MIB < account.held <= account.grow_bound == 6 * MIB
    assert account.reserve(1, 2 * MIB, account.bound, 2 * MIB)
    # When there is memory again, its trees grow again.
    before = large.result().nodes
    bound(64 * MIB)
    large.run(iterations=60_000)
    assert large.result().nodes > before


def test_a_share_is_all_that_a_search_uses(bound):
    bound(64 * MIB)
    grants = account.reserve(1, MIB, account.bound, 3 * MIB)
    running = Search(some_view(), grants=grants, parameters=ENDLESS)
    running.run(iterations=60_000)
    assert running.result().full
    assert not running.refused
    assert 2 * MIB < account.held <= 3 * MIB


@pytest.mark.parametrize("game_id", [g for g in games() if not games()[g].reference])
def test_what_is_set_aside_for_a_bot_is_enough(bound, game_id):
    # With nothing to grow by, the answer is the same: it depends on no other search.
    for position, seat in decisions(game_id, 4, "enough"):
        view = position.view(seat)
        for iterations in (20, 1000, 10_000):
            bound(64 * MIB)
            expected = search(view, iterations=iterations, seed=1, parameters=ENDLESS)
            ask = Ask.of(1, iterations, 4, 0.0)
            bound(ask.size)
            grants = account.reserve(1, ask.size, ask.size, ask.size)
            alone = Search(
                view, seed=1, max_iterations=iterations, parameters=ENDLESS, grants=grants
            )
            alone.run(iterations=iterations)
            assert alone.result() == expected
            assert not alone.refused
            del alone, grants


def test_a_game_is_searched_from_the_present_if_its_graph_finds_no_memory(bound):
    view = some_view("leduc_poker")
    bound(MIB)
    small = search(view, iterations=3000, seed=1)
    assert small == search(view, iterations=3000, seed=1, parameters=Parameters(from_deal=False))
    bound(64 * MIB)
    assert search(view, iterations=3000, seed=1) != small
    assert account.held > 0  # The graph is kept, and what was found in it.
    graphs.clear()
    gc.collect()
    assert account.held == 0


def test_a_search_that_is_found_as_garbage_gives_all_back(bound):
    running = Search(some_view(), parameters=ENDLESS)
    running.run(iterations=3000)
    running.itself = running
    del running
    assert account.held > 0
    gc.collect()
    assert account.held == 0


def test_a_search_without_memory_for_its_beginning_is_refused(bound):
    bound(1000)
    with pytest.raises(MemoryError):
        Search(some_view())
