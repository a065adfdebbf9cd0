"""A record is accepted as it is, and rejected after any change."""

import copy
import os
import re
from collections import defaultdict

import pytest

import wire
from croupier.v1 import match_pb2
from service.common.event_loop import finish_now
from service.hosting.records import (
    MAX_TIME,
    RecordError,
    digest,
    replaying_record,
    verify,
    write_record,
)
from tests.support.changes import changed_by, changes
from tests.support.play import note_on_failure, seeded
from tests.support.random_matches import SKILLED, random_match
from tests.support.serving import hosted_cases

# `make records` sets TEST_RECORDS=1000 for the long form.
RECORDS = int(os.environ.get("TEST_RECORDS", "40"))
LONG = RECORDS >= 1000
CHANGES = 1000 if LONG else 12  # Of one record.
ALIKE = (
    10**9 if LONG else 12
)  # Of the changes of one record that differ only in numbers of elements.

# Kinds of matches, as arguments of `random_match`.
KINDS = (
    {},
    {"seats": (0, SKILLED)},
    {"seeded": True},
    {"entropy": True},
    {"entropy": True, "seats": (SKILLED, 0)},
    {"resign_at": 5},
    {"entropy": True, "resign_at": 2},
    {"invited": (1,), "replaced": True},
    {"invited": (0, 1), "entropy": True},
    {"invited": (0,), "seats": (0, SKILLED)},
    {"played_on": 2},
    {"played_on": 1, "entropy": True, "invited": (1,)},
)

# The replay does not depend on the time of the match, the strength of a bot, the name of a seeded
# match, the model of bots, the name of the match before, or the unused parts of a ruleset, so only
# the digest reveals a change of these fields.
NOT_REPLAYED = ("create_time", "erased_seats", "seats", "name", "model", "digest", "start.origin")


def record_of(seed, **kind):
    """The record of a random match. Successive seeds go through all games and rulesets."""
    game_id, name = hosted_cases()[seed % len(hosted_cases())].values
    return write_record(random_match(game_id, name, seeded("record", seed), **kind))


def with_new_digest(record):
    """A copy of a record with the digest recomputed, as a forger would do."""
    changed = copy.deepcopy(record)
    changed.digest = digest(changed)
    return changed


def rejected(record):
    """The error for which a record is rejected, or None if it is accepted."""
    try:
        verify(record)
    except RecordError as error:
        return error
    return None


def test_records_of_all_games_are_accepted():
    for number in range(RECORDS):
        # Each time through the rulesets, they get other kinds.
        kind = KINDS[(number + number // len(hosted_cases())) % len(KINDS)]
        with note_on_failure(number=number, kind=kind):
            record = record_of(number, **kind)
            state = verify(record)
            # Writing the verified record gives the same record, also after serialization.
            assert write_record(state) == record
            read = match_pb2.MatchRecord.FromString(record.SerializeToString())
            assert write_record(verify(read)) == record


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_every_change_of_a_record_is_found(game_id):
    # The long form takes a whole match, the short one a short match with every kind of entry, and
    # of the changes that differ only in the numbers of elements some.
    kind = {} if LONG else {"entropy": True, "resign_at": 4}
    rng = seeded("changed", game_id)
    record = write_record(random_match(game_id, "default", rng, **kind))
    assert rejected(record) is None
    alike = defaultdict(list)
    for path, change in changes(record):
        alike[re.sub(r"\d+", "", path)].append((path, change))
    seen = set()
    for each in alike.values():
        for path, change in rng.sample(each, min(len(each), ALIKE)):
            assert found(path, changed_by(record, change))
        seen.add(path.split("[")[0].split(".")[0].split(" ")[0])
    # Every field of a record was changed or, if it was not set, set.
    assert seen == {field.name for field in match_pb2.MatchRecord.DESCRIPTOR.fields}


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_record_may_leave_the_ending_out_or_word_it_otherwise(game_id):
    record = write_record(random_match(game_id, "default", seeded("ending", game_id)))
    accepted = {
        path
        for path, change in changes(record)
        if path.startswith("result.ending")
        and rejected(with_new_digest(changed_by(record, change))) is None
        and found(path, changed_by(record, change))
    }
    assert accepted == {"result.ending", "result.ending.text"}


def test_a_record_cannot_say_what_decided_a_match_that_ended_early():
    record = record_of(0, resign_at=3)
    record.result.ending.id = "castle_stormed"
    assert rejected(with_new_digest(record)).field == "result.ending"


def test_a_record_cannot_say_that_a_bot_has_resigned():
    record = record_of(0, seats=(0, SKILLED), resign_at=3)
    record.entries[-1].resignation.seat = 1
    assert rejected(record).field.endswith("].resignation.seat")


def found(path, changed):
    """Whether a changed record is rejected with an error of one line."""
    error = rejected(changed)
    assert error is not None, path
    return str(error) and "\n" not in str(error)


# The short form has each kind of match in one game, and three kinds of each game.
CHANGED = [
    pytest.param(game_id, kind, id=f"{game_id}-{'-'.join(kind) or 'plain'}")
    for place, kind in enumerate(KINDS)
    for number, game_id in enumerate(wire.hosted_games())
    if LONG or number == place % len(wire.hosted_games())
]


@pytest.mark.parametrize(("game_id", "kind"), CHANGED)
def test_changes_are_found_also_without_the_digest(game_id, kind):
    rng = seeded("changes", game_id, kind)
    record = write_record(random_match(game_id, "default", rng, **kind))
    assert rejected(record) is None
    # A decision that was still held at a resignation has had no effect, so its change is not found,
    # nor is an entry without an effect in its place.
    last = max(n for n, entry in enumerate(record.entries) if entry.HasField("event"))
    held = tuple(
        f"entries[{n}].{kind}"
        for n in range(last + 1, len(record.entries))
        for kind in ("action", "seat_token_replaced")
    )
    checked = 0
    for path, change in rng.sample(changes(record), CHANGES):
        changed = changed_by(record, change)
        assert found(path, changed)
        if path.startswith((*NOT_REPLAYED, *held)) or ".time" in path:
            continue
        # A record may leave the ending out, or word it otherwise.
        if path in ("result.ending", "result.ending.text") and not kind.get("resign_at"):
            continue
        # Which seat got another token has no effect on the match.
        if path.startswith("ruleset.") or path.endswith("seat_token_replaced.seat"):
            continue
        checked += 1
        assert rejected(with_new_digest(changed)) is not None, path
    assert checked > CHANGES // 8


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_the_first_error_is_reported(game_id):
    record = write_record(random_match(game_id, "default", seeded("first", game_id)))
    actions = [n for n, each in enumerate(record.entries) if each.HasField("action")]
    events = [n for n, each in enumerate(record.entries) if each.HasField("event")]
    number = next(n for n in events if n > actions[0])
    record.entries[number].event.version += 1
    # A later error, which may end the replay, must not hide this one.
    record.entries[actions[-1]].action.action.CopyFrom(record.entries[actions[0]].action.action)
    assert rejected(record).field == f"entries[{number}].event.version"
    for version in (record.rules_version + 1, 2**31, 2**32 - 1):
        record.rules_version = version
        assert rejected(record).field == "rules_version"


def test_impossible_records_are_rejected():
    assert rejected(match_pb2.MatchRecord()) is not None
    record = record_of(0)
    unknown = match_pb2.MatchRecord.FromString(record.SerializeToString() + b"\xf8\x7f\x01")
    assert "does not know" in str(rejected(unknown))
    # Entropy from seats needs an open seat.
    rng = seeded("no open seat")
    match_of_bots = write_record(random_match("champion_chess", "default", rng, seats=(1, 1)))
    assert rejected(match_of_bots) is None
    match_of_bots.entropy_from_seats = True
    assert rejected(with_new_digest(match_of_bots)).field == "entropy_from_seats"
    # A model needs a bot.
    match_of_people = record_of(0)
    match_of_people.model = "some_game-01234567"
    assert rejected(with_new_digest(match_of_people)).field == "model"


def test_a_wrong_secret_is_reported_before_its_consequences():
    record = record_of(0)
    record.secret = record.secret[:-1] + bytes([record.secret[-1] ^ 1])
    assert rejected(with_new_digest(record)).field == "secret_hash"


def test_times_must_not_decrease():
    record = record_of(0)
    assert rejected(record) is None
    actions = [n for n, each in enumerate(record.entries) if each.HasField("action")]
    for number, before in ((actions[0], record.create_time), (actions[3], None)):
        changed = copy.deepcopy(record)
        limit = before or record.entries[actions[2]].time
        changed.entries[number].time.FromMilliseconds(limit.ToMilliseconds())
        # Equal times are allowed.
        assert rejected(with_new_digest(changed)) is None
        changed.entries[number].time.FromMilliseconds(limit.ToMilliseconds() - 1)
        assert rejected(with_new_digest(changed)).field == f"entries[{number}].time"


def test_a_time_is_rejected_of_which_no_deadline_could_follow():
    record = record_of(0)
    for each in record.entries:
        if each.HasField("time"):
            each.time.FromMilliseconds(MAX_TIME)
    assert rejected(with_new_digest(record)) is None
    last = max(n for n, each in enumerate(record.entries) if each.HasField("time"))
    record.entries[last].time.FromMilliseconds(MAX_TIME + 1)
    assert "too late" in str(rejected(with_new_digest(record)))
    assert rejected(record).field == f"entries[{last}].time"


@pytest.mark.parametrize("seed", range(4))
def test_a_record_that_is_sent_tells_what_happened_or_is_refused(seed):
    record = record_of(seed)
    assert finish_now(replaying_record(record)).over
    chance = seeded("told otherwise", seed)
    events = [number for number, each in enumerate(record.entries) if each.HasField("event")]
    for change in ("drop", "again", "other", "version"):
        number = chance.choice(events)
        changed = copy.deepcopy(record)
        if change == "drop":
            del changed.entries[number]
        elif change == "again":
            changed.entries.append(record.entries[number])
        elif change == "version":
            changed.entries[number].version += 1
        else:
            others = [n for n in events if record.entries[n].event != record.entries[number].event]
            changed.entries[number].event.CopyFrom(record.entries[chance.choice(others)].event)
        with pytest.raises(RecordError, match=r"^entries\["):
            finish_now(replaying_record(with_new_digest(changed)))
