"""Takebacks and pauses: what comes about by consent, and what is refused."""

import itertools
from functools import partial

import pytest

import wire
from engine.errors import ActionError
from engine.game import SPECTATOR
from engine.match import Match
from service.common.event_loop import finish_now
from service.hosting.consent import MAX_OFFERS, MAX_PAUSE_MILLISECONDS
from service.hosting.entries import EntryKind
from service.hosting.match_state import MatchState
from service.hosting.offers import PAUSE, TAKEBACK, AnswerOffer, MakeOffer, Resume, why_not
from service.hosting.records import verify, write_record
from service.hosting.seats import Caller
from service.reviewing.steps import reading_steps
from service.store import Entry
from tests.support.play import note_on_failure, seeded
from tests.support.random_matches import after_offer, begin, check_forgeries, check_state, decide
from tests.support.serving import view_of
from tests.support.stores import stored_match
from tests.support.time_controls import control
from wire.errors import Refusal

SEEDS = range(8)
MOST = 120  # Versions.
VIEWERS = (0, 1, SPECTATOR)
CHANGED = ("version", "etag", "clocks", "takeback_count", "takeback_version", "offer")
HOUR = 3_600_000


def chooser(rng):
    """Chooses actions at random."""
    return lambda legal: rng.choice(legal)


def shown_before(state):
    """What each viewer sees, but what a takeback changes."""
    views = [view_of(state, viewer) for viewer in VIEWERS]
    for view in views:
        for field in CHANGED:
            view.ClearField(field)
    return views


def offered(state, seat, kind, at=None):
    return state.after(MakeOffer.entry(state, state.time if at is None else at, seat, kind))


def answered(state, agreed=True, seat=None, at=None):
    offer = state.consent.offer
    seat = 1 - offer.seat if seat is None else seat
    at = state.time if at is None else at
    return state.after(AnswerOffer.entry(state, at, seat, offer, agreed))


def paused(state, seat, at=None):
    return answered(offered(state, seat, PAUSE, at), at=at)


def resumed(state, seat, at):
    return state.after(Entry(EntryKind.RESUME, seat, at))


def unseen(match, seat):
    """How many copies of each card a seat does not see."""
    return [sum(copies) for copies in zip(*match.position.hidden(seat).values(), strict=True)]


def learned(before, after, secret):
    """Whether a decision has shown a card to a seat, or has drawn chance, between two matches."""
    for seat in (0, 1):
        pairs = zip(unseen(before.match, seat), unseen(after.match, seat), strict=True)
        if any(now < was for was, now in pairs):
            return True
    entry = after.entries[-1]
    match = before.match
    again = Match.from_bytes(match.game, bytes(match)[:40] + secret + bytes(match)[72:])
    again.apply(entry.seat, wire.parse_action(before.game, entry.action))
    return any(again.view(viewer) != after.match.view(viewer) for viewer in VIEWERS)


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_takeback_shows_the_match_as_it_was_and_draws_no_other_chance(game_id):
    found = 0
    for seed in SEEDS:
        rng = seeded("takeback", game_id, seed)
        with note_on_failure(game=game_id, seed=seed):
            time_control = control(per_match=HOUR) if seed % 2 else None
            state = begin(game_id, time_control, secret=rng.randbytes(32))
            before = [None, None]  # By seat: the match before its last decision.
            while not state.over and state.version < MOST:
                seat = rng.choice(state.deciders)
                past, state = state, decide(state, seat, choose=chooser(rng))
                before[seat] = past
                joint = not state.over and not past.match.held and not state.match.held
                if joint and learned(past, state, rng.randbytes(32)):
                    assert state.undo == (None, None)
                seats = [each for each in (0, 1) if state.undo[each] is not None]
                if not seats or rng.randrange(2):
                    continue
                taker = rng.choice(seats)
                found += 1
                assert view_of(state, taker).takeback_version == before[taker].version
                state = offered(state, taker, TAKEBACK)
                assert shown_before(state) != shown_before(before[taker])
                state = answered(state)
                assert shown_before(state) == shown_before(before[taker])
                assert state.match == before[taker].match
                assert view_of(state, SPECTATOR).takeback_count == len(state.consent.takebacks)
                check_state(state)
                before = [None, None]
            # As if what was taken back had never been decided.
            plain = begin(game_id, time_control, secret=state.header.secret)
            for version, entry in enumerate(state.entries, 1):
                if entry.kind == EntryKind.ACTION and version not in state.seats.aside:
                    plain = plain.after(entry._replace(course=b"", digest=b""))
            assert plain.match == state.match
    assert found or game_id == "powershot_soccer"  # Whose every decision shows a card.


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_a_record_tells_of_offers_and_verifies(game_id):
    for seed in SEEDS:
        rng = seeded("record", game_id, seed)
        state = begin(game_id, control(per_match=HOUR), secret=rng.randbytes(32))
        while not state.over:
            if rng.randrange(3) == 0:
                state = after_offer(state, rng, state.time + 1)
            if state.version > MOST:
                state = state.after(Entry(EntryKind.RESIGNATION, 0, state.time))
                break
            state = decide(state, rng.choice(state.deciders), choose=chooser(rng))
        record = write_record(state)
        assert check_state(verify(record))[0] == check_state(state)[0]
        # A review sees the decisions that stand, and chance between them.
        steps = finish_now(reading_steps(record))
        for before, step in itertools.pairwise(steps.steps):
            assert step.before == before.after
        assert steps.steps[-1].after == state.match.position
        versions = [each.version for each in steps.decisions]
        assert not {version + 1 for version in versions} & set(state.seats.aside)
        told = [each for each in record.entries if each.WhichOneof("entry").startswith("offer")]
        assert told or not any(state.consent.offers)

        def other_version(changed):
            for entry in changed.entries:
                if entry.HasField("offer_made"):
                    entry.offer_made.takeback_version += 1

        if told:
            check_forgeries(record, other_version)


def test_a_decision_from_before_a_takeback_is_stale():
    state = decide(begin("skystones"), 0)
    state = answered(offered(state, 0, TAKEBACK))
    for seat in (0, 1):
        for version in range(state.version):
            assert state.is_stale(seat, version)
        assert not state.is_stale(seat, state.version)
    state = decide(state, 0)
    assert not state.is_stale(1, state.version - 1)
    assert state.is_stale(0, state.version - 1)


def test_an_offer_lapses_with_a_decision_and_is_made_once_between_two():
    state = decide(begin("skystones", control(per_match=HOUR)), 0)
    for kind in (TAKEBACK, PAUSE):
        state = answered(offered(state, 0, kind), agreed=False)
        with pytest.raises(ActionError, match="no seat has decided since"):
            offered(state, 0, kind)
    state = offered(state, 1, PAUSE)
    with pytest.raises(ActionError, match="waits for its answer"):
        offered(state, 1, TAKEBACK)
    state = decide(state, 1)
    assert state.consent.offer is None
    assert not why_not(state, 0, PAUSE)
    state = state._replace(consent=state.consent._replace(offers=(MAX_OFFERS, 0)))
    assert "at most" in why_not(state, 0, PAUSE)
    assert not why_not(state, 1, PAUSE)


def test_no_seat_agrees_to_its_own_offer():
    state = offered(decide(begin("skystones"), 0), 0, TAKEBACK)
    with pytest.raises(ActionError):
        answered(state, seat=0)
    assert answered(state, agreed=False, seat=0).consent.offer is None


@pytest.mark.parametrize("game_id", wire.hosted_games())
@pytest.mark.parametrize("per_match", [True, False])
def test_clocks_stand_still_in_a_pause(game_id, per_match):
    limits = {"per_match": HOUR} if per_match else {"per_decision": HOUR}
    state = begin(game_id, control(**limits))
    start = state.time
    deciders, deadline = state.deciders, state.deadline
    state = paused(state, 1, start + 1000)
    assert state.deciders == ()
    assert state.deadline == state.status.due == start + 1000 + MAX_PAUSE_MILLISECONDS
    assert not state.can_be_idle
    view = view_of(state, 0)
    assert not view.legal_actions
    assert view.pause_end_time.ToMilliseconds() == state.deadline
    assert not any(clock.HasField("deadline") for clock in view.clocks.seats)
    with pytest.raises(Refusal, match="paused"):
        state.check_decides(deciders[0])
    # What happens meanwhile changes nothing of the clocks.
    state = state.after(Entry(EntryKind.TOKEN, 0, start + 5 * HOUR))
    if per_match:
        assert all(
            each.time_left.ToMilliseconds() >= HOUR - 1000
            for each in view_of(state, 0).clocks.seats
        )
    again = resumed(state, 0, start + 9 * HOUR)
    assert (again.deciders, again.deadline) == (deciders, deadline + 9 * HOUR - 1000)
    assert again.expired(again.deadline) and not again.expired(again.deadline - 1)
    # A pause that lasts too long ends by itself, and not before.
    assert Resume.due(state, state.deadline - 1) is None
    late = state.deadline + 5
    due = Resume.due(state, late)
    assert state.after(due).deadline == deadline + late - start - 1000
    with pytest.raises(ActionError):
        resumed(state, 0, late)
    with pytest.raises(ActionError):
        state.after(due._replace(at=state.deadline - 1))
    ended = state.after(Entry(EntryKind.RESIGNATION, 0, start + 6 * HOUR))
    assert not view_of(ended, 0).HasField("pause_end_time")
    if per_match:
        assert all(
            each.time_left.ToMilliseconds() >= HOUR - 1000
            for each in view_of(ended, 0).clocks.seats
        )


def test_a_paused_match_is_loaded_from_a_snapshot():
    state = decide(begin("skystones", control(per_match=HOUR)), 0)
    for held in (paused(state, 0), paused(decide(state, 1), 1)):
        for later in (held, resumed(held, 0, held.time + HOUR)):
            loaded = MatchState.load(stored_match(later, held.snapshot()))
            assert check_state(loaded) == check_state(later)
            assert loaded.status == later.status


def test_a_takeback_gives_no_time_back():
    state = begin("skystones", control(per_match=HOUR, increment=60_000))
    start = state.time
    for number in itertools.count(1):
        state = decide(state, 0, start + 1000 * number)
        state = answered(offered(state, 0, TAKEBACK), at=start + 1000 * number + 500)
        # The increment is taken back with the decision, and what was thought is not.
        used = [1000 + 500 * (number - 1), 1000 * number + 500]
        left = [state.clocks.left_at(seat, state.time, owes=True) for seat in (0, 1)]
        assert left == [HOUR - each for each in used]
        if number == 3:
            return


def test_thought_for_a_decision_that_is_taken_back_counts_for_it():
    state = begin("skystones", control(per_decision=10_000))
    start = state.time
    state = answered(offered(decide(state, 0, start + 9000), 0, TAKEBACK), at=start + 9500)
    assert state.deadline == start + 10_000 and state.expired(state.deadline) == (1,)
    state = decide(state, 1, start + 9600)
    assert state.deadline == start + 10_500


def test_no_takeback_goes_back_before_a_pause():
    state = begin("skystones", control(per_match=HOUR))
    state = paused(decide(state, 0), 0)
    state = resumed(state, 1, state.time + HOUR)
    assert "paused" in why_not(state, 0, TAKEBACK)


def test_a_repeated_call_answers_for_its_own_offer_alone():
    state = begin("skystones", control(per_match=HOUR))
    match_id = state.header.match_id
    first, second = Caller(match_id, 0), Caller(match_id, 1, 1)
    state = offered(decide(state, 0), 0, PAUSE)
    offer = state.version
    assert MakeOffer.ask(state, state.time, first, PAUSE).version == offer
    state = state.after(Entry(EntryKind.TOKEN, 1, state.time))
    assert MakeOffer.ask(state, state.time, first, PAUSE).state is state
    done = answered(state)
    assert AnswerOffer.ask(done, done.time, second, offer, True).state is done
    # Another offer, to which the seat agrees, is not the one that has lapsed.
    state = answered(offered(decide(state, 1), 0, PAUSE))
    for version in (0, offer - 1, offer):
        with pytest.raises(Refusal, match="does not wait"):
            AnswerOffer.ask(state, state.time, second, version, True)


def test_an_answer_is_to_the_offer_of_its_branch_alone():
    state = decide(begin("skystones", control(per_match=HOUR)), 0)
    seen, other = offered(state, 0, PAUSE), offered(state, 0, PAUSE, state.time + 1)
    answer = partial(AnswerOffer.ask, at=state.time, caller=Caller(state.header.match_id, 1))
    answer = partial(answer, offer_version=seen.version, agreed=True, etag=seen.etag(seen.version))
    assert answer(seen).state.consent.paused
    assert answer(answer(seen).state).version == seen.version + 1
    assert other.version == seen.version
    with pytest.raises(Refusal, match="does not wait"):
        answer(other)


def test_there_is_no_pause_without_a_clock_and_no_offer_before_the_deal():
    assert "no clock" in why_not(begin("skystones"), 0, PAUSE)
    waiting = begin("skystones", control(per_match=HOUR), invited=(1,))
    for kind in (PAUSE, TAKEBACK):
        assert "not dealt" in why_not(waiting, 0, kind)
        assert why_not(begin("skystones", control(per_match=HOUR)), 0, TAKEBACK)


def test_a_bot_agrees_at_once():
    state = begin("skystones", control(per_match=HOUR), bots=(0, 1))
    state = offered(decide(state, 0), 0, TAKEBACK)
    assert (state.consent.offer, len(state.consent.takebacks)) == (None, 1)
    state = offered(state, 0, PAUSE)
    assert state.consent.paused and state.bot_due is None
    assert resumed(state, 0, state.time).bot_due == 1
