"""Records: everything that happened in a match, as a message that can be verified.

A record is verified by writing it again. Everything that it says follows from its secret, its seats
and their actions, so whatever it says otherwise is wrong.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

import wire
from croupier.v1 import game_pb2, match_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine.errors import ActionError
from service.common.event_loop import Work, finish_now
from service.hosting.match_state import KINDS, MatchState
from service.hosting.offers import BY_FIELD
from service.hosting.played_on import StartError, replaying_start
from service.hosting.seats import write_seats
from service.store import Header
from wire.errors import Refusal
from wire.validation import first_violation

MAX_ENTRIES = 5_000  # The longest matches of the hosted games have about a thousand.
MAX_TIME = 250_246_281_600_000  # The year 9900, in milliseconds.

_DIGEST = match_pb2.MatchRecord.DIGEST_FIELD_NUMBER
_DIGEST_DOMAIN = b"croupier/record/v1\0"
_CHANGED = "is not that of the record: something in it was changed"


def write_record(state: MatchState) -> match_pb2.MatchRecord:
    """Everything that happened, hidden cards and all. Only for a match that is over."""
    return match_pb2.MatchRecord.FromString(finish_now(writing_record(state)))


def writing_record(state: MatchState) -> Work[bytes]:
    """As `write_record`, serialized."""
    yield from state.recalling_events()
    header = state.header
    record = match_pb2.MatchRecord(
        name=f"matches/{header.match_id}",
        ruleset=wire.write_ruleset(state.game),
        rules_version=header.rules_version,
        secret=header.secret,
        result=state.result,
        secret_hash=header.secret_hash,
        seeded=header.seeded,
        entropy_from_seats=header.entropy_from_seats,
        seats=write_seats(header.bots, header.invited, header.display_names),
        model=header.model,
        hint_policy=game_pb2.HintPolicy.Name(header.hint_policy),
        erased_seats=[seat for seat in (0, 1) if header.erased_seats >> seat & 1],
        forbidden_offers=[game_pb2.OfferKind.Name(kind) for kind in header.forbidden_offers],
    )
    record.create_time.FromMilliseconds(header.created)
    if header.start:
        record.start.MergeFromString(header.start)
        beginning = yield from replaying_start(state.game, header.start)
        for version, events in beginning.events:
            record.start.events.extend(wire.write_recorded_events(state.game, events, version))
            yield
    if header.time_control:
        record.time_control.MergeFromString(header.time_control)
    for version in range(state.version + 1):
        record.entries.extend(_entries_of(state, version))
        yield
    written = record.SerializeToString(deterministic=True)
    return written + wire.field(_DIGEST, _digest(written))


def _entries_of(state: MatchState, version: int) -> Iterator[match_pb2.RecordEntry]:
    if version:
        entry = state.entry(version)
        kind = KINDS[entry.kind]
        message = match_pb2.RecordEntry(version=version)
        message.time.FromMilliseconds(entry.at)
        kind.write(entry, getattr(message, kind.field))
        yield message
    for event in wire.write_recorded_events(state.game, state.events(version), version):
        yield match_pb2.RecordEntry(version=version, event=event)


def digest(record: match_pb2.MatchRecord) -> bytes:
    """The digest of a record: SHA-256 over all its other fields."""
    whole = match_pb2.MatchRecord()
    whole.CopyFrom(record)
    whole.ClearField("digest")
    return _digest(whole.SerializeToString(deterministic=True))


def _digest(written: bytes) -> bytes:
    return hashlib.sha256(_DIGEST_DOMAIN + written).digest()


class RecordError(ValueError):
    """A record that is not that of a match."""

    def __init__(self, field: str, what: str) -> None:
        """`field` is the path of the field that is wrong, or empty for the whole record."""
        super().__init__(f"{field}: {what}" if field else what)
        self.field = field


def verify(record: match_pb2.MatchRecord) -> MatchState:
    """The match of a record; raises RecordError unless all that the record says follows from it.

    A record may leave out `result.ending`, as where the code of a package fails, and may word it
    otherwise, as another release does: only the digest protects `result.ending.text`.
    """
    finish_now(checking(record))
    state = finish_now(beginning_record(record))
    for number, entry in enumerate(record.entries):
        if entry.HasField("event"):
            continue
        try:
            state = after_entry(state, entry, f"entries[{number}]")
        except RecordError:
            # An event before this entry may be wrong already, and is reported first.
            written = write_record(state)
            _compare(record.entries[:number], written.entries[:number], "entries")
            raise
    written = write_record(state)
    _word_ending(written.result, record.result)
    written.digest = digest(written)
    for field in record.DESCRIPTOR.fields:
        if field.name != "digest":
            _compare_field(record, written, field, field.name)
    if not state.over:
        raise RecordError("entries", "the match does not end with them")
    if _as_bytes(record) != _as_bytes(written):
        raise RecordError("digest", _CHANGED)
    return state


def _word_ending(result: game_pb2.MatchResult, given: game_pb2.MatchResult) -> None:
    # Words the ending of a result as the given one does, which may also leave it out.
    if result.HasField("ending"):
        if given.HasField("ending"):
            result.ending.text = given.ending.text
        else:
            result.ClearField("ending")


def check_end(record: match_pb2.MatchRecord, state: MatchState) -> None:
    """Raises RecordError unless a match is over after its record, which tells the result.

    What a replay does not need, such as times, must not have been changed either.
    """
    if state.result is None:
        raise RecordError("entries", "the match does not end with them")
    result = game_pb2.MatchResult()
    result.CopyFrom(state.result)
    _word_ending(result, record.result)
    _compare_value(record.result, result, "result")
    if record.digest != digest(record):
        raise RecordError("digest", _CHANGED)


# Reading


def replaying_record(record: match_pb2.MatchRecord, version: int | None = None) -> Work[MatchState]:
    """The match of a record that a caller sends, as it was at a version or else at its end.

    Raises RecordError, also if the record tells of other events or of another end than the match
    has.
    """
    yield from checking_sent(record)
    state = yield from beginning_record(record)
    for number, entry in enumerate(record.entries):
        if state.version == version:
            break
        if not entry.HasField("event"):
            state = after_entry(state, entry, f"entries[{number}]")
        yield
    if version is None:
        check_end(record, state)
        first = 0
        for each in range(state.version + 1):
            written = list(_entries_of(state, each))
            _compare(record.entries[first : first + len(written)], written, "entries", first)
            first += len(written)
            yield
        _compare(record.entries[first:], (), "entries", first)
    elif state.version != version:
        raise RecordError("entries", f"they end before version {version}")
    return state


def beginning_record(record: match_pb2.MatchRecord) -> Work[MatchState]:
    """The match of a record that was checked, before its first entry; raises RecordError."""
    try:
        state = yield from MatchState.beginning(_read_header(record))
    except StartError as error:
        raise RecordError(f"start.{error.path}", str(error)) from None
    except Refusal as refusal:
        changed = refusal.reason == ErrorReason.ERROR_REASON_RULES_CHANGED
        raise RecordError("rules_version" if changed else "", str(refusal)) from None
    _check_header(record, state)
    return state


def checking_sent(record: match_pb2.MatchRecord) -> Work[None]:
    """As `checking`, for a record that a caller sends, whose length is limited."""
    if len(record.entries) > MAX_ENTRIES:
        raise RecordError("entries", f"must be at most {MAX_ENTRIES} entries")
    yield from checking(record)


def checking(record: match_pb2.MatchRecord) -> Work[None]:
    """Checks a record by the schema, entry by entry; raises RecordError."""
    head = match_pb2.MatchRecord()
    head.CopyFrom(record)
    del head.entries[:]
    del head.start.events[:]
    for stretch in head.start.stretches:
        del stretch.actions[:]
    if not record.HasField("start"):
        head.ClearField("start")
    _check_schema(head, "")
    for place, stretch in enumerate(record.start.stretches):
        for number, action in enumerate(stretch.actions):
            _check_schema(action, f"start.stretches[{place}].actions[{number}]")
            yield
    for number, event in enumerate(record.start.events):
        _check_schema(event, f"start.events[{number}]")
        yield
    for number, entry in enumerate(record.entries):
        _check_schema(entry, f"entries[{number}]")
        yield


def _check_schema(message: Message, path: str) -> None:
    known = type(message)()
    known.CopyFrom(message)
    wire.discard_unknown(known)
    if known.ByteSize() != message.ByteSize():
        raise RecordError(path, "the record has fields that this program does not know")
    violation = first_violation(message)
    if violation is not None:
        field = f"{path}.{violation.path}" if path and violation.path else path or violation.path
        raise RecordError(field, violation.rule)


def _read_header(record: match_pb2.MatchRecord) -> Header:
    match_id = record.name.removeprefix("matches/")
    return Header(
        match_id=match_id,
        game=wire.game_of(record.ruleset),
        ruleset=record.ruleset.SerializeToString(deterministic=True),
        rules_version=record.rules_version,
        secret=record.secret,
        chance_id="" if record.seeded else match_id,
        bots=tuple(int(seat.bot.strength) for seat in record.seats),
        invited=tuple(
            seat for seat, config in enumerate(record.seats) if config.HasField("invited")
        ),
        created=_read_time(record.create_time, "create_time"),
        entropy_from_seats=record.entropy_from_seats,
        time_control=_as_bytes(record.time_control) if record.HasField("time_control") else b"",
        model=record.model,
        display_names=tuple(seat.display_name for seat in record.seats),
        hint_policy=record.hint_policy,
        forbidden_offers=bytes(sorted(record.forbidden_offers)),
        start=_read_start(record),
        erased=bytes({sum({1 << seat for seat in record.erased_seats})} - {0}),
    )


def _read_start(record: match_pb2.MatchRecord) -> bytes:
    if not record.HasField("start"):
        return b""
    start = match_pb2.MatchStart(origin=record.start.origin, stretches=record.start.stretches)
    return _as_bytes(start)


def _check_header(record: match_pb2.MatchRecord, state: MatchState) -> None:
    header = state.header
    if record.secret_hash != header.secret_hash:
        raise RecordError("secret_hash", "is not the hash of the secret")
    if header.entropy_from_seats and (header.seeded or all(header.bots)):
        raise RecordError("entropy_from_seats", "needs an open seat, and excludes a seed")
    if header.model and not any(header.bots):
        raise RecordError("model", "is that of bots, and there is none")
    for seat in record.erased_seats:
        if header.bots[seat]:
            raise RecordError("erased_seats", "has a bot, which has no name")
        for path, joined in _named(record):
            if joined.seat == seat and joined.display_name:
                raise RecordError(f"{path}.display_name", "should be empty, as it was erased")


def _named(record: match_pb2.MatchRecord) -> Iterator[tuple[str, game_pb2.SeatJoined]]:
    # Where names of seats are.
    for seat, config in enumerate(record.seats):
        yield f"seats[{seat}]", game_pb2.SeatJoined(seat=seat, display_name=config.display_name)
    for number, entry in enumerate(record.entries):
        if entry.HasField("seat_joined"):
            yield f"entries[{number}].seat_joined", entry.seat_joined


def _read_time(message: Timestamp, path: str) -> int:
    try:
        at = int(message.ToMilliseconds())
    except ValueError:
        raise RecordError(path, "is not a time") from None
    if at > MAX_TIME:
        raise RecordError(path, "is too late: deadlines that follow from it would be no times")
    return at


def after_entry(state: MatchState, message: match_pb2.RecordEntry, path: str) -> MatchState:
    """The match after one more entry, which is no event, at a path; raises RecordError."""
    if state.over:
        raise RecordError(path, "comes after the end of the match")
    field = str(message.WhichOneof("entry"))
    kind = BY_FIELD[field]
    at = _read_time(message.time, f"{path}.time")
    try:
        entry = kind.read(state, at, getattr(message, field))
    except Refusal as refusal:
        raise RecordError(path, str(refusal)) from None
    if entry.at < state.time:
        raise RecordError(f"{path}.time", "is before the time of the entry before")
    if wrong := kind.wrong_seat(state, entry.seat):
        raise RecordError(f"{path}.{field}.seat", wrong)
    try:
        return state.after(entry)
    except ActionError as error:
        raise RecordError(f"{path}.{field}", f"the rules do not allow it: {error}") from None
    except Refusal as refusal:
        raise RecordError(path, str(refusal)) from None


# Comparing


def _compare(given: Sequence[Any], expected: Sequence[Any], path: str, first: int = 0) -> None:
    # `first` is the number of the first of both.
    for number, (one, other) in enumerate(zip(given, expected, strict=False), first):
        _compare_value(one, other, f"{path}[{number}]")
    both = min(len(given), len(expected))
    if len(given) > both:
        raise RecordError(f"{path}[{first + both}]", "is one too many")
    if len(expected) > both:
        raise RecordError(f"{path}[{first + both}]", f"is missing: {_show(expected[both])}")


def _compare_value(given: Any, expected: Any, path: str) -> None:
    if isinstance(given, Message):
        if _as_bytes(given) == _as_bytes(expected):
            return
        # In the order of the schema, so that the first difference there is reported.
        for field in given.DESCRIPTOR.fields:
            _compare_field(given, expected, field, f"{path}.{field.name}")
    elif repr(given) != repr(expected):
        raise RecordError(path, f"is {_show(given)}, and should be {_show(expected)}")


def _compare_field(given: Any, expected: Any, field: Any, path: str) -> None:
    one, other = getattr(given, field.name), getattr(expected, field.name)
    if field.is_repeated:
        _compare(one, other, path)
        return
    if field.has_presence and given.HasField(field.name) != expected.HasField(field.name):
        missing = f"is missing: {_show(other)}"
        raise RecordError(path, missing if expected.HasField(field.name) else "should not be set")
    _compare_value(one, other, path)


def _as_bytes(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)


def _show(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    text = " ".join(str(value).split())
    return text if len(text) <= 80 else text[:77] + "..."
