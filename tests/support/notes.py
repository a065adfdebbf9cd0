"""How answers and records are noted, so that a history of them can be checked."""

from time import monotonic_ns

from service.hosting.events import write_events
from service.hosting.match_state import MatchState
from service.hosting.record_verification import verify
from tests.support.history import Decision, Refused, pictures
from tests.support.serving import read_error, view_of


def picture_of(view):
    """A view as bytes that can be compared with those of a record."""
    # But for the ruleset, which is as it was given, and in a record spelled out.
    view = type(view).FromString(view.SerializeToString())
    view.ClearField("ruleset")
    return view.SerializeToString(deterministic=True)


def refusal_of(error, request_id, expected_version, called):
    """How a request was refused, as a history notes it."""
    refusal = read_error(error)
    current = refusal.metadata.get("current_version")
    version = None if current is None else int(current)
    return Refused(request_id, refusal.reason, expected_version, called, monotonic_ns(), version)


def log_of(record):
    """What the log of a record holds, as a history is compared with it."""
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


def mistaken_pictures(history, record):
    """What was shown, and is not what the record shows when it is played again."""
    state = verify(record)
    entries, course = state.entries, [MatchState.begin(state.header)]
    for entry in entries:
        course.append(course[-1].after(entry))
    for what, viewer, version, picture in set(pictures(history)):
        if version >= len(course):
            yield f"version {version} was shown, and the record ends with {len(entries)}"
            continue
        if what == "views":
            shown = picture_of(view_of(course[version], viewer))
        else:
            events = write_events(course[version], version, viewer)
            shown = b"".join(event.SerializeToString(deterministic=True) for event in events)
        if shown != picture:
            yield f"the {what} of version {version} for viewer {viewer} are not those of the record"
