"""A spectator is told nothing younger than the delay of the match."""

import threading

from croupier.client import (
    CroupierError,
    Operator,
    Seat,
)
from croupier.v1 import feed_pb2, match_pb2
from tests.support.houses import GAME, OPERATOR, decide, two

RUNNING, OVER = match_pb2.MATCH_STATE_RUNNING, match_pb2.MATCH_STATE_OVER


DELAY = 60  # Seconds.


def told_now(client, match, token):
    """All that the holder of a token can ask of a match: answers, or reasons of refusals."""
    holder, told = Seat(client, match, token), []
    batch = feed_pb2.BatchGetViewsRequest(tokens=[token])
    start = match_pb2.StartFrom(match_token=token, version=1)
    for call in (
        holder.view,
        lambda: client.call(
            client.match_stub.GetMatch, match_pb2.GetMatchRequest(name=match), token
        ),
        holder.record,
        holder.rematch_offer,
        lambda: client.call(client.feed_stub.BatchGetViews, batch),
        lambda: client.create_match(GAME, start_from=start) and "created",
        lambda: next(holder.review()) and "reviewed",
        lambda: next(holder.replay()) and "replayed",
        lambda: list(holder.watch(10**6)),
    ):
        try:
            told.append(call())
        except CroupierError as error:
            told.append((error.reason, error.message, error.metadata))
    return told


def test_a_spectator_is_told_nothing_younger_than_the_delay(house):
    seats, spectator = two(house, spectator_delay=DELAY)
    prompt = two(house)[1]
    assert decide(seats) in (0, 1)
    match, token = spectator.match, spectator.token
    client = house.client(key="")
    moments = [told_now(client, match, token)]
    assert moments[0][0].WhichOneof("game") is None
    assert (moments[0][0].version, moments[0][1].hosted_match.version) == (0, 0)
    assert prompt.view().WhichOneof("game") is not None
    # What is told at each moment is the same whatever has happened since.
    house.pass_time(DELAY * 1000 - 1)
    for _ in range(3):
        decide(seats)
    assert told_now(client, match, token) == moments[0]
    known = [seats[0].view().version]
    house.pass_time(1)
    now = told_now(client, match, token)
    assert (now[0].version, now[1].hosted_match.version) == (known[0] - 3, known[0] - 3)
    assert now[0].WhichOneof("game") is not None
    seats[1].resign()
    assert told_now(client, match, token) == now
    assert now[3] is None
    assert {now[place][0] for place in (2, 5, 6, 7)} == {"MATCH_NOT_OVER"}
    assert now[8][2] == {"current_version": str(known[0] - 3)}
    # Seats, the operator and the lists of the creator do not wait.
    operator = Operator(client, OPERATOR)
    assert operator.match(match).state == OVER
    assert operator.record(match) == seats[0].record()
    house.pass_time(DELAY * 1000 - 2)
    later = told_now(client, match, token)
    assert later[0].version == known[0] - 3
    house.pass_time(1)
    assert told_now(client, match, token)[0].version == known[0]
    house.pass_time(1)
    end = told_now(client, match, token)
    assert end[0].result == seats[0].view().result
    assert end[2] == seats[0].record()
    assert end[6:8] == ["reviewed", "replayed"]
    seats[0].rematch()
    assert told_now(client, match, token) == end
    house.pass_time(DELAY * 1000)
    assert told_now(client, match, token)[3] == seats[1].rematch_offer() is not None


class Reader(threading.Thread):
    """Reads a stream of a match to its end, and notes what the clock of the servers shows then."""

    def __init__(self, house, holder):
        super().__init__()
        self._house, self._client = house, holder.client
        request = match_pb2.WatchMatchRequest(name=holder.match, follow_rematch=True)
        metadata = self._client.metadata(holder.token)
        self._stream = self._client.match_stub.WatchMatch(request, metadata=metadata)
        self.responses, self.times = [], []
        self.start()

    def run(self):
        for response in self._stream:
            self.times.append(self._house.clock.now())
            self.responses.append(response)


def test_the_stream_of_a_spectator_comes_late_and_whole(house):
    seats, spectator = two(house, spectator_delay=DELAY)
    stranger = Seat(house.client(key=""), spectator.match, spectator.token)
    late, own = Reader(house, stranger), Reader(house, seats[0])
    made = [house.clock.now()] * 2  # When each version was made, and each offer of a rematch.

    def note(what):
        for _ in range(4):  # What comes too early can come.
            made_up = stranger.view().version
        assert made_up <= len(made)
        what()
        made.append(house.clock.now())
        house.pass_time(1000)

    for _ in range(6):
        note(lambda: decide(seats))
    note(seats[0].resign)
    note(seats[1].rematch)
    note(seats[0].decline_rematch)
    own.join()
    for _ in range(DELAY):
        stranger.view()
        house.pass_time(1000)
    late.join()
    assert [each.version for each in late.responses] == [*range(9), 8, 8]
    assert [each.rematch.state for each in late.responses[-2:]] == [1, 3]
    assert all(at >= then + 1000 * DELAY for at, then in zip(late.times, made, strict=True))
    for theirs, ours in zip(late.responses, own.responses, strict=True):
        assert (theirs.version, theirs.rematch) == (ours.version, ours.rematch)
    events = [each for response in late.responses for each in response.events]
    record = [each.event for each in spectator.record().entries if each.HasField("event")]
    assert len(events) >= len(record) > 0
