"""Answers and records in the form that the checker of histories compares."""

from time import monotonic_ns

from service.hosting.match_state import MatchState
from service.hosting.records import verify
from tests.support.history import Decision, Refused, observations
from tests.support.serving import events_of, read_error, view_of


def view_bytes(view):
    """The bytes of a view without its ruleset, to be compared with those from a record.

    A view has the ruleset as the client gave it; a record has it with all defaults filled in.
    """
    view = type(view).FromString(view.SerializeToString())
    view.ClearField("ruleset")
    return view.SerializeToString(deterministic=True)


def refusal_of(error, request_id, expected_version, called):
    """An error as a history notes a refusal."""
    refusal = read_error(error)
    current = refusal.metadata.get("current_version")
    version = None if current is None else int(current)
    return Refused(request_id, refusal.reason, expected_version, called, monotonic_ns(), version)


def log_of(record):
    """The entries of a record in the form of the log that `violations` takes."""
    log = []
    for entry in record.entries:
        if entry.HasField("event"):
            continue
        decision = None
        if entry.HasField("action") and record.seats[entry.action.seat].HasField("open"):
            action = entry.action.action.SerializeToString(deterministic=True)
            decision = Decision(entry.action.seat, action)
        log.append(decision)
        assert entry.version == len(log)
    return log


def wrong_observations(history, record):
    """Reports views and events of a history that differ from those of the replayed record."""
    state = verify(record)
    entries, course = state.entries, [MatchState.begin(state.header)]
    for entry in entries:
        course.append(course[-1].after(entry))
    for what, viewer, version, shown_bytes in set(observations(history)):
        if version >= len(course):
            yield f"version {version} was shown, but the record ends with version {len(entries)}"
            continue
        if what == "views":
            shown = view_bytes(view_of(course[version], viewer))
        else:
            events = events_of(course[version], version, viewer)
            shown = b"".join(event.SerializeToString(deterministic=True) for event in events)
        if shown != shown_bytes:
            yield f"the {what} of version {version} for viewer {viewer} differ from the record"
