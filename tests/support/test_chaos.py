"""Faults that are planted in real servers are found in what their clients were told."""

import random
import sys
from time import monotonic_ns

import pytest

from service.store import EntryKind, MemoryStore
from tests.support.chaos import Inexplicable, Ordeal, kill
from tests.support.history import Decision, History, Read, Write, faults
from tests.support.serving import Client, Player, ruleset_of

SEED = 1


def test_a_server_that_answers_before_it_commits_is_found_out(replicas, tmp_path):
    command = (sys.executable, "-m", "tests.support.faulty_server", "serve")
    faulty = replicas("--store", "sqlite", "--data", str(tmp_path / "data"), command=command)
    rng = random.Random(f"faulty {SEED}")
    found = pytest.raises(Inexplicable)
    short = ["champion_chess", "skystones"]
    with found, Ordeal(SEED, [faulty.address], 4, short) as ordeal:
        for _ in range(20):
            kill([faulty], rng, ordeal)
        faulty.ready()
        ordeal.finish()


class Forgetful(MemoryStore):
    """Says that it has added an entry, and has not."""

    async def append(self, *arguments):
        return True


class Overwriting(MemoryStore):
    """Adds an entry to whatever there is, in place of what has come between."""

    async def append(self, match_id, version, entry, *others):
        del self._entries[match_id][version:]
        return await super().append(match_id, version, entry, *others)


class Doubling(MemoryStore):
    """Adds an entry, and once more."""

    async def append(self, match_id, version, entry, *others):
        done = await super().append(match_id, version, entry, *others)
        self._entries[match_id].append(entry)
        return done


class Late(MemoryStore):
    """Reads as if what was added after a match was created were still under way."""

    async def read(self, match_id, version):
        return []


class Witness:
    """A player who notes what two servers tell him, and what is in the log in the end."""

    def __init__(self, servers, store):
        self._servers = servers
        self._store = store
        self._running = []
        for _ in range(2):
            server, address = servers.start(store)
            self._running.append((server, Client(address)))
        clients = [client for _, client in self._running]
        self._table = clients[0].create(ruleset_of("powershot_soccer"))
        self.history = History.new()
        player = next(each for each in self._table.players.values() if each.view().legal_actions)
        self.players = [Player(client, player.match, player.token) for client in clients]
        self.view = player.view()
        self.request = player.request(self.view.legal_actions[0], self.view.version)

    def decide(self, player, request=None):
        """Sends a request, and notes the answer."""
        request = request or player.request(self.view.legal_actions[-1], self.view.version)
        action = request.action.SerializeToString(deterministic=True)
        called = monotonic_ns()
        view = player.send(request)
        self.history.writes.append(
            Write(
                request.request_id,
                Decision(view.seat, action),
                request.expected_version,
                called,
                monotonic_ns(),
                view.version,
                view.SerializeToString(deterministic=True),
            )
        )

    def look(self, player):
        """Looks, and notes what there is to see."""
        called = monotonic_ns()
        view = player.view()
        picture = view.SerializeToString(deterministic=True)
        self.history.reads.append(Read(view.seat, called, monotonic_ns(), view.version, picture))

    def faults(self):
        """What the checker finds when it compares that with the log."""
        match_id = self._table.name.removeprefix("matches/")
        entries = self._servers.run(self._store.load(match_id)).entries
        for server, _ in self._running:
            self._servers.stop(server)
        assert all(entry.kind == EntryKind.ACTION for entry in entries)
        return faults(self.history, [Decision(entry.seat, entry.action) for entry in entries])


def scenario(servers, store):
    """A player decides at one server and looks at the other, and there he decides again."""
    witness = Witness(servers, store)
    one, other = witness.players
    witness.look(other)
    witness.decide(one, witness.request)
    witness.look(one)
    witness.look(other)
    return witness


def test_a_server_without_a_fault_is_accepted(servers):
    assert scenario(servers, MemoryStore()).faults() == []


def test_a_commit_that_is_lost_is_found(servers):
    assert any(
        "is not there in the log" in each for each in scenario(servers, Forgetful()).faults()
    )


def test_an_action_that_is_applied_twice_is_found(servers):
    witness = Witness(servers, Doubling())
    witness.decide(witness.players[0])
    assert any("nobody was answered for" in each for each in witness.faults())


def test_a_stale_read_is_found(servers):
    assert any("but not before" in each for each in scenario(servers, Late()).faults())


def test_a_version_that_two_have_won_is_found(servers):
    witness = Witness(servers, Overwriting())
    # Both servers know the match, and neither what the other one does.
    for player in witness.players:
        witness.look(player)
    for player in witness.players:
        witness.decide(player)
    assert any("was answered to" in each for each in witness.faults())
