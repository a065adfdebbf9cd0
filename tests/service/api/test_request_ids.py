"""A request that is repeated because its answer was lost gets the same answer from any server.

Nothing is done twice.
"""

import uuid

import grpc
import pytest

from croupier.v1 import match_pb2
from tests.support.play import seeded
from tests.support.serving import OPEN, Table, bot, play_on, refused, ruleset_of

CLOCK = {"per_match": {"seconds": 600}}


def creation(request_id=None, game_id="skystones", **fields):
    """A request for CreateMatch, by default with a new request_id."""
    request_id = str(uuid.uuid4()) if request_id is None else request_id
    fields = {"ruleset": ruleset_of(game_id), **fields}
    return match_pb2.CreateMatchRequest(request_id=request_id, **fields)


def create(client, request):
    return client.matches.CreateMatch(request)


# CreateMatch


def test_a_repeated_creation_returns_the_same_match_even_after_a_crash(cluster):
    requests = [
        creation(),
        creation(game_id="champion_chess", seats=[bot("RANDOM"), OPEN]),
        creation(seed=7),
        creation(entropy_from_seats=True),
        creation(time_control=CLOCK),
    ]
    one, other = cluster.clients
    created = [create(one, request) for request in requests]
    assert [create(other, request) for request in requests] == created
    # The answers stay the same when the match has gone on, and when it is over.
    play_on(Table(one, created[0]), seeded("again"), most=3)
    Table(one, created[2]).players[0].resign()
    cluster.crash()
    for client in cluster.clients:
        assert [create(client, request) for request in requests] == created
    assert cluster.names() == sorted(each.name for each in created)
    views = [Table(cluster.clients[0], each).spectator.view() for each in created]
    assert views[0].version == 3
    assert views[2].HasField("result")
    assert views[3].HasField("entropy_owed")
    assert views[4].HasField("clocks")


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"seed": 1},
        {"seats": [OPEN, bot("RANDOM")]},
        {"time_control": CLOCK},
        {"entropy_from_seats": True},
    ],
    ids=lambda asked: next(iter(asked), "plain"),
)
@pytest.mark.parametrize(
    "other",
    [
        {"game_id": "champion_chess"},
        {"ruleset": {"skystones": {"special_fields": 3}}},
        {"seats": [bot("RANDOM"), OPEN]},
        {"seats": [OPEN, bot("BEGINNER")]},
        {"seed": 2},
        {"time_control": {"per_match": {"seconds": 601}}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_request_id_of_another_creation_is_refused(client, asked, other):
    request = creation(**asked)
    created = create(client, request)
    more = {**asked, **other}
    if "seed" in more:
        more.pop("entropy_from_seats", None)
    refusal = refused(create, client, creation(request.request_id, **more))
    assert refusal[:2] == (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED")
    # An invalid request is refused for its field even with a used request_id.
    cannot = creation(request.request_id, ruleset={"skystones": {"special_fields": 99}})
    assert refused(create, client, cannot).reason == "INVALID_FIELD"
    assert create(client, request) == created


def test_naming_no_seats_is_the_same_as_naming_two_open_ones(client):
    request = creation()
    created = create(client, request)
    assert create(client, creation(request.request_id, seats=[OPEN, OPEN])) == created


def test_without_a_request_id_each_request_makes_a_match(client):
    assert create(client, creation("")).name != create(client, creation("")).name


def test_the_name_of_a_match_does_not_follow_from_its_request_id_alone(start, client):
    # If the name followed from the request_id, a reader of the name could check a guess of the
    # request_id.
    _, other = start(allow_seeds=True)
    request = creation(seed=1)
    here, there = create(client, request), create(other, request)
    assert here.secret_hash == there.secret_hash
    assert here.name != there.name


def test_a_repeated_creation_of_a_deleted_match_starts_a_new_one(servers, start):
    server, client = start(retain_finished=0.0)
    request = creation()
    created = create(client, request)
    assert create(client, request) == created
    Table(client, created).players[0].resign()
    # The server deletes the match at some time. `sweep` does so once the match is older than now.
    while (again := create(client, request)).secret_hash == created.secret_hash:
        servers.run(server._retention.sweep())
    assert again.name == created.name
    assert Table(client, again).spectator.view().version == 0


# ResignMatch


def test_no_seat_can_resign_after_the_end(client):
    table = Table(client, create(client, creation()))
    play_on(table, seeded("over"))
    for player in table.players.values():
        assert refused(player.resign).reason == "MATCH_OVER"
