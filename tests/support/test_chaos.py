"""The checker of histories detects faults planted in real servers from the clients' answers."""

import random
import sys
from time import monotonic_ns

import pytest

from service.store import EntryKind, MemoryStore
from tests.support.chaos import ChaosRun, ContradictoryHistory, kill
from tests.support.history import Decision, History, Read, Write, violations
from tests.support.long_form import LONG_FORM
from tests.support.serving import Client, Player, ruleset_of
from tests.support.staleness import STREAMS, VIEWS, read_while_paused, read_without_notifications
from tests.support.waiting import wait_until

SEED = 1


@pytest.mark.skipif(not LONG_FORM, reason="the simulation finds this fault: answered-before-commit")
def test_a_server_that_answers_before_it_commits_is_detected(replicas, tmp_path):
    command = (sys.executable, "-m", "tests.support.faulty_server", "serve")
    faulty = replicas("--store", "sqlite", "--data", str(tmp_path / "data"), command=command)
    rng = random.Random(f"faulty {SEED}")
    found = pytest.raises(ContradictoryHistory)
    short = ["champion_chess", "skystones"]
    with found, ChaosRun(SEED, [faulty.address], 4, short) as run:
        for _ in range(20):
            kill([faulty], rng, run)
        faulty.ready()
        run.finish()


def test_a_server_that_answers_from_its_memory_is_detected(replicas, postgres):
    command = (sys.executable, "-m", "tests.support.stale_server", "serve")
    store = ("--store", postgres.url(postgres.new_schema()))
    sound, stale = replicas(*store), replicas(*store, command=command)
    for replica in (sound, stale):
        replica.ready()
    rng = random.Random(f"stale {SEED}")

    def stale_reads(what):
        found = read_while_paused(sound, stale, rng, rounds=1, what=[what])
        return any("but not before" in each for each in found)

    # The server may hear of what was committed before it answers.
    for what in (VIEWS, STREAMS):
        wait_until(lambda what=what: stale_reads(what), lambda what=what: f"stale {what}")
    wait_until(lambda: read_without_notifications(sound, stale, lambda: None, rounds=1))


class ForgetfulStore(MemoryStore):
    """Reports entries as added without adding them."""

    async def append(self, *arguments):
        return True


class OverwritingStore(MemoryStore):
    """Adds an entry at its version even if that replaces later entries."""

    async def append(self, match_id, version, entry, *others):
        del self._entries[match_id][version:]
        return await super().append(match_id, version, entry, *others)


class DoublingStore(MemoryStore):
    """Adds each entry twice."""

    async def append(self, match_id, version, entry, *others):
        done = await super().append(match_id, version, entry, *others)
        self._entries[match_id].append(entry)
        return done


class StaleStore(MemoryStore):
    """Reads no entry that was added after the creation of the match."""

    async def read(self, *arguments):
        return []


class Witness:
    """A player who notes the answers of two servers, and compares them with the log."""

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
        """Sends a request for an action, and notes the answer."""
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
        """Gets a view, and notes it."""
        called = monotonic_ns()
        view = player.view()
        shown_bytes = view.SerializeToString(deterministic=True)
        self.history.reads.append(
            Read(view.seat, called, monotonic_ns(), view.version, shown_bytes)
        )

    def violations(self):
        """Stops the servers, and returns the violations that the checker finds."""
        match_id = self._table.name.removeprefix("matches/")
        entries = self._servers.run(self._store.load(match_id)).entries
        for server, _ in self._running:
            self._servers.stop(server)
        assert all(entry.kind == EntryKind.ACTION for entry in entries)
        return violations(self.history, [Decision(entry.seat, entry.action) for entry in entries])


def scenario(servers, store):
    """A player looks at one server, decides at the other, and looks at both again."""
    witness = Witness(servers, store)
    one, other = witness.players
    witness.look(other)
    witness.decide(one, witness.request)
    witness.look(one)
    witness.look(other)
    return witness


def test_a_server_without_a_fault_is_accepted(servers):
    assert scenario(servers, MemoryStore()).violations() == []


def test_a_lost_commit_is_found(servers):
    found = scenario(servers, ForgetfulStore()).violations()
    assert any("but the log disagrees" in each for each in found)


def test_an_action_applied_twice_is_found(servers):
    witness = Witness(servers, DoublingStore())
    witness.decide(witness.players[0])
    assert any("no client was told of" in each for each in witness.violations())


def test_a_stale_read_is_found(servers):
    assert any("but not before" in each for each in scenario(servers, StaleStore()).violations())


def test_two_winners_of_one_version_are_found(servers):
    witness = Witness(servers, OverwritingStore())
    # Both servers have the match in memory, and neither learns of the other's entry.
    for player in witness.players:
        witness.look(player)
    for player in witness.players:
        witness.decide(player)
    assert any("was the answer to both" in each for each in witness.violations())
