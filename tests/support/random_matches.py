"""Random matches in memory, as a log would have them, for the tests of records."""

import copy
import hashlib

import pytest

import wire
from service.common.event_loop import finish_now
from service.hosting.consent import MAX_PAUSE_MILLISECONDS
from service.hosting.entries import EntryKind
from service.hosting.match_state import MatchState
from service.hosting.offers import PAUSE, TAKEBACK, AnswerOffer, MakeOffer, Resume, why_not
from service.hosting.records import RecordError, digest, verify
from service.store import Entry, Header
from tests.support.play import note_on_failure
from tests.support.serving import ruleset_of, view_of

SKILLED = 4
BEGAN = 1_700_000_000_000


def begin(game_id, time_control=None, **fields):
    """A new match with the default ruleset and some fields of its header."""
    ruleset = ruleset_of(game_id).SerializeToString()
    rules = wire.hosted_games()[game_id].rules_version
    data = time_control.SerializeToString(deterministic=True) if time_control else b""
    header = Header(
        "one", game_id, ruleset, rules, bytes(32), "one", (0, 0), BEGAN, time_control=data
    )
    return MatchState.begin(header._replace(**fields))


def decide(state, seat, at=None, choose=lambda legal: legal[0]):
    """A match after an action of a seat, the first legal one unless `choose` takes another."""
    action = choose(view_of(state, seat).legal_actions).SerializeToString()
    at = state.time if at is None else at
    return state.after(Entry(EntryKind.ACTION, seat, at, action, state.version))


def random_match(
    game_id,
    name,
    rng,
    *,
    seats=(0, 0),
    entropy=False,
    seeded=False,
    resign_at=None,
    invited=(),
    replaced=False,
    played_on=0,
):
    """Plays a random match to its end, and returns its match state.

    `seats` has the strength of the bot at each seat, 0 for an open one. `resign_at` is a version.
    With `replaced`, the tokens of both seats are replaced now and then, and decisions are
    taken back. The match was played on `played_on` times in a row, from one match after the other.
    """
    start = b""
    if played_on:
        source = random_match(
            game_id,
            name,
            rng,
            entropy=bool(rng.randrange(2)),
            seeded=bool(rng.randrange(2)),
            invited=rng.choice(((), (0,), (0, 1))),
            replaced=True,
            played_on=played_on - 1,
        )
        start = random_moment(source, rng).start_here().message
    match_id = f"{rng.getrandbits(100):020x}"
    ruleset = ruleset_of(game_id, name)
    header = Header(
        match_id=match_id,
        game=game_id,
        ruleset=ruleset.SerializeToString(deterministic=True),
        rules_version=wire.read_ruleset(ruleset, "ruleset").rules_version,
        secret=rng.randbytes(32),
        chance_id="" if seeded else match_id,
        bots=seats,
        created=BEGAN + rng.randrange(10**6),
        entropy_from_seats=entropy,
        invited=invited,
        start=start,
    )
    state = MatchState.begin(header)
    for seat in rng.sample(invited, len(invited)):
        if replaced and 1 - seat not in state.seats.missing:
            state = state.after(Entry(EntryKind.TOKEN, 1 - seat, state.time))
        state = state.after(Entry(EntryKind.JOIN, seat, state.time + 3, b"a key's name"))
    if entropy:
        state = state.after(*contributions(state, rng))
    while not state.over:
        at = state.time + rng.choice((0, 1, 2500))
        if state.version == resign_at:
            state = state.after(Entry(EntryKind.RESIGNATION, seats.index(0), at))
            break
        if replaced and rng.randrange(4) == 0:
            state = state.after(Entry(EntryKind.TOKEN, rng.randrange(2), at))
        if replaced and rng.randrange(3) == 0:
            state = after_offer(state, rng, at)
            at = state.time
        seat = rng.choice(state.deciders)
        action = wire.write_action(state.game, rng.choice(state.match.legal(seat)))
        data = action.SerializeToString(deterministic=True)
        state = state.after(Entry(EntryKind.ACTION, seat, at, data, state.version))
    return state


def after_offer(state, rng, at):
    """A match after an offer at a time, with its answer, if there is one, and after its pause.

    It is the same match where the offer that chance chooses is not allowed.
    """
    seat, kind = rng.randrange(2), rng.choice((TAKEBACK, PAUSE))
    if state.header.bots[seat] or why_not(state, seat, kind):
        return state
    state = state.after(MakeOffer.entry(state, at, seat, kind))
    offer = state.consent.offer
    if offer is not None and rng.randrange(4):
        agreed = rng.randrange(4) > 0
        answering = 1 - seat if agreed else rng.randrange(2)
        state = state.after(AnswerOffer.entry(state, at, answering, offer, agreed))
    if state.consent.paused:
        at += rng.choice((0, 1000, MAX_PAUSE_MILLISECONDS))
        resumed = Entry(EntryKind.RESUME, seat, at)
        state = state.after(Resume.due(state, at) or resumed)
    return state


def foretold(state, rng, choose=None):
    """The decisions of each seat in a match that goes on from a state, and its end.

    They are random, unless `choose` takes one for a state and a seat.
    """
    decisions = [], []
    while not state.over:
        seat = rng.choice(state.deciders)
        chosen = choose(state, seat) if choose else rng.choice(state.match.legal(seat))
        action = wire.write_action(state.game, chosen)
        decisions[seat].append(action)
        data = action.SerializeToString(deterministic=True)
        state = state.after(Entry(EntryKind.ACTION, seat, state.time, data))
    return decisions, state


def is_told(state, seat, since, until):
    """Whether a version after `since`, `until` at most, shows a seat what is not about itself."""
    finish_now(state.recalling_events())
    events = [event for version in range(since, until) for event in state.events(version + 1)]
    return any(e.seat != seat and e.seen_by(seat) and e.recorded for e in events)


def random_moment(state, rng):
    """A match that is over as it was at one of the versions at which a seat had to decide."""
    while True:
        earlier = finish_now(state.going_back(rng.randrange(state.version)))
        if earlier.match is not None and earlier.deciders:
            return earlier


def contributions(state, rng):
    """Entries with which the open seats of a match contribute entropy."""
    seats = [seat for seat in (0, 1) if not state.header.bots[seat]]
    rng.shuffle(seats)
    bytes_of = {seat: rng.randbytes(rng.randrange(16, 65)) for seat in seats}
    hashes = {seat: hashlib.sha256(data).digest() for seat, data in bytes_of.items()}
    at = state.time
    return [
        *(Entry(EntryKind.ENTROPY_HASH, seat, at + 5, hashes[seat]) for seat in seats),
        *(Entry(EntryKind.ENTROPY, seat, at + 9, bytes_of[seat]) for seat in reversed(seats)),
    ]


def check_state(state):
    """Checks that the fields of a state fit together; returns what they say, but what grows."""
    match, over = state.match, state.over
    assert len(state.entries) == state.version < len(state.history.events)
    assert (match is None) == bool(state.seats.missing or state.contributions)
    assert over == (state.early_end is not None or (match is not None and match.over))
    paused = state.consent.paused is not None
    assert state.deciders == (() if over or match is None or paused else match.deciders)
    assert bool(state.deciders) == (not over and match is not None and not paused)
    assert (state.clocks is None) == (not state.header.time_control)
    assert state.clocks is not None or state.default_actions == (0, 0)
    assert (state.start is None) == (not state.header.start) == (not state.origin)
    kept = state.seats, state.clocks, state.deciders, state.entries, state.consent, state.undo
    return match and bytes(match), *kept


def check_forgeries(record, *changes):
    """Checks that a record is refused after each of some changes, though its digest is right."""
    for change in changes:
        changed = copy.deepcopy(record)
        change(changed)
        changed.digest = digest(changed)
        with note_on_failure(change=change.__name__), pytest.raises(RecordError):
            verify(changed)
