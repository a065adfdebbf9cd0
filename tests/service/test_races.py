"""Clients race for the same seat and version: one wins each time, and the other is refused."""

import os
from concurrent.futures import Future
from time import monotonic_ns

import grpc
import pytest

from service import wire
from tests.support.history import Decision, History, Write, violations
from tests.support.observations import log_of, refusal_of
from tests.support.play import seeded, told
from tests.support.serving import TIMEOUT, Client, Player, ruleset_of

RACES = int(os.environ.get("CROUPIER_RACES", "300"))
AT_ONCE = 4


@pytest.fixture(params=["sqlite", "postgresql"])
def pair(request, replicas, tmp_path):
    """Two clients, of one server or of two replicas."""
    if request.param == "sqlite":
        servers = [replicas("--store", "sqlite", "--data", str(tmp_path / "data"))] * 2
    else:
        postgres = request.getfixturevalue("postgres")
        store = ("--store", postgres.url(postgres.new_schema()))
        servers = [replicas(*store), replicas(*store)]
    for server in servers:
        server.ready()
    own_connection = (("grpc.use_local_subchannel_pool", 1),)
    return [Client(server.address, own_connection) for server in servers]


class Race:
    """A call made at the same time as another one for the same seat and version."""

    def __init__(self, player, seat, view, action):
        self.seat = seat
        self.request = player.request(action, view.version)
        self.called = monotonic_ns()
        self.call = player.send_later(self.request)
        self._returned = Future()
        self.call.add_done_callback(lambda call: self._returned.set_result(monotonic_ns()))

    @property
    def returned(self):
        """When it was answered."""
        return self._returned.result(TIMEOUT)


class Contested:
    """A match in which each decision is raced for."""

    def __init__(self, clients, game_id, rng):
        self.table = clients[0].create(ruleset_of(game_id))
        self.history = History.new()
        self.over = False
        self._rng = rng
        self._racers = {
            seat: [Player(client, player.match, player.token) for client in clients]
            for seat, player in self.table.players.items()
        }

    def start(self):
        """Starts a race for each seat that owes a decision, in any order."""
        races = []
        for player in self.table.players.values():
            view = player.view()
            self.over = view.HasField("result")
            if view.legal_actions:
                racers = self._racers[view.seat]
                self._rng.shuffle(racers)
                actions = self._rng.choices(view.legal_actions, k=2)
                races.append(
                    [
                        Race(racer, view.seat, view, action)
                        for racer, action in zip(racers, actions, strict=True)
                    ]
                )
        return races

    def end(self, races):
        """Waits for races to end; returns how many were run."""
        told = []
        for race in races:
            winners = [each for each in race if each.call.code() is grpc.StatusCode.OK]
            assert len(winners) == 1
            view = winners[0].call.result().view
            self._won(winners[0], view)
            told += [(view, self._lost(each)) for each in race if each not in winners]
        newest = max((view.version for view, _ in told), default=0)
        over = any(view.HasField("result") for view, _ in told)
        for view, refused in told:
            if refused.reason == "MATCH_OVER":
                assert over
            else:
                # When both seats decide, the other seat's decision may have come in between.
                assert view.version <= refused.current_version <= newest
        return len(races)

    def _won(self, race, view):
        action = race.request.action.SerializeToString(deterministic=True)
        self.history.writes.append(
            Write(
                race.request.request_id,
                Decision(race.seat, action),
                race.request.expected_version,
                race.called,
                race.returned,
                view.version,
                view.SerializeToString(deterministic=True),
            )
        )

    def _lost(self, race):
        refused = refusal_of(
            race.call, race.request.request_id, race.request.expected_version, race.called
        )
        codes = {
            "STALE_VERSION": grpc.StatusCode.ABORTED,
            "MATCH_OVER": grpc.StatusCode.FAILED_PRECONDITION,
        }
        assert race.call.code() is codes[refused.reason]
        refused = refused._replace(returned=race.returned)
        self.history.refusals.append(refused)
        return refused

    def check(self):
        """The winning actions, and no others, are in the record."""
        assert violations(self.history, log_of(self.table.spectator.record())) == []


def test_one_of_two_racing_actions_wins_and_the_other_is_refused(pair, request):
    games = list(wire.hosted_games())
    rng = seeded(request.node.callspec.id)
    run = begun = 0
    matches = []
    while run < RACES or matches:
        while run < RACES and len(matches) < AT_ONCE:
            matches.append(Contested(pair, games[begun % len(games)], rng))
            begun += 1
        with told(run=run):
            started = [(match, match.start()) for match in matches]
            run += sum(match.end(races) for match, races in started)
            for match in [match for match in matches if match.over]:
                match.check()
                matches.remove(match)
    print(f"{run} races, {begun} matches")
