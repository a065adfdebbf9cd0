"""Players and a failing disk: a refusal reports the fault, and no answered action is lost.

A refused request has no effect unless it is repeated. The server recovers by itself when the disk
does.
"""

import errno
from contextlib import suppress

import grpc
import pytest

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
from tests.support.long_form import LONG_FORM
from tests.support.play import seeded
from tests.support.server_process import ServerProcess
from tests.support.serving import bot, play_on, read_error, refused, ruleset_of
from tests.support.store_faults import (
    FULL,
    GAME,
    UNAVAILABLE,
    check_refusal,
    is_serving,
    next_request,
)
from tests.support.waiting import wait_until

TABLES = 8
ROUNDS = 15 if LONG_FORM else 8
FAILURES = 'croupier_store_failures_total{kind="write"}'


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    return FaultyDisk(tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def server(disk):
    with ServerProcess("--data", str(disk.data), environment=disk.environment) as server:
        yield server
        disk.mend()
        server.stop()


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
    player, request = next_request(table)
    views, of_others = table.views(), other.views()
    failures = server.metric(FAILURES)
    server.forget_log()

    disk.fail(**fault)
    for _ in range(2):
        check_refusal(refused(player.send, request), expected)
    check_refusal(refused(client.create, ruleset_of(GAME)), expected)
    assert other.views() == of_others
    if not fault["calls"] & READ:
        assert table.views() == views
        check_refusal(refused(player.resign), expected)
    assert is_serving(client)
    assert server.metric('croupier_store_failing{kind="write"}') == 1
    assert server.metric(FAILURES) >= failures + 3

    disk.mend()
    # The server recovers without any request.
    server.wait_for("the log is written again")
    assert server.log.count("the log cannot be written") == 1
    assert server.metric('croupier_store_failing{kind="write"}') == 0
    assert table.views() == views
    view = player.send(request)
    assert view.version == 1
    assert player.send(request) == view
    assert next(stream).version == 1
    play_on(table, seeded("after"), most=3)
    player.resign()
    play_on(other, seeded("after"), most=3)
    # The stream has every version once.
    assert [each.version for each in stream] == list(range(2, table.spectator.view().version + 1))


@pytest.mark.parametrize("mended", [True, False], ids=["after the disk works", "before"])
def test_what_failed_commits_leave_is_not_taken_for_lost_ones_after_a_crash(mended, tmp_path):
    disk = FaultyDisk(tmp_path)
    with ServerProcess("--data", str(disk.data), environment=disk.environment) as server:
        table = server.client.create(ruleset_of(GAME))
        player, request = next_request(table)
        disk.fail(SYNC)
        # Each commit is shorter than the one before, and so leaves the end of that one.
        check_refusal(refused(server.client.create, ruleset_of(GAME)), UNAVAILABLE)
        check_refusal(refused(player.send, request), UNAVAILABLE)
        failures = server.metric(FAILURES)
        # The shortest one is that of the server itself, which tries the disk.
        wait_until(lambda: server.metric(FAILURES) > failures)
        if mended:
            disk.mend()
            server.wait_for("the log is written again")
        server.kill()
    with ServerProcess("--data", str(disk.data)) as server:
        server.wait_for("a commit that failed or was not written whole is left out")
        assert "damaged" not in server.log


@pytest.mark.parametrize("calls", [READ, WRITE], ids=["reads", "writes"])
def test_a_half_done_call_is_completed_or_refused(server, disk, calls):
    table = server.client.create(ruleset_of(GAME))
    disk.fail(calls, what=HALF)
    player, request = next_request(table)
    try:
        assert player.send(request).version == 1
    except grpc.RpcError as error:
        check_refusal(read_error(error), UNAVAILABLE)
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


class Requests:
    """The requests of the players of one match, and the version of the last answer."""

    def __init__(self, table):
        self.table = table
        self.version = 0
        self.last = None  # The player of the last request, and the request.

    def decide(self, rng):
        self.last = next_request(self.table, rng)

    def send(self):
        player, request = self.last
        return player.send_later(request)

    def answered(self, call):
        """Whether a call was answered. Otherwise its refusal must report the fault."""
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
        """Repeats the last request until it is answered."""
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
        all_requests = [Requests(server.client.create(ruleset_of(GAME))) for _ in range(TABLES)]
        refusals = 0
        for _ in range(ROUNDS):
            running = [each for each in all_requests if not each.over]
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
                # Without a retry the refused request has had no effect.
                if rng.random() < 0.5:
                    each.repeat()
                assert each.table.spectator.view().version == each.version
        assert refusals

        running = [each for each in all_requests if not each.over]
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
            for each in all_requests:
                each.move_to(server.client)
                version = each.table.spectator.view().version
                # After the crash, the log may have the last request although it was refused. After
                # the power cut, the log has exactly the answered requests.
                assert each.version <= version <= each.version + (crashed and each in running)
            if crashed:
                for each in running:
                    each.repeat()
                server.kill()
    finally:
        disk.mend()
        with suppress(ProcessLookupError):
            server.kill()
