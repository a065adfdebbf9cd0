"""Records: everything that happened in a match, as a message that can be verified."""

import hashlib

from croupier.v1 import match_pb2
from service import wire
from service.hosting.entropy import write_contribution
from service.hosting.long_work import Work, finish_now
from service.hosting.match_state import MatchState
from service.hosting.seats import write_seats
from service.store import Entry, EntryKind

_DIGEST = match_pb2.MatchRecord.DIGEST_FIELD_NUMBER
_DIGEST_DOMAIN = b"croupier/record/v1\0"


def write_record(state: MatchState) -> match_pb2.MatchRecord:
    """Everything that happened, hidden cards and all. Only for a match that is over."""
    return match_pb2.MatchRecord.FromString(finish_now(writing_record(state)))


def writing_record(state: MatchState) -> Work[bytes]:
    """As `write_record`, serialized."""
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
        seats=write_seats(header.bots, header.invited),
        model=header.model,
    )
    record.create_time.FromMilliseconds(header.created)
    if header.time_control:
        record.time_control.MergeFromString(header.time_control)
    for version in range(state.version + 1):
        if version:
            record.entries.add(version=version).MergeFrom(_write_entry(state.entry(version)))
        for event in wire.write_recorded_events(state.game, state.events(version), version):
            record.entries.add(version=version, event=event)
        yield
    written = record.SerializeToString(deterministic=True)
    return written + wire.field(_DIGEST, _digest(written))


def _write_entry(entry: Entry) -> match_pb2.RecordEntry:
    message = match_pb2.RecordEntry()
    message.time.FromMilliseconds(entry.at)
    if entry.kind == EntryKind.ACTION:
        message.action.seat = entry.seat
        message.action.action.MergeFromString(entry.action)
    elif entry.kind == EntryKind.EXPIRY:
        message.expiry.seat = entry.seat
        if entry.action:
            message.expiry.action.MergeFromString(entry.action)
    elif entry.kind == EntryKind.RESIGNATION:
        message.resignation.seat = entry.seat
    elif entry.kind == EntryKind.IDLE:
        message.idle_end.SetInParent()
    elif entry.kind == EntryKind.JOIN:
        message.seat_joined.seat = entry.seat
    elif entry.kind == EntryKind.TOKEN:
        message.seat_token_replaced.seat = entry.seat
    else:
        message.MergeFrom(match_pb2.RecordEntry(**write_contribution(entry)))
    return message


def digest(record: match_pb2.MatchRecord) -> bytes:
    """The digest of a record: SHA-256 over all its other fields."""
    whole = match_pb2.MatchRecord()
    whole.CopyFrom(record)
    whole.ClearField("digest")
    return _digest(whole.SerializeToString(deterministic=True))


def _digest(written: bytes) -> bytes:
    return hashlib.sha256(_DIGEST_DOMAIN + written).digest()
