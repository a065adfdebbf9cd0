"""What the clients of a match were told, and whether one course of the match explains all of it.

A match is a register that holds a version. An action that is answered has set it from one version
to the next, and a view has read it. Clients note when they called and when they were answered, by
one clock. The history is linearizable if each version can be given a moment, in order, so that each
action happened between its call and its answer, and each view shows what the register held at some
moment between its call and its answer.

As every answer names its version, the moments of the versions are all that is not known, and an
answer bounds them. Of an action that made version v, called <= moment(v) <= returned; of a view at
version v, moment(v) <= returned and moment(v + 1) >= called. So there are such moments if, in
order, none has to be later than it may be: a search is not needed.

Beyond that, an action that was answered is in the log, once, and nothing else is; who was told the
same version of the match was shown the same; and a stream has every version once, in order.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Decision(NamedTuple):
    """An action as the log has it, or as a client has sent it."""

    seat: int
    action: bytes


class Write(NamedTuple):
    """A request of SubmitAction, and the view that answered it; a client may send it again."""

    request_id: str
    decision: Decision
    expected_version: int
    called: int  # When it was sent for the first time.
    returned: int | None = None  # None: no answer has come.
    version: int = 0
    view: bytes = b""


class Refused(NamedTuple):
    """A request that was refused, and the version that the refusal names."""

    request_id: str
    reason: str
    expected_version: int
    called: int
    returned: int
    current_version: int | None = None


class Read(NamedTuple):
    """An answer of GetView."""

    viewer: int
    called: int
    returned: int
    version: int
    view: bytes


class Received(NamedTuple):
    """A message of a stream."""

    at: int
    version: int
    events: bytes
    view: bytes | None  # None: there was a later version already.


class Stream(NamedTuple):
    """A call of WatchMatch."""

    viewer: int
    called: int
    after: int  # -1: from the deal on.
    received: list[Received]
    ended: bool  # By the end of the match.


class History(NamedTuple):
    """Everything that the clients of one match have noted."""

    writes: list[Write]
    refusals: list[Refused]
    reads: list[Read]
    streams: list[Stream]

    @classmethod
    def new(cls) -> "History":
        """An empty one; several threads may add to it."""
        return cls([], [], [], [])


# The only reasons for which a client that sends what is legal in its view can be refused.
_OTHERS_WERE_FIRST = ("STALE_VERSION", "MATCH_OVER")


def faults(history: History, log: Sequence[Decision | None]) -> list[str]:
    """What no course of the match explains; nothing if it is linearizable.

    The log has each version of the match: the action of a client, or None for what the server did.
    """
    return [
        *_of_writes(history, log),
        *_of_refusals(history),
        *_of_streams(history, log),
        *_of_pictures(history),
        *_of_moments(history, log),
    ]


def _requests(history: History) -> dict[str, list[Write]]:
    requests = defaultdict(list)
    for write in history.writes:
        requests[write.request_id].append(write)
    return requests


def _of_writes(history: History, log: Sequence[Decision | None]) -> Iterator[str]:
    made: dict[int, str] = {}
    unanswered = []
    for request_id, writes in _requests(history).items():
        answered = [write for write in writes if write.returned is not None]
        if not answered:
            unanswered.append(writes[0])
            continue
        first = answered[0]
        if len({write.version for write in answered}) > 1:
            yield f"request {request_id} was answered with several versions"
        if first.version in made:
            yield f"version {first.version} was answered to {made[first.version]} and {request_id}"
        made[first.version] = request_id
        if not 0 < first.version <= len(log) or log[first.version - 1] != first.decision:
            yield f"request {request_id} made version {first.version}, and is not there in the log"
            continue
        # What a seat answers stays as it is while the other seat decides at the same time.
        between = log[first.expected_version : first.version - 1]
        seats = [None if each is None else each.seat for each in between]
        if (
            first.version <= first.expected_version
            or len(between) > 1
            or first.decision.seat in seats
        ):
            yield (
                f"request {request_id} made version {first.version} "
                f"out of version {first.expected_version}"
            )
    for version, decision in enumerate(log, 1):
        if decision is None or version in made:
            continue
        # It may be one of those that were never answered, which can be in the log once.
        for write in unanswered:
            if write.decision == decision and write.expected_version < version:
                unanswered.remove(write)
                break
        else:
            yield f"version {version} is an action that nobody was answered for"


def _of_refusals(history: History) -> Iterator[str]:
    carried_out = {write.request_id for write in history.writes if write.returned is not None}
    for refused in history.refusals:
        if refused.reason not in _OTHERS_WERE_FIRST:
            yield f"request {refused.request_id} was refused: {refused.reason}"
        if refused.request_id in carried_out:
            yield f"request {refused.request_id} was refused, and carried out"
        if refused.current_version == refused.expected_version:
            yield f"request {refused.request_id} was refused at the version that it expected"


def _of_streams(history: History, log: Sequence[Decision | None]) -> Iterator[str]:
    for stream in history.streams:
        versions = [received.version for received in stream.received]
        if versions != list(range(stream.after + 1, stream.after + 1 + len(versions))):
            yield f"a stream after version {stream.after} has versions {versions}"
        last = versions[-1] if versions else stream.after
        if stream.ended and last != len(log):
            yield f"a stream ended after version {last}, and the match after {len(log)}"


def _of_pictures(history: History) -> Iterator[str]:
    shown: dict[tuple[str, int, int], bytes] = {}
    for what, viewer, version, picture in pictures(history):
        if shown.setdefault((what, viewer, version), picture) != picture:
            yield f"two {what} of version {version} for viewer {viewer} differ"


def pictures(history: History) -> Iterator[tuple[str, int, int, bytes]]:
    """All that was shown: "views" or "events", to which viewer, of which version, and what."""
    for write in history.writes:
        if write.returned is not None:
            yield "views", write.decision.seat, write.version, write.view
    for read in history.reads:
        yield "views", read.viewer, read.version, read.view
    for stream in history.streams:
        for received in stream.received:
            yield "events", stream.viewer, received.version, received.events
            if received.view is not None:
                yield "views", stream.viewer, received.version, received.view


class _Bound(NamedTuple):
    at: int
    why: str


class _Moments:
    """When each version was made, at the earliest and at the latest."""

    def __init__(self) -> None:
        self.earliest: dict[int, _Bound] = {}
        self.latest: dict[int, _Bound] = {}

    def not_before(self, version: int, at: int, why: str) -> None:
        if version not in self.earliest or self.earliest[version].at < at:
            self.earliest[version] = _Bound(at, why)

    def not_after(self, version: int, at: int, why: str) -> None:
        if version not in self.latest or self.latest[version].at > at:
            self.latest[version] = _Bound(at, why)

    def held(self, version: int, called: int, returned: int, why: str) -> None:
        """The register held a version at some moment between two."""
        self.not_after(version, returned, why)
        self.not_before(version + 1, called, why)


def _of_moments(history: History, log: Sequence[Decision | None]) -> Iterator[str]:
    moments = _Moments()
    for request_id, writes in _requests(history).items():
        answered = [write for write in writes if write.returned is not None]
        for write in answered:
            why = f"request {request_id}"
            moments.not_before(write.version, min(each.called for each in writes), why)
            moments.not_after(write.version, write.returned, why)
    for refused in history.refusals:
        why = f"the refusal of request {refused.request_id}"
        if refused.current_version is not None:
            moments.held(refused.current_version, refused.called, refused.returned, why)
        elif refused.reason == "MATCH_OVER":
            moments.not_after(len(log), refused.returned, why)
    for read in history.reads:
        why = f"a view of version {read.version} for viewer {read.viewer}"
        moments.held(read.version, read.called, read.returned, why)
    for stream in history.streams:
        for received in stream.received:
            why = f"version {received.version} in a stream of viewer {stream.viewer}"
            if received.view is None:
                moments.not_after(received.version, received.at, why)
            else:
                # It was the newest when it was sent, which was after the call.
                moments.held(received.version, stream.called, received.at, why)
    for version in moments.latest:
        if version > len(log):
            yield f"version {version} was told, and the log ends with {len(log)}"
    earliest = None
    for version in sorted({*moments.earliest, *moments.latest} - {0}):
        bound = moments.earliest.get(version)
        if bound is not None and (earliest is None or bound.at > earliest.at):
            earliest = bound
        latest = moments.latest.get(version)
        if earliest is not None and latest is not None and latest.at < earliest.at:
            yield (
                f"version {version} was there at {latest.at} by {latest.why}, "
                f"but not before {earliest.at} by {earliest.why}"
            )
