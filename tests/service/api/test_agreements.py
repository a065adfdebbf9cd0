"""Two accounts abort a match, take decisions back and pause, with a spectator."""

import pytest

import wire
from croupier.client import (
    INVITED,
    CroupierError,
    Seat,
    bot,
    clock,
    open_seat,
)
from croupier.v1 import game_pb2, match_pb2
from croupier.v1.game_pb2 import END_REASON_ABORTED
from service.hosting.consent import MAX_PAUSE_MILLISECONDS
from service.hosting.records import RecordError, verify
from tests.support.houses import GAME, decide, refusal, two
from tests.support.serving import ruleset_of


@pytest.mark.parametrize("game", wire.hosted_games())
def test_a_match_is_aborted_until_both_have_decided(house, game):
    for decisions in range(100):
        seats, spectator = two(house, game)
        # Where both decide at once, the second one begins.
        decided = {decide(seats, max(seats[0].view().deciders)) for _ in range(decisions)}
        assert (
            refusal(Seat(spectator.client, spectator.match, spectator.token).abort) == "SPECTATOR"
        )
        if len(decided) == 2:
            break
        before = spectator.view()
        assert not before.HasField("result")
        end = seats[decisions % 2].abort()
        assert (end.result.reason, list(end.result.scores)) == (END_REASON_ABORTED, [])
        assert seats[decisions % 2].abort() == end
        assert seats[1 - decisions % 2].abort().result == spectator.view().result == end.result
        events = [each for told in spectator.watch(before.version) for each in told.events]
        assert [each.WhichOneof("event") for each in events] == ["seat_aborted", "match_ended"]
        assert events[0].seat_aborted.seat == decisions % 2
        for seat in seats:
            assert refusal(seat.resign) == "MATCH_OVER"
        record = spectator.record()
        assert verify(record) is not None
        record.entries[-1].seat_aborted.seat ^= 1
        with pytest.raises(RecordError):
            verify(record)
    assert decisions >= 1
    for seat in seats:
        assert refusal(seat.abort) == "BOTH_DECIDED"
    assert not spectator.view().HasField("result")


def agreed(seats, seat, kind):
    """Lets a seat offer something and the other one agree; returns the view of that one."""
    seats[seat].offer(kind)
    other = seats[1 - seat]
    return other.answer_offer(other.view().offer, agree=True)


def kinds_told(spectator, version):
    """The kinds of the events after a version of a match that is over."""
    told = [each for response in spectator.watch(version) for each in response.events]
    return [each.WhichOneof("event") for each in told]


def test_two_accounts_take_a_decision_back_and_a_spectator_sees_it(house):
    seats, spectator = two(house)
    before = [each.view() for each in (*seats, spectator)]
    assert refusal(seats[0].offer, "takeback") == "OFFER_NOT_ALLOWED"
    seats[0].submit(before[0].legal_actions[0], then=[before[0].legal_actions[0]])
    asked = seats[0].offer("takeback")
    assert seats[0].offer("takeback") == asked
    assert spectator.view().offer == seats[1].view().offer == asked.offer
    assert refusal(seats[0].answer_offer, asked.offer, agree=True) == "OFFER_NOT_ALLOWED"
    watcher = Seat(spectator.client, spectator.match, spectator.token)
    assert refusal(watcher.offer, "takeback") == "SPECTATOR"
    back = seats[1].answer_offer(asked.offer, agree=True)
    assert seats[1].answer_offer(asked.offer, agree=True) == back
    assert refusal(seats[1].answer_offer, asked.offer, agree=False) == "OFFER_NOT_OPEN"
    for was, seat in zip(before, (*seats, spectator), strict=True):
        view = seat.view()
        assert (view.takeback_count, view.HasField("offer")) == (1, False)
        assert view.skystones == was.skystones
        assert (view.legal_actions, view.deciders) == (was.legal_actions, was.deciders)
        assert not view.HasField("decisions_ahead")
    seats[0].resign()
    told = kinds_told(spectator, before[0].version)
    assert told == ["seat_decided", "offer_made", "offer_answered", "match_ended"]
    record = spectator.record()
    verify(record)
    assert any(
        entry.offer_answered.takeback_version == before[0].version for entry in record.entries
    )


def test_two_accounts_pause_and_either_resumes(house):
    seats, spectator = two(house, time_control=clock(per_match=60))
    action = seats[0].view().legal_actions[0]
    seats[0].offer("pause")
    seats[0].answer_offer(seats[0].view().offer, agree=False)  # Withdrawn.
    paused = agreed(seats, 1, "pause")
    assert paused.HasField("pause_end_time") and not paused.deciders
    assert spectator.view().pause_end_time == paused.pause_end_time
    assert refusal(seats[0].submit, action, paused.version) == "MATCH_PAUSED"
    house.pass_time(3600_000)
    assert seats[0].view() == paused
    resumed = seats[0].resume()
    assert seats[1].resume().version == resumed.version
    assert resumed.deciders and not resumed.HasField("pause_end_time")
    left = [each.deadline.ToMilliseconds() - house.clock.now() for each in resumed.clocks.seats]
    assert all(50_000 < each <= 60_000 for each in left)
    decide(seats)
    seats[1].resign()
    assert "match_resumed" in kinds_told(spectator, 0)
    verify(spectator.record())


def test_a_pause_ends_by_itself(house):
    seats, _ = two(house, time_control=clock(per_match=60))
    paused = agreed(seats, 0, "pause")
    house.pass_time(MAX_PAUSE_MILLISECONDS)
    resumed = seats[0].view(wait_for_version=paused.version + 1)
    assert resumed.deciders and not resumed.HasField("result")
    house.pass_time(60_000)
    assert seats[0].view(wait_for_version=resumed.version + 1).HasField("result")


def test_a_bot_agrees_at_once_and_waits_in_a_pause(house):
    match = house.client("ann").create_match(
        GAME, (open_seat(), bot("random")), time_control=clock(per_match=60)
    )
    seat = match.seats[0]
    for _ in range(3):
        paused = seat.offer("pause")
        assert paused.HasField("pause_end_time")
        view = seat.resume()
        seat.submit(view.legal_actions[0], view.version)
        next(seat.turns())
    view = seat.offer("takeback") if seat.view().HasField("takeback_version") else seat.view()
    assert next(seat.turns()).legal_actions


def test_a_match_is_aborted_again_where_a_decision_was_taken_back(house):
    for who in (0, 1):
        seats, spectator = two(house, time_control=clock(per_match=3600))
        decide(seats, 0)
        decide(seats, 1)
        for seat in seats:
            assert refusal(seat.abort) == "BOTH_DECIDED"
        agreed(seats, 1, "takeback")
        # A pause is no decision, and what a server has skipped by a snapshot counts alike.
        agreed(seats, 0, "pause")
        seats[0].resume()
        assert seats[who].abort().result.reason == END_REASON_ABORTED
        record = spectator.record()
        verify(record)


@pytest.mark.parametrize("forbidden", [(), ("takeback",), ("pause",), ("pause", "takeback")])
def test_a_seat_offers_nothing_that_its_match_forbids(house, forbidden):
    seats, spectator = two(house, forbidden_offers=forbidden, time_control=clock(per_match=3600))
    decide(seats, 0)
    kinds = [f"OFFER_KIND_{kind.upper()}" for kind in sorted(forbidden, reverse=True)]
    shown = [game_pb2.OfferKind.Value(kind) for kind in kinds]
    before = seats[0].view()
    for view in (before, seats[1].view(), spectator.view()):
        assert list(view.forbidden_offers) == shown
    assert before.HasField("takeback_version") == ("takeback" not in forbidden)
    for kind in ("takeback", "pause"):
        if kind in forbidden:
            with pytest.raises(CroupierError, match=f"forbidden every {kind}") as caught:
                seats[0].offer(kind)
            assert caught.value.reason == "OFFER_NOT_ALLOWED"
            assert seats[0].view() == before
    seats[1].resign()
    record = spectator.record()
    assert list(record.forbidden_offers) == shown
    verify(record)
    again = seats[0].rematch()
    assert list(seats[1].rematch().seats[0].view().forbidden_offers) == shown
    assert list(again.spectator.view().forbidden_offers) == shown


def test_an_invitation_says_what_seats_may_not_offer(house):
    ann = house.client("ann")
    match = ann.create_match(GAME, (open_seat(), INVITED), forbidden_offers=["takeback"])
    told = house.client("bob").get_invitation(match.invitations[1])
    assert list(told.forbidden_offers) == [game_pb2.OFFER_KIND_TAKEBACK]
    for wrong in ([1, 1], [0], [9]):
        asked = match_pb2.CreateMatchRequest(ruleset=ruleset_of(GAME), forbidden_offers=wrong)
        assert refusal(ann.call, ann.match_stub.CreateMatch, asked) == "INVALID_FIELD"
    # A match forbids nothing to bots: they offer nothing.
    alone = ann.create_match(GAME, (open_seat(), bot("random")), forbidden_offers=["pause"])
    assert refusal(alone.seats[0].offer, "pause") == "OFFER_NOT_ALLOWED"


def test_a_match_that_waits_is_aborted_and_the_feed_tells_it(house):
    ann, bob = house.client("ann"), house.client("bob")
    match = ann.create_match(GAME, (open_seat(), INVITED))
    match.seats[0].abort()
    assert refusal(bob.join, match.invitations[1]) == "MATCH_OVER"
    response = next(house.client().watch_matches(operator_token=None))
    assert not response.updates
    seats, _ = two(house)
    stream = house.client().watch_matches(response.cursor)
    told = {}
    seats[1].abort()
    while END_REASON_ABORTED not in told.values():
        told |= {each.name: each.result.reason for each in next(stream).updates}


def test_a_bot_that_has_decided_counts(house):
    ann = house.client("ann")
    seat = ann.create_match("champion_chess", (open_seat(), bot("random"))).seats[0]
    decide([seat], 0)
    for _ in seat.turns():
        break
    assert refusal(seat.abort) == "BOTH_DECIDED"
