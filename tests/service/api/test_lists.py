"""A key and its players list their matches, on SQLite and on two servers over PostgreSQL."""

import asyncio
from collections import Counter

import pytest

from croupier.client import (
    INVITED,
    Operator,
    Seat,
    bot,
    open_seat,
)
from croupier.v1 import match_pb2
from croupier.v1.game_pb2 import END_REASON_ABORTED, END_REASON_RESIGNATION, END_REASON_RULES
from service.admission.budgets import Budget, Ledger
from service.api import match_service
from service.hosting.views import write_match
from service.store import Query, queries
from tests.support.houses import GAME, OPERATOR, names, refusal, two

RUNNING, OVER = match_pb2.MATCH_STATE_RUNNING, match_pb2.MATCH_STATE_OVER


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


def test_a_long_list_is_written_in_pieces(house, monkeypatch):
    turns, written = 0, Counter()

    def count():
        nonlocal turns
        turns += 1

    def write(*what):
        asyncio.get_running_loop().call_soon(count)
        written[turns] += 1
        return write_match(*what)

    monkeypatch.setattr(match_service, "WRITTEN_AT_ONCE", 2, raising=False)
    monkeypatch.setattr(match_service, "write_match", write)
    studio = house.client()
    for _ in range(7):
        studio.create_match(GAME, (open_seat("A"), bot("random")))
    assert len(names(studio.matches())) == 7
    assert max(written.values()) == 2
