"""The checker of histories accepts possible histories and reports impossible ones."""

import pytest

from engine.game import SPECTATOR
from tests.support.history import (
    Decision,
    History,
    Read,
    Received,
    Refused,
    Stream,
    Write,
    violations,
)
from tests.support.play import note_on_failure, seeded


def shown_bytes(version, viewer):
    return f"{version} as {viewer} sees it".encode()


def course(rng, versions=12):
    """A possible history and its log: the seats write in turn, and all viewers read."""
    history, log = History.new(), []
    # The moments lie so far apart that calls overlap with some others but not with all.
    moments = [10 * version for version in range(versions + 1)]

    def around(moment):
        return moment - rng.randrange(25), moment + rng.randrange(25)

    for version in range(1, versions + 1):
        seat = version % 2
        if version % 5 == 0:
            log.append(None)
            continue
        log.append(Decision(seat, b"action %d" % version))
        called, returned = around(moments[version])
        history.writes.append(
            Write(
                f"w{version}",
                log[-1],
                version - 1,
                called,
                returned,
                version,
                shown_bytes(version, seat),
            )
        )
        if version % 3 == 0:
            history.writes.append(
                history.writes[-1]._replace(called=returned + 1, returned=returned + 9)
            )
        again = around(moments[version] + 5)
        lost = Refused(f"l{version}", "STALE_VERSION", version - 1, *again, version)
        history.refusals.append(lost)
    for _ in range(3 * versions):
        moment = rng.randrange(10 * versions + 30)
        version = min(moment // 10, versions)
        viewer = rng.choice((0, 1, SPECTATOR))
        history.reads.append(Read(viewer, *around(moment), version, shown_bytes(version, viewer)))
    end = 10 * versions
    history.refusals.append(Refused("over", "MATCH_OVER", versions, end - 5, end + 5))
    after = -1
    while after < versions:
        last = min(versions, after + rng.randint(1, 4))
        called = 10 * max(after, 0) + rng.randrange(9)
        received = [
            Received(10 * version + 9, version, b"events %d" % version, None)
            for version in range(after + 1, last + 1)
        ]
        received[-1] = received[-1]._replace(view=shown_bytes(last, SPECTATOR))
        history.streams.append(Stream(SPECTATOR, called, after, received, last == versions))
        after = last
    return history, log


@pytest.mark.parametrize("seed", range(20))
def test_a_possible_history_is_accepted(seed):
    history, log = course(seeded("history", seed))
    assert violations(history, log) == []


def replaced(items, index, **fields):
    items[index] = items[index]._replace(**fields)


class Plant:
    """What makes a history impossible."""

    def lose_an_entry(history, log):
        log[6] = None

    def lose_the_last_entry(history, log):
        log.pop()

    def apply_twice(history, log):
        log.insert(7, log[6])

    def answer_two_requests(history, log):
        write = history.writes[3]
        history.writes.append(write._replace(request_id="other", decision=Decision(0, b"other")))

    def answer_two_equal_requests(history, log):
        history.writes.append(history.writes[3]._replace(request_id="other"))

    def answer_again_differently(history, log):
        write = next(write for write in history.writes if write.version == 3)
        history.writes.append(write._replace(version=4, view=shown_bytes(4, 1)))

    def read_stale(history, log):
        write = history.writes[4]
        late = write.returned + 1
        version = write.version - 1
        history.reads.append(Read(0, late, late + 1, version, shown_bytes(version, 0)))

    def read_early(history, log):
        write = history.writes[4]
        early = write.called - 1
        version = write.version
        history.reads.append(Read(0, early - 1, early, version, shown_bytes(version, 0)))

    def read_backwards(history, log):
        # The server made this version, so only the reads tell when.
        history.reads.append(Read(0, 51, 52, 5, shown_bytes(5, 0)))
        history.reads.append(Read(1, 53, 54, 4, shown_bytes(4, 1)))

    def show_another_view(history, log):
        history.reads.append(history.reads[0]._replace(view=b"something else"))

    def stream_other_events(history, log):
        received = history.streams[0].received[0]._replace(events=b"something else")
        history.streams.append(history.streams[0]._replace(received=[received], ended=False))

    def skip_a_version(history, log):
        stream = next(stream for stream in history.streams if len(stream.received) > 1)
        del stream.received[0]

    def send_twice(history, log):
        received = history.streams[0].received
        received.insert(0, received[0])

    def end_early(history, log):
        replaced(history.streams, 0, ended=True)

    def stream_stale(history, log):
        stream = history.streams[-1]
        history.streams.append(
            stream._replace(
                called=1000,
                after=0,
                received=[Received(1001, 1, b"events 1", shown_bytes(1, SPECTATOR))],
                ended=False,
            )
        )

    def refuse_the_current_version(history, log):
        refused = history.refusals[2]
        replaced(history.refusals, 2, current_version=refused.expected_version)

    def refuse_a_legal_action(history, log):
        replaced(history.refusals, 2, reason="ILLEGAL_ACTION", current_version=None)

    def refuse_as_over_before_the_end(history, log):
        over = Refused("over", "MATCH_OVER", 1, 10, 20)
        history.refusals.append(over)

    def refuse_an_applied_request(history, log):
        replaced(history.refusals, 2, request_id=history.writes[2].request_id)

    def refuse_with_an_old_version(history, log):
        replaced(history.refusals, -2, current_version=1)

    def overwrite(history, log):
        # Two requests expect the same version, and the later one is applied after the earlier.
        (index,) = (index for index, write in enumerate(history.writes) if write.version == 8)
        replaced(history.writes, index, expected_version=4)

    def show_a_version_after_the_log(history, log):
        history.reads.append(Read(0, 900, 901, len(log) + 1, b""))


VIOLATIONS = [each for each in vars(Plant).values() if callable(each)]


@pytest.mark.parametrize("plant", VIOLATIONS, ids=lambda plant: plant.__name__)
@pytest.mark.parametrize("seed", range(5))
def test_an_impossible_history_is_reported(plant, seed):
    history, log = course(seeded("history", seed))
    plant(history, log)
    assert violations(history, log)


def test_an_unanswered_request_may_be_in_the_log_once():
    history, log = course(seeded("unanswered"))
    (write,) = (each for each in history.writes if each.version == 7)
    history.writes.remove(write)
    history.writes.append(Write("w7", write.decision, 6, write.called))
    assert violations(history, log) == []
    log.append(log[6])
    assert violations(history, log)
    del log[-1]
    log[6] = None
    assert violations(history, log) == []


def can_be_ordered(writes, reads):
    """Whether some order of the calls explains their answers, found by trying all orders."""
    calls = [(write.called, write.returned, write.version, True) for write in writes]
    calls += [(read.called, read.returned, read.version, False) for read in reads]

    def ordered(left, version):
        if not left:
            return True
        first_end = min(returned for _, returned, _, _ in left)
        return any(
            (version == made - 1 if writes else version == made) and ordered(left - {call}, made)
            for call in left
            for called, _, made, writes in [call]
            # No call that is left may have ended before this one began.
            if called <= first_end
        )

    return ordered(frozenset(calls), 0)


def test_the_checker_agrees_with_trying_all_orders():
    rng = seeded("all orders")
    results = []
    for number in range(2000):
        times = rng.sample(range(100), 14)
        spans = [sorted(times[2 * index : 2 * index + 2]) for index in range(7)]
        writes = [
            Write(f"w{version}", Decision(0, b"%d" % version), version - 1, *span, version, b"")
            for version, span in enumerate(sorted(spans[:3], key=sum), 1)
        ]
        reads = [Read(1, *span, rng.randrange(4), b"") for span in spans[3:]]
        log = [write.decision for write in writes]
        explained = can_be_ordered(writes, reads)
        with note_on_failure(number=number):
            assert (violations(History(writes, [], reads, []), log) == []) == explained
        results.append(explained)
    # Both results occur often enough for the test to mean something.
    assert 100 < sum(results) < 1900
