"""Killing and stopping servers, and their database, during matches loses no answered action.

One test for each log, with real processes; the simulation has what is rarer (docs/simulation.md).
"""

import hashlib
import os
import random
import threading

import pytest

from croupier.client import Client, bot, open_seat
from croupier.v1 import match_pb2
from tests.support.exports import verified_records
from tests.support.postgresql import Postgres
from tests.support.road import Road

ENDS = int(os.environ.get("TEST_KILLS", "0"))  # At least; each kind comes once.
TABLES = 3
SEED = os.environ.get("TEST_SEED", "1")
# What a caller may get for an answer, by status; docs/retries.md says what it means.
EXPLAINED = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"}


def kill(*servers):
    for server in servers:
        server.kill()
    for server in servers:
        server.start()


def stop(server):
    """As a supervisor does it, in order."""
    assert server.end() == 0
    server.start()


def pause(server, road):
    """While the others serve."""
    server.pause()
    road.wait_actions(20, timeout=2)
    server.resume()


def restart(database, mode):
    database.stop(mode)
    database.start()


def play(servers, ends, operator, folder):
    """Plays matches while each of `ends` is called, and checks that the log has them all."""
    rng = random.Random(SEED)
    for server in servers:
        server.ready()
    addresses = ",".join(server.address for server in servers)
    road = Road(SEED, f"ipv4:{addresses}", None, None, TABLES)
    number = 0
    # Goes on until a player has met the end of a server.
    while not road.over and (number < max(ENDS, len(ends)) or not road.repeated):
        for server in servers:
            server.ready()  # One that starts while the database is down would exit.
        road.wait_actions(rng.randint(1, 60))
        ends[number % len(ends)](road)
        number += 1
    for server in servers:
        server.ready()
    road.close()
    road.finish()
    assert set(road.repeated) <= EXPLAINED, road.repeated
    exported = verified_records(servers[0], operator, folder)
    assert exported == {record.name: record for record in road.records}
    for server in servers:
        server.end_well()
    print(f"seed {SEED}: {dict(road.figures)}, repeated: {dict(road.repeated)}")


def test_a_server_that_is_killed_or_stopped_loses_nothing(replicas, operator, tmp_path):
    server = replicas("--store", "sqlite", "--data", str(tmp_path / "data"), *operator)
    ends = (lambda _: kill(server), lambda _: stop(server))
    play([server], ends, operator, tmp_path / "records")


def take_hands(servers, ends):
    """Lets each seat of a match take a hand by one request, while servers end."""
    for server in servers:
        server.ready()
    with Client(f"ipv4:{','.join(server.address for server in servers)}") as client:
        cards = {card.id: card.numbers for card in client.game("skystones").cards}

        def points(action):
            return sum(each.value for each in cards[str(action.skystones.pick_card.card)])

        match = client.create_match("skystones")
        for seat in match.seats.values():
            first, *others = sorted(seat.view().legal_actions, key=points)
            seat.submit(first, then=others[: HAND - 1])
            ends.pop(0)()
        for seat in match.seats.values():
            # No other call asks for what was decided ahead.
            newest = next(each.view for each in seat.watch() if each.version == 2 * HAND)
            assert len(newest.skystones.hand) == HAND
            assert not newest.HasField("decisions_ahead")


HAND = 5  # Cards of Skystones, which are taken in secret.


def test_a_hand_that_was_confirmed_outlives_its_server(replicas, tmp_path):
    server = replicas("--store", "sqlite", "--data", str(tmp_path / "data"))
    take_hands([server], [lambda: kill(server)] * 2)
    server.end_well()


@pytest.fixture
def database():
    """A PostgreSQL server for one test, which stops it."""
    server = Postgres()
    yield server
    server.close()


def test_a_hand_that_was_confirmed_is_taken_by_another_server(replicas, postgres):
    store = ("--store", postgres.url(postgres.new_schema()))
    one, other = replicas(*store), replicas(*store)
    # Whoever has answered is gone when what is left falls due.
    take_hands([one, other], [lambda: kill(one), lambda: kill(other)])
    for server in (one, other):
        server.ready()
        server.end_well()


def test_killed_replicas_and_a_stopped_database_lose_nothing(
    replicas, database, operator, tmp_path
):
    store = ("--store", database.url(database.new_schema()), *operator)
    one, other = replicas(*store), replicas(*store)
    ends = (
        lambda _: restart(database, "immediate"),
        lambda _: kill(one),
        lambda road: pause(other, road),
        lambda _: restart(database, "fast"),
        lambda _: kill(one, other),
        lambda _: stop(one),
    )
    play([one, other], ends, operator, tmp_path / "records")


KEY = "the-key-of-a-front-end"
MATCHES = 100


def erase(servers, moment):
    """Lets a front end erase a name in many matches while servers are killed; returns the name."""
    for server in servers:
        server.ready()
    name = f"Ann {random.Random(f'{SEED}/{moment}').randrange(10**9)}"
    asked = [
        match_pb2.CreateMatchRequest(
            ruleset={"skystones": {}}, seats=(open_seat(name, "ann"), bot("random"))
        )
        for _ in range(MATCHES)
    ]
    addresses = f"ipv4:{','.join(server.address for server in servers)}"
    with Client(addresses, api_key=KEY) as client:
        seats = [each.seats[0] for each in client.create_matches(asked)]
        seats[0].resign()
        done = []
        eraser = threading.Thread(target=lambda: done.extend(client.erase_names("ann")))
        eraser.start()
        while moment and sum(name not in str(seat.view()) for seat in seats[::10]) < moment:
            pass
        kill(servers[0])
        eraser.join()
        assert not done[-1].next_page_token
        assert not any(each.erased_matches for each in client.erase_names("ann"))
        for server in servers:
            server.ready()
            with Client(server.address) as each:
                answers = [*each.views(seats[:50]), *each.views(seats[50:])]
            assert not any(name in str(answer) for answer in answers)
            assert all(answer.HasField("view") for answer in answers)
        assert name not in str(seats[0].record())
    for server in servers:
        server.end_well()
    return name


@pytest.fixture
def front_end(tmp_path):
    """The options of a server that knows the front end."""
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    file = tmp_path / "callers.toml"
    limits = "calls_per_second", "processor_milliseconds_per_second"
    free = "\n".join(f'{each} = "unlimited"' for each in limits)
    file.write_text(
        f'[budgets.address]\n{free}\n[keys.front]\nsha256 = "{digest}"\nnames_players = true\n'
        f"[keys.front.budgets]\n{free}\n"
    )
    return "--callers-file", str(file)


@pytest.mark.parametrize("moment", [0, 3])
def test_a_name_is_erased_though_its_server_is_killed(replicas, front_end, tmp_path, moment):
    data = tmp_path / "data"
    name = erase([replicas("--store", "sqlite", "--data", str(data), *front_end)], moment)
    assert not any(name.encode() in each.read_bytes() for each in data.iterdir())


def test_a_name_is_erased_though_a_replica_is_killed(replicas, front_end, postgres):
    store = ("--store", postgres.url(postgres.new_schema()))
    erase([replicas(*store, *front_end), replicas(*store, *front_end)], 3)
