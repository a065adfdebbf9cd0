"""The checker of histories: it accepts what can have happened, and finds what cannot."""

import pytest

from engine.game import SPECTATOR
from tests.support.history import Decision, History, Read, Received, Refused, Stream, Write, faults
from tests.support.play import seeded, told


def picture(version, viewer):
    return f"{version} as {viewer} sees it".encode()


def course(rng, versions=12):
    """A match as it happened, and its log: both seats write in turn, and everybody looks."""
    history, log = History.new(), []
    # Moments are far enough apart for calls to overlap with some others, and not with all.
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
                picture(version, seat),
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
        history.reads.append(Read(viewer, *around(moment), version, picture(version, viewer)))
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
        received[-1] = received[-1]._replace(view=picture(last, SPECTATOR))
        history.streams.append(Stream(SPECTATOR, called, after, received, last == versions))
        after = last
    return history, log


@pytest.mark.parametrize("seed", range(20))
def test_what_has_happened_is_accepted(seed):
    history, log = course(seeded("history", seed))
    assert faults(history, log) == []


def replaced(items, index, **fields):
    items[index] = items[index]._replace(**fields)


def lose(history, log):
    log[6] = None


def lose_the_last(history, log):
    log.pop()


def apply_twice(history, log):
    log.insert(7, log[6])


def answer_two(history, log):
    write = history.writes[3]
    history.writes.append(write._replace(request_id="other", decision=Decision(0, b"other")))


def answer_two_alike(history, log):
    history.writes.append(history.writes[3]._replace(request_id="other"))


def answer_again_otherwise(history, log):
    write = next(write for write in history.writes if write.version == 3)
    history.writes.append(write._replace(version=4, view=picture(4, 1)))


def read_stale(history, log):
    write = history.writes[4]
    late = write.returned + 1
    version = write.version - 1
    history.reads.append(Read(0, late, late + 1, version, picture(version, 0)))


def read_early(history, log):
    write = history.writes[4]
    early = write.called - 1
    version = write.version
    history.reads.append(Read(0, early - 1, early, version, picture(version, 0)))


def read_backwards(history, log):
    # Of a version that the server made: nobody says when but those who have read it.
    history.reads.append(Read(0, 51, 52, 5, picture(5, 0)))
    history.reads.append(Read(1, 53, 54, 4, picture(4, 1)))


def show_otherwise(history, log):
    history.reads.append(history.reads[0]._replace(view=b"something else"))


def tell_otherwise(history, log):
    received = history.streams[0].received[0]._replace(events=b"something else")
    history.streams.append(history.streams[0]._replace(received=[received], ended=False))


def skip_one(history, log):
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
            received=[Received(1001, 1, b"events 1", picture(1, SPECTATOR))],
            ended=False,
        )
    )


def refuse_without_reason(history, log):
    refused = history.refusals[2]
    replaced(history.refusals, 2, current_version=refused.expected_version)


def refuse_what_is_legal(history, log):
    replaced(history.refusals, 2, reason="ILLEGAL_ACTION", current_version=None)


def refuse_as_over_before_the_end(history, log):
    over = Refused("over", "MATCH_OVER", 1, 10, 20)
    history.refusals.append(over)


def refuse_what_was_done(history, log):
    replaced(history.refusals, 2, request_id=history.writes[2].request_id)


def refuse_as_it_was_before(history, log):
    replaced(history.refusals, -2, current_version=1)


def overwrite(history, log):
    # Two decide on the same version, and the later one is put after the earlier.
    (index,) = (index for index, write in enumerate(history.writes) if write.version == 8)
    replaced(history.writes, index, expected_version=4)


def tell_what_is_not_there(history, log):
    history.reads.append(Read(0, 900, 901, len(log) + 1, b""))


FAULTS = (
    lose,
    lose_the_last,
    apply_twice,
    answer_two,
    answer_two_alike,
    answer_again_otherwise,
    read_stale,
    read_early,
    read_backwards,
    show_otherwise,
    tell_otherwise,
    skip_one,
    send_twice,
    end_early,
    stream_stale,
    refuse_without_reason,
    refuse_what_is_legal,
    refuse_as_over_before_the_end,
    refuse_what_was_done,
    refuse_as_it_was_before,
    overwrite,
    tell_what_is_not_there,
)


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
@pytest.mark.parametrize("seed", range(5))
def test_what_cannot_have_happened_is_found(plant, seed):
    history, log = course(seeded("history", seed))
    plant(history, log)
    assert faults(history, log)


def test_what_was_never_answered_may_be_in_the_log_once():
    history, log = course(seeded("unanswered"))
    (write,) = (each for each in history.writes if each.version == 7)
    history.writes.remove(write)
    history.writes.append(Write("w7", write.decision, 6, write.called))
    assert faults(history, log) == []
    log.append(log[6])
    assert faults(history, log)
    del log[-1]
    log[6] = None
    assert faults(history, log) == []


def can_be_ordered(writes, reads):
    """Whether calls can be put in an order that explains them: by trying all orders."""
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
            # Nothing that has ended before this one began is still to come.
            if called <= first_end
        )

    return ordered(frozenset(calls), 0)


def test_it_says_what_trying_all_orders_says():
    rng = seeded("all orders")
    said = []
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
        with told(number=number):
            assert (faults(History(writes, [], reads, []), log) == []) == explained
        said.append(explained)
    # Both occur often enough to say something.
    assert 100 < sum(said) < 1900
