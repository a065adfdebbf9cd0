"""A snapshot spares a replay and changes no result. One that does not fit is ignored."""

import os

import pytest

import wire
from service.hosting import history
from service.hosting.entries import EntryKind
from service.hosting.history import read_snapshot
from service.hosting.match_state import MatchState
from service.hosting.records import writing_record
from service.store import Entry, Snapshot, chain
from tests.support.play import seeded
from tests.support.random_matches import after_offer, begin, check_state
from tests.support.serving import shown, view_of
from tests.support.stores import bare, stored_match

SNAPSHOTS = int(os.environ.get("TEST_SNAPSHOTS", "10"))  # Of each match.


def match_states(game_id, resigned=False, invited=()):
    """The match states of a random match from the deal on, one per version.

    With an invited seat, tokens are replaced before the deal and during the match.
    """
    state = begin(game_id, secret=bytes(range(32)), created=5, invited=invited)
    rng = seeded(game_id, "snapshots")
    for seat in invited:
        state = state.after(Entry(EntryKind.TOKEN, 1 - seat, 6), Entry(EntryKind.JOIN, seat, 6))
    matches = [state]
    while not state.over:
        seat = rng.choice(state.deciders)
        action = rng.choice(view_of(state, seat).legal_actions).SerializeToString()
        request_id = f"{state.version}"
        entry = Entry(EntryKind.ACTION, seat, 6, action, state.version, request_id)
        if resigned and state.version == 5:
            entry = Entry(EntryKind.RESIGNATION, seat, 7)
        if invited and state.version % 3 == 0:
            entry = Entry(EntryKind.TOKEN, state.version % 2, 6, request_id=request_id)
        state = state.after(entry)
        matches.append(state)
        if invited and not state.over:
            before, state = state, after_offer(state, rng, state.time)
            matches += [
                before.after(*state.entries[before.version : n])
                for n in range(before.version + 1, state.version + 1)
            ]
    return matches


def sample(matches, rng):
    """Some of the states of a match: the first and the last ones and some between them."""
    if len(matches) <= SNAPSHOTS:
        return matches
    few = SNAPSHOTS // 3
    return [*matches[:few], *rng.sample(matches[few:-few], SNAPSHOTS - 2 * few), *matches[-few:]]


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize(("resigned", "invited"), [(False, ()), (True, ()), (False, (1,))], ids=str)
def test_a_match_loaded_from_a_snapshot_shows_the_same_bytes(game_id, resigned, invited):
    matches = match_states(game_id, resigned, invited)
    last = matches[-1]
    for match in sample(matches, seeded(game_id, "sample")):
        stored = stored_match(last, snapshot=match.snapshot())
        loaded = MatchState.load(stored)
        assert loaded.match == last.match
        assert check_state(loaded) == check_state(last)
        assert (loaded.entries, loaded.early_end) == (last.entries, last.early_end)
        # The events of entries before the snapshot were not computed, except for the end.
        skipped = match.version - (match.early_end is not None)
        if skipped == last.version:
            skipped = 0
        assert sum(events is None for events in loaded.history.events) == skipped
        assert shown(loaded) == shown(last)
        for version, entry in enumerate(last.entries, 1):
            expected = version if entry.request_id else None
            assert loaded.version_of(entry.seat, entry.request_id) == expected


def test_the_record_of_a_match_from_a_snapshot_is_written_piece_by_piece():
    *_, middle, last = match_states("castle_rampage")
    loaded = MatchState.load(stored_match(last, middle.snapshot()))
    # Each version is replayed, and each is written.
    assert sum(1 for _ in writing_record(loaded)) >= 2 * last.version


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_match_continues_from_a_snapshot(game_id):
    matches = match_states(game_id)
    middle, last = matches[len(matches) // 2], matches[-1]
    state = MatchState.load(stored_match(middle, snapshot=middle.snapshot()))
    for entry in last.entries[middle.version :]:
        state = state.after(entry)
    assert state.match == last.match
    assert shown(state) == shown(last)


def other_headers(header):
    yield header._replace(match_id="two")
    yield header._replace(ruleset=header.ruleset + b"\0\0")
    yield header._replace(time_control=b"\0\0")


def test_a_snapshot_that_does_not_fit_is_ignored(monkeypatch):
    matches = match_states("skystones")
    middle, last = matches[len(matches) // 2], matches[-1]
    good = middle.snapshot()
    game, header = middle.game, middle.header
    digest = middle.head.digest
    assert read_snapshot(game, None, good, digest) == (middle.match, None, (None, None))
    broken = [
        good._replace(version=good.version + 1),
        good._replace(data=b""),
        good._replace(data=good.data[:-1]),
        good._replace(data=good.data + b"\0"),
        Snapshot(good.version, b"\0" * len(good.data)),
    ]
    for at in range(0, len(good.data), 97):
        data = bytearray(good.data)
        data[at] ^= 1
        broken.append(good._replace(data=bytes(data)))
    for snapshot in broken:
        assert read_snapshot(game, None, snapshot, digest) is None
        loaded = MatchState.load(stored_match(last, snapshot=snapshot))
        assert None not in loaded.history.events
        assert loaded.match == last.match
    for other in other_headers(header):
        its_digest = chain.first_digest(other)
        for entry in middle.entries:
            its_digest = chain.next_digest(its_digest, entry, entry.course)
        assert read_snapshot(game, None, good, its_digest) is None
    # A snapshot is ahead of a log that was restored from a backup.
    before = matches[middle.version - 1]
    assert MatchState.load(stored_match(before, snapshot=good)).match == before.match
    # A standby of the database lacked the last entry, and another one was made in its place.
    [lost] = bare(middle.entries[-1:])
    another = before.after(lost._replace(request_id="another"))
    assert read_snapshot(game, None, good, another.head.digest) is None
    assert None not in MatchState.load(stored_match(another, snapshot=good)).history.events
    # Other code ignores the snapshot.
    monkeypatch.setattr(history, "code_of", lambda game_id: b"another")
    assert read_snapshot(game, None, good, digest) is None


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_an_uncommitted_entry_leaves_no_trace_in_the_match(game_id):
    before = match_states(game_id)[4]
    seat = before.deciders[0]
    action = view_of(before, seat).legal_actions[0].SerializeToString()
    entries = [Entry(EntryKind.ACTION, seat, 6, action, 4, name) for name in ("one", "two")]
    alone = before.after(entries[0])
    all_of_it = shown(alone)
    other = before.after(entries[1])
    assert (before.version, alone.version, other.version) == (4, 5, 5)
    assert [each.version_of(seat, "one") for each in (before, alone, other)] == [None, 5, None]
    assert [each.version_of(seat, "two") for each in (before, alone, other)] == [None, None, 5]
    assert bare(alone.entries) == bare([*before.entries, entries[0]])
    assert bare(other.entries) == bare([*before.entries, entries[1]])
    assert shown(alone) == all_of_it
