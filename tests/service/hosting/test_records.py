"""A record is verified as it is, and rejected when anything in it is changed."""

import os

import pytest

from croupier.v1 import match_pb2
from service import wire
from service.hosting.record_verification import RecordError, verify
from service.hosting.records import digest, write_record
from tests.support.changes import changed_by, changes
from tests.support.play import seeded, told
from tests.support.played import SKILLED, played
from tests.support.serving import hosted_cases

# The long form: CROUPIER_RECORDS=1000, as `make records` has it.
RECORDS = int(os.environ.get("CROUPIER_RECORDS", "80"))
LONG = RECORDS >= 1000

# The kinds of matches: arguments of `played`.
KINDS = (
    {},
    {"seats": (0, SKILLED)},
    {"seeded": True},
    {"entropy": True},
    {"entropy": True, "seats": (SKILLED, 0)},
    {"resign_at": 5},
    {"entropy": True, "resign_at": 2},
)

# Nothing is replayed from these fields, so only the digest reveals a change: the time of the match,
# the strength of a bot, and the name of a seeded match. A match uses only a part of a ruleset.
NOT_REPLAYED = ("create_time", "seats", "match", "digest")


def record_of(seed, **kind):
    """The record of a match by its number, of each game and ruleset in turn."""
    game_id, name = hosted_cases()[seed % len(hosted_cases())].values
    return write_record(played(game_id, name, seeded("record", seed), **kind))


def with_its_digest(record):
    """The record with a digest that fits it, as a forger would make it."""
    changed = match_pb2.Record()
    changed.CopyFrom(record)
    changed.digest = digest(changed)
    return changed


def rejected(record):
    """Why a record is rejected, or None if it is accepted."""
    try:
        verify(record)
    except RecordError as error:
        return error
    return None


def test_records_of_all_games_are_accepted():
    for number in range(RECORDS):
        kind = KINDS[number // len(hosted_cases()) % len(KINDS)]
        with told(number=number, kind=kind):
            record = record_of(number, **kind)
            state = verify(record)
            # Written, read and written again, it is the same.
            assert write_record(state) == record
            read = match_pb2.Record.FromString(record.SerializeToString())
            assert write_record(verify(read)) == record


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_every_change_of_a_record_is_found(game_id):
    # A short record with an entry of every kind; in the long form, the record of a whole match.
    kind = {} if LONG else {"entropy": True, "resign_at": 10}
    record = write_record(played(game_id, "default", seeded("changed", game_id), **kind))
    assert rejected(record) is None
    seen = set()
    for path, change in changes(record):
        assert found(path, changed_by(record, change))
        seen.add(path.split("[")[0].split(".")[0].split(" ")[0])
    # All fields that are set in it were changed, and those that are not were set.
    assert seen == {field.name for field in match_pb2.Record.DESCRIPTOR.fields}


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(kind) or "plain")
def test_changes_of_records_of_every_kind_are_found(game_id, kind):
    rng = seeded("some changes", game_id, kind)
    record = write_record(played(game_id, "default", rng, **kind))
    assert rejected(record) is None
    for path, change in rng.sample(changes(record), min(RECORDS, 1000)):
        assert found(path, changed_by(record, change))


def found(path, changed):
    """Whether a change is found, and reported in one line."""
    error = rejected(changed)
    assert error is not None, path
    return str(error) and "\n" not in str(error)


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(kind) or "plain")
def test_forged_changes_are_found_without_the_digest(game_id, kind):
    rng = seeded("forged", game_id, kind)
    record = write_record(played(game_id, "default", rng, **kind))
    # A decision that was held when the match was resigned has led to nothing.
    last = max(n for n, entry in enumerate(record.entries) if entry.HasField("event"))
    held = tuple(f"entries[{n}].action" for n in range(last + 1, len(record.entries)))
    binding = 0
    for path, change in rng.sample(changes(record), min(RECORDS, 1000)):
        if path.startswith((*NOT_REPLAYED, *held)) or ".time" in path:
            continue
        if path.startswith("ruleset."):
            continue
        binding += 1
        assert rejected(with_its_digest(changed_by(record, change))) is not None, path
    assert binding > RECORDS // 4


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_the_first_error_is_reported(game_id):
    record = write_record(played(game_id, "default", seeded("first", game_id)))
    actions = [n for n, each in enumerate(record.entries) if each.HasField("action")]
    events = [n for n, each in enumerate(record.entries) if each.HasField("event")]
    number = next(n for n in events if n > actions[0])
    record.entries[number].event.version += 1
    # What comes later may end the replay.
    record.entries[actions[-1]].action.action.CopyFrom(record.entries[actions[0]].action.action)
    assert rejected(record).field == f"entries[{number}].event.version"
    record.rules_version += 1
    assert rejected(record).field == "rules_version"


def test_impossible_records_are_rejected():
    assert rejected(match_pb2.Record()) is not None
    record = record_of(0)
    unknown = match_pb2.Record.FromString(record.SerializeToString() + b"\xf8\x7f\x01")
    assert "does not know" in str(rejected(unknown))
    # Entropy from seats needs an open seat.
    rng = seeded("no open seat")
    played_by_bots = write_record(played("champion_chess", "default", rng, seats=(1, 1)))
    assert rejected(played_by_bots) is None
    played_by_bots.entropy_from_seats = True
    assert rejected(with_its_digest(played_by_bots)).field == "entropy_from_seats"


def test_a_wrong_secret_is_reported_before_its_consequences():
    record = record_of(0)
    record.secret = record.secret[:-1] + bytes([record.secret[-1] ^ 1])
    assert rejected(with_its_digest(record)).field == "secret_hash"


def test_times_must_not_decrease():
    record = record_of(0)
    assert rejected(record) is None
    actions = [n for n, each in enumerate(record.entries) if each.HasField("action")]
    for number, before in ((actions[0], record.create_time), (actions[3], None)):
        changed = match_pb2.Record()
        changed.CopyFrom(record)
        limit = before or record.entries[actions[2]].time
        changed.entries[number].time.FromMilliseconds(limit.ToMilliseconds())
        # The same time is allowed.
        assert rejected(with_its_digest(changed)) is None
        changed.entries[number].time.FromMilliseconds(limit.ToMilliseconds() - 1)
        assert rejected(with_its_digest(changed)).field == f"entries[{number}].time"
