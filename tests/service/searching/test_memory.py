"""The memory of searches: how much there is, who begins, who gives way, and what a server keeps."""

import asyncio
import gc
import os
import signal
import urllib.request
from types import SimpleNamespace

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

import wire
from ai.graphs import graphs
from ai.memory import account
from croupier.v1 import hint_pb2
from engine.match import Match
from service.observability.metrics import Metrics
from service.running import server as running_server
from service.searching import memory
from service.searching import processes as search_processes
from service.searching.hints import answer
from service.searching.memory import MIB, available, of_match_server
from service.searching.pool import Limits, SearchPool
from service.searching.search_servers import NoSearchServerError
from service.searching.searches import OwnThreads, Searches
from service.searching.tasks import Kind, Requester
from tests.support.play import seeded
from tests.support.ports import own_port
from tests.support.searching import task_of
from tests.support.serving import OPEN, bot, refused, ruleset_of
from tests.support.waiting import FOREVER, wait_until
from wire.errors import Refusal

LONG = Limits(seconds=60)
MACHINE = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(autouse=True)
def empty():
    """The account holds nothing but what a test does; its bound is as before in the end."""
    before = account.bound
    graphs.clear()
    gc.collect()
    yield
    account.bound = before


# How much there is


def system(root, groups, mounts, **limits):
    """Writes the files of a system: /proc/self/cgroup, the mounts, and limits by their paths."""
    process = root / "proc/self"
    process.mkdir(parents=True)
    (process / "cgroup").write_text("".join(f"{group}\n" for group in groups))
    lines = [f"30 20 0:27 {mount}\n" for mount in mounts]
    (process / "mountinfo").write_text("21 1 8:1 / / rw - ext4 /dev/sda rw\n" + "".join(lines))
    for path, limit in limits.items():
        file = root / "sys/fs/cgroup" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{limit}\n")
    return available(root)


V2 = "/ /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate"
V1 = "/ /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
CPU = "/ /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"
HUGE = 9223372036854771712


@pytest.mark.parametrize(
    ("groups", "mounts", "limits", "expected"),
    [
        (["0::/a/b"], [V2], {"a/b/memory.max": 512 * MIB}, 512 * MIB),
        (["0::/a/b"], [V2], {"a/b/memory.max": "max", "a/memory.max": 300 * MIB}, 300 * MIB),
        (["0::/a/b"], [V2], {"a/b/memory.max": 9 * MIB, "a/memory.max": 300 * MIB}, 9 * MIB),
        (["0::/a"], [V2], {"a/memory.max": "max"}, MACHINE),
        (["0::/"], [V2], {"memory.max": 77 * MIB}, 77 * MIB),  # A name space of its own.
        (["0::/"], [V2], {}, MACHINE),
        # A container without one sees its group at the root of what is mounted.
        (["0::/pod/x"], [V2.replace("/ ", "/pod/x ", 1)], {"memory.max": 44 * MIB}, 44 * MIB),
        (
            ["5:cpu,cpuacct:/c", "4:memory:/c/d", "0::/"],
            [CPU, V1],
            {
                "memory/c/d/memory.limit_in_bytes": HUGE,
                "memory/c/memory.limit_in_bytes": 88 * MIB,
                "cpu/c/memory.limit_in_bytes": 1,
            },
            88 * MIB,
        ),
        (["4:memory:/c"], [V1], {"memory/c/memory.limit_in_bytes": HUGE}, MACHINE),
        (["0::/"], [], {}, MACHINE),
    ],
)
def test_the_memory_is_that_of_the_machine_or_of_the_groups(
    tmp_path, groups, mounts, limits, expected
):
    assert system(tmp_path, groups, mounts, **limits) == expected


def test_a_system_without_control_groups_has_the_memory_of_the_machine(tmp_path):
    assert available(tmp_path) == MACHINE


@pytest.mark.parametrize("megabytes", [64, 256, 512, 1024, 2048, 65536])
@pytest.mark.parametrize("processes", [1, 2, 8])
def test_the_processes_of_a_server_share_what_there_is(monkeypatch, megabytes, processes):
    monkeypatch.setattr(memory, "available", lambda: megabytes * MIB)
    monkeypatch.setattr(memory, "OWN", 32 * MIB)
    own, each = of_match_server(0, processes, True)
    assert 0 < own <= 32 * MIB
    assert own + processes * each <= max(16, megabytes - 256) * MIB
    assert of_match_server(0, 0, False)[0] >= own + each
    chosen = of_match_server(100 * MIB, processes, True)
    assert chosen[0] + processes * chosen[1] <= 100 * MIB


# Who begins, and who gives way


def some_view(game_id="castle_rampage"):
    match = Match(wire.hosted_games()[game_id](), bytes(32))
    return match.view(match.deciders[0])


class Hosted:
    """A pool of hints, in which searches are asked for."""

    def __init__(self, bound, threads=2):
        account.bound = bound
        self.pool = SearchPool("hint", threads, Metrics(), leaves=memory.LEFT_TO_BOTS)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.pool.close()

    def ask(self, limits=LONG, owner="somebody", rank=0):
        task = task_of(some_view())._replace(limits=limits)

        async def outcome():
            with self.pool.search(limits, lambda job: answer(task, job), owner, rank) as found:
                return (await found).hint

        return asyncio.create_task(outcome())

    def started(self):
        return [job for job in self.pool._jobs.values() if job.started]


async def until(condition):
    while not condition():
        await asyncio.sleep(0.001)


async def test_a_search_waits_until_there_is_memory():
    async with Hosted(16 * MIB) as hosted:
        held = account.reserve(1, 16 * MIB, 16 * MIB, 16 * MIB)
        asked = hosted.ask(Limits(iterations=500))
        await asyncio.sleep(0)
        assert not hosted.started()
        assert not hosted.pool.has_room(LONG, 0)
        del held
        assert not hosted.pool.has_room(LONG, 0)  # One waits for it already.
        assert (await asked).iterations == 500
        assert hosted.pool.has_room(LONG, 0)
        await until(lambda: account.held == 0)


async def test_a_search_that_cannot_grow_gives_way_to_one_that_waits():
    async with Hosted(16 * MIB) as hosted:
        kept = account.reserve(1, 10 * MIB, 16 * MIB, 16 * MIB)
        first = hosted.ask(owner="first")
        await until(lambda: any(job._search and job._search.refused for job in hosted.started()))
        assert not first.done()  # It goes on in the nodes that it has, since nobody waits.
        # Bots may have the last of it, so for another hint nothing is left.
        kept += account.reserve(1, 16 * MIB - account.held, 16 * MIB, 16 * MIB)
        second = hosted.ask(Limits(iterations=10), owner="second")
        hint = await first
        assert (hint.stop_reason, hint.full) == (hint_pb2.STOP_REASON_MEMORY, True)
        assert hint.iterations > 0
        kept.clear()
        assert (await second).iterations == 10


async def test_a_search_with_a_limit_of_iterations_does_not_give_way():
    async with Hosted(16 * MIB) as hosted:
        kept = account.reserve(1, 10 * MIB, 16 * MIB, 16 * MIB)
        first = hosted.ask(Limits(iterations=100_000), owner="first")
        await until(lambda: any(job._search and job._search.refused for job in hosted.started()))
        kept += account.reserve(1, 16 * MIB - account.held, 16 * MIB, 16 * MIB)
        second = hosted.ask(Limits(iterations=10), owner="second")
        hint = await first
        assert (hint.stop_reason, hint.iterations) == (hint_pb2.STOP_REASON_ITERATIONS, 100_000)
        assert hint.full
        kept.clear()
        assert (await second).iterations == 10


@pytest.mark.parametrize("seed", range(2))
async def test_many_searches_hold_no_more_than_the_bound_and_give_all_back(seed):
    rng = seeded("many", seed)
    bound = rng.randrange(16, 40) * MIB
    async with Hosted(bound, rng.randrange(1, 4)) as hosted:
        asked = []
        for i in range(40):
            limits = rng.choice(
                (
                    Limits(iterations=rng.randrange(10, 20_000)),
                    Limits(seconds=rng.uniform(0.001, 0.3), threads=rng.randrange(1, 4)),
                    Limits(seconds=rng.uniform(1.1, 1.3)),
                )
            )
            asked.append(hosted.ask(limits, owner=i % 7, rank=rng.randrange(2)))
            if rng.random() < 0.2:
                rng.choice(asked).cancel()
        while not all(each.done() for each in asked):
            assert account.held <= bound
            await asyncio.sleep(0.001)
        hints = [each.result() for each in asked if not each.cancelled()]
        assert all(hint.iterations for hint in hints)
        await until(lambda: not hosted.pool._jobs)
        assert account.held == 0


async def test_what_search_servers_do_not_answer_goes_to_the_own_threads_only_with_memory():
    class Servers:
        async def reports(self, task):
            raise NoSearchServerError
            yield

    account.bound = 16 * MIB
    metrics = Metrics()
    pools = {kind: SearchPool(kind, 1, metrics) for kind in Kind}
    searches = Searches(OwnThreads(pools, metrics.tasks), Servers())
    task = task_of(some_view())._replace(limits=Limits(iterations=50))
    assert (await searches.report(task)).hint.iterations == 50
    held = account.reserve(1, 16 * MIB, 16 * MIB, 16 * MIB)
    with pytest.raises(Refusal) as refusal:
        await searches.report(task)
    assert "RetryInfo" in str(refusal.value.status)
    # Nobody would ask again for a bot: it waits.
    of_bot = asyncio.create_task(
        searches.report(task._replace(requester=Requester(Kind.BOT, "match"), details=False))
    )
    await asyncio.sleep(0.01)
    assert not of_bot.done()
    del held
    assert (await of_bot).hint.iterations == 50
    for pool in pools.values():
        pool.close()


# A server


@pytest.fixture
def small(start, monkeypatch):
    """A server with a search process and little memory, and a client."""
    monkeypatch.setattr(running_server, "READY_SECONDS", FOREVER)
    monkeypatch.setattr(search_processes, "TIMEOUT_SECONDS", FOREVER)
    port = own_port()
    server, client = start(
        search_processes=1, search_threads=2, search_memory=32 * MIB, metrics_port=port
    )
    return SimpleNamespace(server=server, client=client, port=port)


def test_a_server_with_little_memory_answers_all(small):
    seats = [small.client.create(ruleset_of("castle_rampage")).players[0] for _ in range(8)]
    limits = {"time": Duration(seconds=2)}
    calls = [seat.hint_later(limits=limits) for seat in seats]
    for call in calls:
        assert call.result().hint.iterations > 0

    def told(name):
        with urllib.request.urlopen(f"http://127.0.0.1:{small.port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return next(float(line.split()[-1]) for line in lines if line.startswith(f"{name}"))

    wait_until(lambda: told("croupier_search_memory_bytes") == 0)
    assert told("croupier_search_memory_limit_bytes") == 32 * MIB
    for kind in ("match", "search"):
        assert told(f'croupier_process_memory_bytes{{kind="{kind}"}}') > 16 * MIB


def test_hints_of_a_process_that_was_killed_do_not_fill_the_server(small):
    player = small.client.create(ruleset_of("castle_rampage")).players[0]
    own = account.reserve(1, account.bound, account.bound, account.bound)
    [pid] = small.server._search_processes.pids
    os.kill(pid, signal.SIGSTOP)
    call = player.hint_later(limits={"time": Duration(seconds=60)})
    wait_until(lambda: small.server._search_servers._calls)
    os.kill(pid, signal.SIGKILL)
    refusal = refused(call.result)
    assert (refusal.code, refusal.reason) == (
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "TOO_MANY_SEARCHES",
    )
    assert refusal.retry_seconds > 0
    del own
    # Matches go on, by the own threads or by a process that was started anew.
    table = small.client.create(ruleset_of("skystones"), [bot("CASUAL"), OPEN])
    assert table.spectator.wait_later(1).result().view.version >= 1
