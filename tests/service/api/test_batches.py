"""Many matches are created at once, on SQLite and on two servers over PostgreSQL."""

import uuid

import pytest

from croupier.client import (
    INVITED,
    CroupierError,
    open_seat,
)
from croupier.v1 import match_pb2
from service.admission.budgets import Budget, Ledger
from tests.support.houses import GAME, names, refusal
from tests.support.serving import ruleset_of


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
