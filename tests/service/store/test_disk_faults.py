"""What players see when the disk of a server fails: a refusal that says so, nothing lost, and
nothing done that was not asked for again. The server recovers by itself when the disk does."""

import errno
from contextlib import suppress

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.support.faulty_disk import (
    ALWAYS,
    EVERY_FILE,
    HALF,
    MAIN,
    READ,
    SYNC,
    WAL,
    WRITE,
    FaultyDisk,
)
from tests.support.play import seeded
from tests.support.server_process import ServerProcess
from tests.support.serving import TIMEOUT, bot, play_on, read_error, refused, ruleset_of

GAME = "skystones"
FULL = (grpc.StatusCode.RESOURCE_EXHAUSTED, "STORE_FULL")
UNAVAILABLE = (grpc.StatusCode.UNAVAILABLE, "STORE_UNAVAILABLE")
TABLES = 8
ROUNDS = 15


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    return FaultyDisk(tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def server(disk):
    with ServerProcess("--data", str(disk.data), environment=disk.environment) as server:
        yield server
        disk.mend()
        server.stop()


def job(table, rng=None):
    """The player that is to decide at a table, and its request."""
    seat = table.spectator.view().deciders[0]
    player = table.players[seat]
    view = player.view()
    legal = rng.choice(view.legal_actions) if rng else view.legal_actions[0]
    return player, player.request(legal, view.version)


def is_refusal(refusal, expected):
    assert (refusal.code, refusal.reason) == expected
    assert refusal.retry_seconds > 0


def serves(client):
    request = health_pb2.HealthCheckRequest()
    status = health_pb2_grpc.HealthStub(client.channel).Check(request, timeout=TIMEOUT).status
    return status == health_pb2.HealthCheckResponse.SERVING


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param({"calls": WRITE, "error": errno.ENOSPC}, FULL, id="full"),
        pytest.param({"calls": WRITE, "error": errno.ENOSPC, "skip": 3}, FULL, id="soon full"),
        pytest.param({"calls": WRITE}, UNAVAILABLE, id="write"),
        pytest.param({"calls": WRITE, "error": errno.EROFS}, UNAVAILABLE, id="read-only"),
        pytest.param({"calls": SYNC}, UNAVAILABLE, id="sync"),
        pytest.param({"calls": SYNC, "error": errno.ENOSPC}, UNAVAILABLE, id="full at sync"),
        pytest.param({"calls": READ | WRITE | SYNC}, UNAVAILABLE, id="everything"),
    ],
)
def test_a_fault_is_reported_and_has_no_lasting_effect(server, disk, fault, expected):
    client = server.client
    table, other = client.create(ruleset_of(GAME)), client.create(ruleset_of(GAME))
    stream = table.spectator.watch()
    next(stream)
    player, request = job(table)
    views, of_others = table.views(), other.views()
    failures = server.metric('croupier_store_failures_total{kind="write"}')
    server.forget_log()

    disk.fail(**fault)
    for _ in range(2):
        is_refusal(refused(player.send, request), expected)
    is_refusal(refused(client.create, ruleset_of(GAME)), expected)
    assert other.views() == of_others
    if not fault["calls"] & READ:
        assert table.views() == views
        is_refusal(refused(player.resign), expected)
    assert serves(client)
    assert server.metric('croupier_store_failing{kind="write"}') == 1
    assert server.metric('croupier_store_failures_total{kind="write"}') >= failures + 3

    disk.mend()
    # No request is sent meanwhile.
    server.wait_for("the log is written again")
    assert server.log.count("the log cannot be written") == 1
    assert server.metric('croupier_store_failing{kind="write"}') == 0
    assert table.views() == views
    view = player.send(request)
    assert view.version == 1
    assert player.send(request) == view
    assert next(stream).version == 1
    for each in (table, other):
        play_on(each, seeded("after"))
    # The stream has shown every version once.
    assert [each.version for each in stream] == list(range(2, table.spectator.view().version + 1))


@pytest.mark.parametrize("calls", [READ, WRITE], ids=["reads", "writes"])
def test_a_half_done_call_is_completed_or_refused(server, disk, calls):
    table = server.client.create(ruleset_of(GAME))
    disk.fail(calls, what=HALF)
    player, request = job(table)
    try:
        assert player.send(request).version == 1
    except grpc.RpcError as error:
        is_refusal(read_error(error), UNAVAILABLE)
    assert disk.failed or calls == READ
    disk.mend()
    assert player.send(request).version == 1


def test_bots_continue_when_the_disk_recovers(server, disk):
    server.forget_log()
    disk.fail(SYNC, WAL, skip=6)
    table = server.client.create(ruleset_of(GAME), [bot("BEGINNER"), bot("BEGINNER")])
    server.wait_for("the log cannot be written")
    view = table.spectator.view()
    assert view.deciders
    disk.mend()
    while view.deciders:
        view = table.spectator.wait_later(view.version + 1).result().view


class Diary:
    """The requests at a table, and what was answered."""

    def __init__(self, table):
        self.table = table
        self.version = 0
        self.last = None  # The player that sent the last request, and the request.

    def decide(self, rng):
        self.last = job(self.table, rng)

    def send(self):
        player, request = self.last
        return player.send_later(request)

    def answered(self, call):
        """Whether it was."""
        error = call.exception()
        if error is None:
            self.version += 1
            assert call.result().view.version == self.version
            return True
        refusal = read_error(error)
        assert (refusal.code, refusal.reason) in (FULL, UNAVAILABLE)
        assert refusal.retry_seconds > 0
        return False

    def repeat(self):
        """Sends the last request again until it is answered."""
        while not self.answered(self.send()):
            pass

    def move_to(self, client):
        for player in self.table.everyone():
            player.move_to(client)

    @property
    def over(self):
        return not self.table.spectator.view().deciders


def test_answered_actions_survive_faults_and_a_power_cut(tmp_path):
    disk, rng = FaultyDisk(tmp_path), seeded("power cut")
    server = ServerProcess("--data", str(disk.data), environment=disk.environment)
    try:
        diaries = [Diary(server.client.create(ruleset_of(GAME))) for _ in range(TABLES)]
        refusals = 0
        for _ in range(ROUNDS):
            running = [each for each in diaries if not each.over]
            for each in running:
                each.decide(rng)
            disk.fail(
                rng.choice([WRITE, SYNC, WRITE | SYNC, READ | WRITE | SYNC]),
                rng.choice([WAL, MAIN | WAL, EVERY_FILE]),
                rng.choice([errno.EIO, errno.ENOSPC]),
                skip=rng.randrange(12),
                times=rng.choice([1, 3, ALWAYS]),
            )
            calls = [each.send() for each in running]
            failed = [
                each for each, call in zip(running, calls, strict=True) if not each.answered(call)
            ]
            refusals += len(failed)
            disk.mend()
            for each in failed:
                # A player that did not retry finds nothing done, and may do something else.
                if rng.random() < 0.5:
                    each.repeat()
                assert each.table.spectator.view().version == each.version
        assert refusals > TABLES

        running = [each for each in diaries if not each.over]
        for each in running:
            each.decide(rng)
        disk.fail(SYNC)
        for each, call in [(each, each.send()) for each in running]:
            assert not each.answered(call)
        server.kill()
        disk.mend()
        for crashed in (True, False):
            if not crashed:
                disk.cut_power()
            server = ServerProcess("--data", str(disk.data), environment=disk.environment)
            for each in diaries:
                each.move_to(server.client)
                version = each.table.spectator.view().version
                # The answer to the last request was lost. A retry is answered.
                assert each.version <= version <= each.version + (crashed and each in running)
            if crashed:
                for each in running:
                    each.repeat()
                server.kill()
    finally:
        disk.mend()
        with suppress(ProcessLookupError):
            server.kill()
