"""The log is the only truth: what is computed from it again is the same, and nothing is applied
twice, however many servers share it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from service import wire
from service.matches import MATCHES_KEPT, Matches
from service.metrics import Metrics
from service.store import MemoryStore
from tests.play import seeded
from tests.serving import Client, Player, play_on, refused, ruleset_of, simultaneous_games


class SharedStore(MemoryStore):
    """A log that is somewhere else: others come in between before each answer."""

    def __init__(self):
        super().__init__()
        self.conflicts = 0
        self._arrived = 0
        self._meeting = None

    def meet(self):
        """Lets the next two entries arrive together: only one of them can be the next."""
        self._arrived = 0
        self._meeting = asyncio.Event()

    async def load(self, match_id):
        await asyncio.sleep(0)
        return await super().load(match_id)

    async def read(self, match_id, version):
        entries = await super().read(match_id, version)
        await asyncio.sleep(0)
        return entries

    async def append(self, match_id, version, entry, standing):
        if self._meeting is not None:
            self._arrived += 1
            if self._arrived == 2:
                self._meeting.set()
            await self._meeting.wait()
        done = await super().append(match_id, version, entry, standing)
        self.conflicts += not done
        await asyncio.sleep(0)
        return done


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    path.write_bytes(bytes(range(32)))
    return path


@pytest.fixture
def replicas(servers, key):
    """Two servers over one log, and clients of both."""
    store = SharedStore()
    started = [servers.start(store, token_key_file=key, allow_seeds=True) for _ in range(2)]
    yield store, [Client(address) for _, address in started]
    for server, _ in started:
        servers.stop(server)


def elsewhere(client, player):
    """The same player at another server."""
    return Player(client, player.match, player.token)


def as_bytes(message):
    return message.SerializeToString(deterministic=True)


@pytest.mark.parametrize("game_id", wire.hosted())
@pytest.mark.parametrize("most", [0, 1, 2, 3, None])
def test_a_match_computed_again_shows_the_same_bytes(replicas, game_id, most):
    _, (client, other) = replicas
    table = client.create(ruleset_of(game_id))
    play_on(table, seeded(game_id, most), most)
    for player in table.everyone():
        again = elsewhere(other, player)
        view = player.view()
        assert as_bytes(again.view()) == as_bytes(view)
        streams = [each.watch() for each in (player, again)]
        for _ in range(view.version + 1):
            one, two = (as_bytes(next(stream)) for stream in streams)
            assert one == two
        for stream in streams:
            stream.cancel()
        if most is None:
            assert as_bytes(again.record()) == as_bytes(player.record())


@pytest.mark.parametrize("game_id", wire.hosted())
def test_a_match_goes_on_at_another_server(replicas, game_id):
    _, clients = replicas
    rng = seeded(game_id, "replicas")
    table = clients[0].create(ruleset_of(game_id))
    streams = [elsewhere(client, table.spectator).watch() for client in clients]
    while (view := table.spectator.view()).deciders:
        player = elsewhere(rng.choice(clients), table.players[rng.choice(view.deciders)])
        view = player.view()
        player.submit(rng.choice(view.legal_actions), view.version)
    one, two = ([as_bytes(response) for response in stream] for stream in streams)
    assert len(one) == len(two) == view.version + 1


@pytest.mark.parametrize("game_id", simultaneous_games())
def test_decisions_that_race_between_servers_are_applied_once(replicas, game_id):
    store, clients = replicas
    for seed in range(8):
        table = clients[0].create(ruleset_of(game_id), seed=seed)
        store.meet()
        calls = []
        for seat, player in table.players.items():
            action = player.view().legal_actions[0]
            for number in range(6):
                request = player.request(action, 0, f"{seat} {number}")
                calls.append(elsewhere(clients[number % 2], player).send_later(request))
        codes = sorted(call.code().name for call in calls)
        # One of each seat: neither seat's decision makes the other's stale.
        assert codes == ["ABORTED"] * 10 + ["OK"] * 2
        assert table.spectator.view().version == 2
    assert store.conflicts >= 8


@pytest.mark.parametrize("game_id", wire.hosted())
def test_the_same_request_at_two_servers_is_applied_once(replicas, game_id):
    store, clients = replicas
    for seed in range(8):
        table = clients[0].create(ruleset_of(game_id), seed=seed)
        player = table.players[table.spectator.view().deciders[0]]
        request = player.request(player.view().legal_actions[0], 0)
        store.meet()
        calls = [elsewhere(clients[i % 2], player).send_later(request) for i in range(10)]
        assert len({as_bytes(call.result()) for call in calls}) == 1
        assert table.spectator.view().version == 1
    assert store.conflicts >= 8


def test_a_resignation_races_with_a_decision(replicas):
    store, clients = replicas
    for seed in range(8):
        table = clients[0].create(ruleset_of("champion_chess"), seed=seed)
        one, two = table.players.values()
        request = one.request(one.view().legal_actions[0], 0)
        store.meet()
        with ThreadPoolExecutor(1) as pool:
            resigned = pool.submit(elsewhere(clients[1], two).resign)
            code = one.send_later(request).code()
        view = table.spectator.view()
        assert resigned.result().result == view.result
        assert view.version == 1 + (code is grpc.StatusCode.OK)
    assert store.conflicts == 8


def test_another_servers_token_is_refused_unless_they_share_a_key(servers, client):
    table = client.create(ruleset_of("champion_chess"))
    server, address = servers.start()
    refusal = refused(elsewhere(Client(address), table.spectator).view)
    assert refusal.reason == "TOKEN_INVALID"
    servers.stop(server)


def test_what_is_kept_in_memory_is_bounded():
    ruleset = ruleset_of("champion_chess")

    async def create_many():
        matches = Matches(MemoryStore(), Metrics())
        first = await matches.create(ruleset, (0, 0), None)
        for _ in range(MATCHES_KEPT):
            await matches.create(ruleset, (0, 0), None)
        assert len(matches._kept) == MATCHES_KEPT
        assert first.header.match_id not in matches._kept
        again = await matches.load(first.header.match_id)
        assert as_bytes(again.view(0)) == as_bytes(first.view(0))

    asyncio.run(create_many())
