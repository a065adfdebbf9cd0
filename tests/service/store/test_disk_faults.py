"""Players and a failing disk: a refusal reports the fault, and no answered action is lost.

A refused request has no effect unless it is repeated. The server recovers by itself when the disk
does.
"""

import errno

import pytest

from tests.support.faulty_disk import READ, SYNC, WRITE, FaultyDisk
from tests.support.play import seeded
from tests.support.server_process import ServerProcess
from tests.support.serving import play_on, refused, ruleset_of
from tests.support.store_faults import (
    FULL,
    GAME,
    UNAVAILABLE,
    check_refusal,
    is_serving,
    next_request,
)
from tests.support.waiting import wait_until

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
