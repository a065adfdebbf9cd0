"""The history of a match as its clients saw it, and a check that the history is linearizable.

A match is a register that holds a version. An answered action has set the register from one version
to the next, and a view has read it. All clients note the times of calls and answers by the same
clock. The history is linearizable if each version can be given a moment, in order, such that each
action happened between its call and its answer, and each view shows what the register held at some
moment between its call and its answer.

Every answer names its version, so only the moments of the versions are unknown, and each answer
bounds them. An action that made version v implies called <= moment(v) <= returned. A view of
version v implies moment(v) <= returned and moment(v + 1) >= called. Such moments exist if no
version must be later than it may be, given the bounds of the versions before it. No search is
needed.

The check also covers the rest of the promise. The log holds each answered action once and no other
action of a client; a viewer is always shown the same at the same version; and a stream has every
version once, in order.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Decision(NamedTuple):
    """An action in the log, or in a request of a client."""

    seat: int
    action: bytes
    ahead: bool = False  # Whether its seat had decided so ahead, and no request has made it.


# In a log: an entry that changes no decision, such as the replacement of a token.
ASIDE = Decision(-1, b"")


class Write(NamedTuple):
    """A request for SubmitAction and the view that answered it. A client may send it repeatedly."""

    request_id: str
    decision: Decision
    expected_version: int
    called: int  # The time of the first call.
    returned: int | None = None  # None if the request got no answer.
    version: int = 0
    view: bytes = b""
    events: bytes | None = None  # None if they were not asked for.


class Refused(NamedTuple):
    """A refused request, and the current version that the refusal names, if any."""

    request_id: str
    reason: str
    expected_version: int
    called: int
    returned: int
    current_version: int | None = None


class Read(NamedTuple):
    """A view that GetView returned."""

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
    view: bytes | None  # None if a later version existed when the message was written.


class Stream(NamedTuple):
    """A call of WatchMatch."""

    viewer: int
    called: int
    after: int  # -1 for a stream from the deal on.
    received: list[Received]
    ended: bool  # Whether the stream ended with the match.


class History(NamedTuple):
    """All calls and answers that the clients of one match have noted."""

    writes: list[Write]
    refusals: list[Refused]
    reads: list[Read]
    streams: list[Stream]

    @classmethod
    def new(cls) -> "History":
        """An empty history. Several threads may add to it."""
        return cls([], [], [], [])


# The only reasons for which a client is refused if it sends an action that is legal in its view.
_OTHERS_WERE_FIRST = ("STALE_VERSION", "MATCH_OVER", "MATCH_PAUSED")


def violations(history: History, log: Sequence[Decision | None]) -> list[str]:
    """The contradictions in a history, as sentences; none if it is linearizable.

    The log has an element per version: the action of a client, or None for an entry of the server.
    """
    return [
        *_of_writes(history, log),
        *_of_refusals(history),
        *_of_streams(history, log),
        *_of_observations(history),
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
            both = f"{made[first.version]} and {request_id}"
            yield f"version {first.version} was the answer to both {both}"
        made[first.version] = request_id
        if not 0 < first.version <= len(log) or log[first.version - 1] != first.decision:
            yield f"request {request_id} made version {first.version}, but the log disagrees"
            continue
        # In a simultaneous decision, the other seat's entry may come after the expected version.
        between = [
            each for each in log[first.expected_version : first.version - 1] if each is not ASIDE
        ]
        seats = [None if each is None else each.seat for each in between]
        if (
            first.version <= first.expected_version
            or len(between) > 1
            or first.decision.seat in seats
        ):
            yield (
                f"request {request_id} expected version {first.expected_version} "
                f"and made version {first.version}"
            )
    for version, decision in enumerate(log, 1):
        if decision is None or decision is ASIDE or decision.ahead or version in made:
            continue
        # An unanswered request may be in the log, once.
        for write in unanswered:
            if write.decision == decision and write.expected_version < version:
                unanswered.remove(write)
                break
        else:
            yield f"version {version} is an action that no client was told of"


def _of_refusals(history: History) -> Iterator[str]:
    carried_out = {write.request_id for write in history.writes if write.returned is not None}
    for refused in history.refusals:
        if refused.reason not in _OTHERS_WERE_FIRST:
            yield f"request {refused.request_id} was refused: {refused.reason}"
        if refused.request_id in carried_out:
            yield f"request {refused.request_id} was both refused and applied"
        if refused.current_version == refused.expected_version:
            yield f"request {refused.request_id} was refused at the version it expected"


def _of_streams(history: History, log: Sequence[Decision | None]) -> Iterator[str]:
    for stream in history.streams:
        versions = [received.version for received in stream.received]
        if versions != list(range(stream.after + 1, stream.after + 1 + len(versions))):
            yield f"a stream after version {stream.after} has versions {versions}"
        last = versions[-1] if versions else stream.after
        if stream.ended and last != len(log):
            yield f"a stream ended after version {last}, but the match after version {len(log)}"


def _of_observations(history: History) -> Iterator[str]:
    shown: dict[tuple[str, int, int], bytes] = {}
    for what, viewer, version, shown_bytes in observations(history):
        if shown.setdefault((what, viewer, version), shown_bytes) != shown_bytes:
            yield f"two {what} of version {version} for viewer {viewer} differ"


def observations(history: History) -> Iterator[tuple[str, int, int, bytes]]:
    """All that was shown: "views" or "events", the viewer, the version and the bytes."""
    for write in history.writes:
        if write.returned is not None:
            yield "views", write.decision.seat, write.version, write.view
            if write.events is not None:
                yield "events", write.decision.seat, write.version, write.events
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
    """The earliest and the latest moment of each version."""

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
        """Notes that the register held a version at some moment of an interval."""
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
                # The version was the newest when the server wrote it, which was after the call.
                moments.held(received.version, stream.called, received.at, why)
    for version in moments.latest:
        if version > len(log):
            yield f"version {version} was shown, but the log ends with version {len(log)}"
    earliest = None
    for version in sorted({*moments.earliest, *moments.latest} - {0}):
        bound = moments.earliest.get(version)
        if bound is not None and (earliest is None or bound.at > earliest.at):
            earliest = bound
        latest = moments.latest.get(version)
        if earliest is not None and latest is not None and latest.at < earliest.at:
            yield (
                f"version {version} existed at {latest.at}, says {latest.why}, "
                f"but not before {earliest.at}, says {earliest.why}"
            )


def view_bytes(view):
    """The bytes of a view without its ruleset and decisions ahead, to be compared with a record's.

    A view has the ruleset as the client gave it; a record has it with all defaults filled in.
    """
    view = type(view).FromString(view.SerializeToString())
    view.ClearField("ruleset")
    # It changes without a version; `tests/simulation/ahead.py` judges it.
    view.ClearField("decisions_ahead")
    return view.SerializeToString(deterministic=True)
