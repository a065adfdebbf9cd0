"""A front end with accounts and a spectator, on SQLite and on two servers over PostgreSQL."""

import threading
import uuid

import pytest

import wire
from croupier.client import (
    INVITED,
    CroupierError,
    Operator,
    Seat,
    bot,
    clock,
    open_seat,
)
from croupier.v1 import feed_pb2, game_pb2, match_pb2
from croupier.v1.game_pb2 import END_REASON_ABORTED, END_REASON_RESIGNATION, END_REASON_RULES
from service.admission.budgets import Budget, Ledger
from service.hosting.consent import MAX_PAUSE_MILLISECONDS
from service.hosting.records import RecordError, verify
from service.store import Query, queries
from tests.support.houses import OPERATOR, refusal
from tests.support.serving import ruleset_of

GAME = "skystones"
RUNNING, OVER = match_pb2.MATCH_STATE_RUNNING, match_pb2.MATCH_STATE_OVER


def names(listed):
    """The names in a list, in its order."""
    return [each.name for each in listed]


# Lists


def test_a_key_lists_its_own_matches_and_those_of_each_player(house):
    studio, ann, bob = house.client(), house.client("ann"), house.client("bob")
    stranger, rival = house.client("eve"), house.client("ann", key="other")
    alone = ann.create_match(GAME, (open_seat("Ann"), bot("random")))
    house.pass_time(1)
    invited = ann.create_match(GAME, (open_seat("Ann"), INVITED))
    house.pass_time(1)
    paired = studio.create_match(GAME, (open_seat("A", "ann"), open_seat("B", "bob")))
    house.pass_time(1)
    others = rival.create_match("champion_chess", (INVITED, INVITED))
    assert names(bob.matches()) == [paired.name]
    bob.join(invited.invitations[1])
    bob.join(others.invitations[0])
    assert names(studio.matches()) == [paired.name, invited.name, alone.name]
    assert names(ann.matches()) == [paired.name, invited.name, alone.name]
    # Also where another front end has created the match.
    assert names(bob.matches()) == [others.name, paired.name, invited.name]
    assert names(rival.matches()) == names(stranger.matches()) == []
    assert names(house.client(key="other").matches()) == [others.name]
    # What is over stays, and its rematch is of the same players.
    invited.seats[0].resign()
    paired.seats[0].resign()
    house.pass_time(1)
    again = paired.seats[1].rematch()
    assert names(bob.matches(state=OVER)) == [paired.name, invited.name]
    assert names(ann.matches(state=RUNNING)) == [again.name, alone.name]
    assert names(bob.matches()) == [again.name, others.name, paired.name, invited.name]
    assert names(bob.matches(game="champion_chess")) == [others.name]
    assert names(studio.matches(game=GAME, state=RUNNING)) == [again.name, alone.name]
    whole = list(Operator(studio, OPERATOR).matches())
    assert len(whole) == 5
    of_bob = [each for each in whole if each.name in names(bob.matches())]
    for each, seats in zip(of_bob, ([0], [0], [1], [1]), strict=True):
        each.own_seats.extend(seats)
    assert of_bob == list(bob.matches())


def test_a_list_says_how_matches_ended_and_which_seats_are_the_players(house):
    ann, bob, operator = (
        house.client("ann"),
        house.client("bob"),
        Operator(house.client(), OPERATOR),
    )
    played = ann.create_match(GAME, (bot("random"), open_seat("Ann")))
    for view in played.seats[1].turns():
        played.seats[1].submit(view.legal_actions[0], view.version)
    own = {played.name: [1]}
    for end in (Seat.resign, Seat.abort, Seat.view):
        seats, _ = two(house)
        own[seats[0].match] = [0]
        end(seats[0])
    waits = ann.create_match(GAME, (open_seat("Ann"), INVITED))
    waits.seats[0].abort()  # Before it is dealt.
    own |= {waits.name: [0], ann.create_match(GAME).name: [0, 1]}
    listed = {each.name: each for each in ann.matches()}
    assert listed == {
        name: match_pb2.Match(own_seats=seats, **fields_of(operator.match(name)))
        for name, seats in own.items()
    }
    reasons = [each.result.reason for each in listed.values()]
    ends = (END_REASON_RULES, END_REASON_RESIGNATION, END_REASON_ABORTED, 0)
    assert [reasons.count(end) for end in ends] == [1, 1, 2, 2]
    assert [list(each.own_seats) for each in bob.matches()] == [[1]] * 3
    for each in (*operator.matches(), *house.client().matches()):
        assert each.result == listed[each.name].result
        assert not each.own_seats


def fields_of(message):
    """The fields of a message that are set, by name."""
    return {field.name: value for field, value in message.ListFields()}


def test_a_seat_without_a_key_lists_nothing(house):
    client = house.client(key="")
    created = client.create_match(GAME)
    assert refusal(list, client.matches()) == "TOKEN_MISSING"
    for holder in (*created.seats.values(), created.spectator):
        assert refusal(list, client.matches(operator_token=holder.token)) == "NOT_OPERATOR"
    seats = (open_seat("A", "ann"), open_seat())
    assert refusal(client.create_match, GAME, seats) == "INVALID_FIELD"
    seats = (match_pb2.SeatConfig(invited=match_pb2.InvitedSeat(), player_id="ann"), open_seat())
    assert refusal(house.client().create_match, GAME, seats) == "INVALID_FIELD"


def test_a_list_of_a_time_goes_page_by_page(house):
    ann, made, times = house.client("ann"), [], []
    for _ in range(5):
        times.append(house.pass_time(1000))
        made.insert(0, ann.create_match(GAME).name)
        made.insert(0, ann.create_match("champion_chess").name)
    within = {"created_since": times[1], "created_before": times[3]}
    # Two of a millisecond are in some order.
    whole = names(ann.matches())
    assert sorted(whole) == sorted(made)
    assert sorted(names(ann.matches(**within))) == sorted(made[4:8])
    for page_size in (1, 2, 3):
        assert names(ann.matches(page_size=page_size)) == whole
        assert names(ann.matches(**within, page_size=page_size)) == whole[4:8]
        one = {"game": GAME, "page_size": page_size}
        assert sorted(names(ann.matches(**one))) == sorted(made[1::2])
    # A page of one player is none of another, or of another time.
    request = match_pb2.ListMatchesRequest(page_size=1)
    token = ann.call(ann.match_stub.ListMatches, request).next_page_token
    bob = house.client("bob")
    for who, asked in (
        (bob, match_pb2.ListMatchesRequest(page_token=token)),
        (ann, match_pb2.ListMatchesRequest(page_token=token, created_since={"seconds": 5})),
    ):
        assert refusal(who.call, who.match_stub.ListMatches, asked) == "INVALID_FIELD"


@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
def test_a_long_page_costs_more_calls(house, monkeypatch):
    monkeypatch.setattr("service.api.match_service.FEED_PAGE", 2)
    ann, spent = house.client("ann"), []
    for _ in range(5):
        ann.create_match(GAME)
    charge = Ledger.charge
    monkeypatch.setattr(Ledger, "charge", lambda *given: spent.append(given[2:]) or charge(*given))
    assert len(list(ann.matches())) == 5
    assert [each for each in spent if each[0] == Budget.CALLS] == [(Budget.CALLS, 2)]


LISTS = (
    Query(),
    Query(over=False),
    Query("a_game"),
    Query("a_game", over=True),
    Query(owner="an owner"),
    Query(owner="an owner", over=False),
    Query("a_game", True, owner="an owner"),
    Query(player="a player"),
    Query("a_game", False, player="a player"),
    Query(over=True, owner="an owner", since=5, until=9, before=(8, "m")),
    Query(player="a player", since=5, until=9, before=(8, "m")),
)


@pytest.mark.parametrize("query", LISTS, ids=lambda query: repr(tuple(query)))
def test_a_list_reads_no_other_matches(house, query):
    sql, values = queries.list_matches(query, 10)
    store = house.stores[0]
    if hasattr(store, "_readers"):
        text = f"EXPLAIN QUERY PLAN {sql}".replace("$", "?")
        plan = house.servers.run(
            store._read(lambda file: [row[3] for row in file.execute(text, values)])
        )
    else:

        async def explain(connection):
            async with connection.transaction():
                # So few rows would be sorted.
                for way in ("seqscan", "sort", "bitmapscan", "hashjoin", "mergejoin"):
                    await connection.execute(f"SET LOCAL enable_{way} = off")
                return [row[0] for row in await connection.fetch(f"EXPLAIN {sql}", *values)]

        plan = house.servers.run(store._use("read", "other", explain))
    text = "\n".join(plan)
    assert "TEMP B-TREE" not in text, text
    assert "Sort" not in text, text
    assert "Seq Scan" not in text, text
    # What is not asked for is not looked at, but for other games, and running ones, of a player.
    used = [line for line in plan if "USING" in line or "Index Cond" in line]
    for key in ("player",) if query.player else ("owner", "game"):
        if getattr(query, key):
            assert any(f"{key}=?" in line or f"{key} = " in line for line in used), text
    if query.before:
        assert any("since<?" in line or "created<?" in line or " < " in line for line in used), text


# Many matches at once


def requests(count, **fields):
    """Requests for matches of two games in turn."""
    return [
        match_pb2.CreateMatchRequest(
            ruleset=ruleset_of((GAME, "champion_chess")[number % 2]),
            seats=(open_seat("Ann", "ann"), INVITED),
            request_id=str(uuid.uuid4()),
            **fields,
        )
        for number in range(count)
    ]


def test_a_hundred_matches_are_created_at_once_and_once(house):
    studio, again, ann, bob = (house.client(who) for who in ("", "", "ann", "bob"))
    wanted = requests(100)
    created = studio.create_matches(wanted)
    assert len({each.name for each in created}) == 100
    assert sorted(names(studio.matches(page_size=30))) == sorted(names(created))
    # In the order of the requests, each with seats of its own.
    for number in (0, 41, 99):
        seat = created[number].seats[0]
        assert seat.view().ruleset == wanted[number].ruleset
        joined = bob.join(created[number].invitations[1])
        assert joined.name == created[number].name
    assert len(list(bob.matches())) == 3
    # Whichever server is asked again, also for some of them together with others.
    repeated = again.create_matches([*reversed(wanted[:9]), *requests(3)])
    for one, other in zip(reversed(created[:9]), repeated, strict=False):
        assert (one.name, one.seats[0].token) == (other.name, other.seats[0].token)
    assert len(list(ann.matches())) == 103


def test_servers_that_are_asked_for_the_same_at_once_create_it_once(house):
    clients, wanted = [house.client() for _ in range(4)], requests(20)
    batch = match_pb2.BatchCreateMatchesRequest(requests=wanted)
    other = match_pb2.BatchCreateMatchesRequest(requests=reversed(wanted[5:]))
    calls = [
        each.match_stub.BatchCreateMatches.future(asked, metadata=each.metadata())
        for each, asked in zip(clients, (batch, other, batch, other), strict=True)
    ]
    one, two, three, four = (names(call.result().matches) for call in calls)
    assert one == three
    assert two == four == one[:4:-1]
    assert sorted(names(clients[0].matches())) == sorted(one)


def test_where_one_of_many_matches_cannot_be_none_is_created(house):
    studio = house.client()
    used, fresh = requests(1)[0], requests(1)[0]
    made = studio.create_matches([used])[0].name

    def refused(**changes):
        wanted = requests(4)
        for name, value in changes.items():
            wanted[2].ClearField(name)
            wanted[2].MergeFrom(match_pb2.CreateMatchRequest(**{name: value}))
        with pytest.raises(CroupierError) as caught:
            studio.create_matches([fresh, *wanted])
        return caught.value

    bad, senseless = ruleset_of(GAME), ruleset_of(GAME)
    bad.skystones.hand_size = 999
    senseless.skystones.cards.add()  # The schema allows it, and the rules do not.
    for fields in (
        {"ruleset": senseless},
        {"ruleset": bad},
        {"seats": [open_seat("x" * 33), INVITED]},
        {"seats": [match_pb2.SeatConfig(invited=match_pb2.InvitedSeat(), player_id="a")] * 2},
        {"request_id": "guessed"},
        {"request_id": fresh.request_id},
    ):
        error = refused(**fields)
        assert [each.field.partition(".")[0] for each in error.violations] == ["requests[3]"], (
            fields
        )
    assert refused(request_id=used.request_id, hint_policy=1).reason == "REQUEST_ID_REUSED"
    assert refused(seed=5).reason == "SEEDS_NOT_ALLOWED"
    for count in (0, 101):
        assert refusal(studio.create_matches, requests(count)) == "INVALID_FIELD"
    assert names(studio.matches()) == [made]


@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
def test_many_matches_cost_what_each_of_them_would(house, monkeypatch):
    spent, charge, spend = [], Ledger.charge, Ledger.spend
    monkeypatch.setattr(Ledger, "charge", lambda *given: spent.append(given[2:]) or charge(*given))
    monkeypatch.setattr(Ledger, "spend", lambda *given: spent.append(given[2:]) or spend(*given))
    ann = house.client("ann")
    ann.create_matches(requests(12))
    size = sum(len(ruleset_of(game).SerializeToString()) for game in (GAME, "champion_chess"))
    wanted = [(Budget.CALLS, 11), (Budget.MATCHES, 12), (Budget.RULESET_BYTES, 6 * size)]
    assert [each for each in spent if each in wanted] == wanted
    # A person may have 20 that are not over: none of nine more is created.
    assert refusal(ann.create_matches, requests(9)) == "BUDGET_EXHAUSTED"
    # Who waits never gets more than is allowed, and is not told to.
    monkeypatch.setattr(Ledger, "charge", lambda *given: None)
    for count, waits in ((9, True), (20, True), (21, False)):
        with pytest.raises(CroupierError, match="used up" if waits else "asks for more") as caught:
            ann.create_matches(requests(count), patience=0)
        assert (caught.value.retry_after is not None) == waits
    assert len(list(ann.matches())) == 12
    assert len(ann.create_matches(requests(8))) == 8


# A match that comes to nothing


def two(house, game=GAME, **fields):
    """The seats of two accounts, each with a client of its own, and their spectator."""
    ann, bob = house.client("ann"), house.client("bob")
    match = ann.create_match(game, (open_seat("Ann"), INVITED), **fields)
    joined = bob.join(match.invitations[1], display_name="Bob")
    return [match.seats[0], joined.seats[1]], joined.spectator


def decide(seats, seat=None):
    """Lets a seat decide that must; returns which."""
    deciders = seats[0].view().deciders
    seat = deciders[0] if seat is None else seat
    seats[seat].submit(seats[seat].view().legal_actions[0])
    return seat


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


# Takebacks and pauses


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


# Spectators who wait

DELAY = 60  # Seconds.


def told_now(client, match, token):
    """All that the holder of a token can ask of a match: answers, or reasons of refusals."""
    holder, told = Seat(client, match, token), []
    batch = feed_pb2.BatchGetViewsRequest(tokens=[token])
    start = match_pb2.StartFrom(match_token=token, version=1)
    for call in (
        holder.view,
        lambda: client.call(
            client.match_stub.GetMatch, match_pb2.GetMatchRequest(name=match), token
        ),
        holder.record,
        holder.rematch_offer,
        lambda: client.call(client.feed_stub.BatchGetViews, batch),
        lambda: client.create_match(GAME, start_from=start) and "created",
        lambda: next(holder.review()) and "reviewed",
        lambda: next(holder.replay()) and "replayed",
        lambda: list(holder.watch(10**6)),
    ):
        try:
            told.append(call())
        except CroupierError as error:
            told.append((error.reason, error.message, error.metadata))
    return told


def test_a_spectator_is_told_nothing_younger_than_the_delay(house):
    seats, spectator = two(house, spectator_delay=DELAY)
    prompt = two(house)[1]
    assert decide(seats) in (0, 1)
    match, token = spectator.match, spectator.token
    client = house.client(key="")
    moments = [told_now(client, match, token)]
    assert moments[0][0].WhichOneof("game") is None
    assert (moments[0][0].version, moments[0][1].hosted_match.version) == (0, 0)
    assert prompt.view().WhichOneof("game") is not None
    # What is told at each moment is the same whatever has happened since.
    house.pass_time(DELAY * 1000 - 1)
    for _ in range(3):
        decide(seats)
    assert told_now(client, match, token) == moments[0]
    known = [seats[0].view().version]
    house.pass_time(1)
    now = told_now(client, match, token)
    assert (now[0].version, now[1].hosted_match.version) == (known[0] - 3, known[0] - 3)
    assert now[0].WhichOneof("game") is not None
    seats[1].resign()
    assert told_now(client, match, token) == now
    assert now[3] is None
    assert {now[place][0] for place in (2, 5, 6, 7)} == {"MATCH_NOT_OVER"}
    assert now[8][2] == {"current_version": str(known[0] - 3)}
    # Seats, the operator and the lists of the creator do not wait.
    operator = Operator(client, OPERATOR)
    assert operator.match(match).state == OVER
    assert operator.record(match) == seats[0].record()
    house.pass_time(DELAY * 1000 - 2)
    later = told_now(client, match, token)
    assert later[0].version == known[0] - 3
    house.pass_time(1)
    assert told_now(client, match, token)[0].version == known[0]
    house.pass_time(1)
    end = told_now(client, match, token)
    assert end[0].result == seats[0].view().result
    assert end[2] == seats[0].record()
    assert end[6:8] == ["reviewed", "replayed"]
    seats[0].rematch()
    assert told_now(client, match, token) == end
    house.pass_time(DELAY * 1000)
    assert told_now(client, match, token)[3] == seats[1].rematch_offer() is not None


class Reader(threading.Thread):
    """Reads a stream of a match to its end, and notes what the clock of the servers shows then."""

    def __init__(self, house, holder):
        super().__init__()
        self._house, self._client = house, holder.client
        request = match_pb2.WatchMatchRequest(name=holder.match, follow_rematch=True)
        metadata = self._client.metadata(holder.token)
        self._stream = self._client.match_stub.WatchMatch(request, metadata=metadata)
        self.responses, self.times = [], []
        self.start()

    def run(self):
        for response in self._stream:
            self.times.append(self._house.clock.now())
            self.responses.append(response)


def test_the_stream_of_a_spectator_comes_late_and_whole(house):
    seats, spectator = two(house, spectator_delay=DELAY)
    stranger = Seat(house.client(key=""), spectator.match, spectator.token)
    late, own = Reader(house, stranger), Reader(house, seats[0])
    made = [house.clock.now()] * 2  # When each version was made, and each offer of a rematch.

    def note(what):
        for _ in range(4):  # What comes too early can come.
            made_up = stranger.view().version
        assert made_up <= len(made)
        what()
        made.append(house.clock.now())
        house.pass_time(1000)

    for _ in range(6):
        note(lambda: decide(seats))
    note(seats[0].resign)
    note(seats[1].rematch)
    note(seats[0].decline_rematch)
    own.join()
    for _ in range(DELAY):
        stranger.view()
        house.pass_time(1000)
    late.join()
    assert [each.version for each in late.responses] == [*range(9), 8, 8]
    assert [each.rematch.state for each in late.responses[-2:]] == [1, 3]
    assert all(at >= then + 1000 * DELAY for at, then in zip(late.times, made, strict=True))
    for theirs, ours in zip(late.responses, own.responses, strict=True):
        assert (theirs.version, theirs.rematch) == (ours.version, ours.rematch)
    events = [each for response in late.responses for each in response.events]
    record = [each.event for each in spectator.record().entries if each.HasField("event")]
    assert len(events) >= len(record) > 0
