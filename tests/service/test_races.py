"""Of two clients that race for the same seat and version, one wins and the other is refused."""

import os
from concurrent.futures import Future
from time import monotonic_ns

import grpc
import pytest

from service import wire
from tests.support.history import Decision, History, Write, violations
from tests.support.observations import log_of, refusal_of
from tests.support.play import note_on_failure, seeded
from tests.support.serving import Client, Player, ruleset_of

RACES = int(os.environ.get("TEST_RACES", "30"))
AT_ONCE = 4


@pytest.fixture(params=["sqlite", "postgresql"])
def pair(request, replicas, tmp_path):
    """Two clients of one server, or of two servers."""
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
    """One of two simultaneous calls for the same seat and version."""

    def __init__(self, player, seat, view, action):
        self.seat = seat
        self.request = player.request(action, view.version)
        self.called = monotonic_ns()
        self.call = player.send_later(self.request)
        self._returned = Future()
        self.call.add_done_callback(lambda call: self._returned.set_result(monotonic_ns()))

    @property
    def returned(self):
        """The time of the answer."""
        return self._returned.result()


class ContestedMatch:
    """A match in which two clients race for each decision."""

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
        """Starts a race for each decider, with the racers in random order."""
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
        """Waits until races have ended, and returns their number."""
        lost = []
        for race in races:
            winners = [each for each in race if each.call.code() is grpc.StatusCode.OK]
            assert len(winners) == 1
            view = winners[0].call.result().view
            self._won(winners[0], view)
            lost += [(view, self._lost(each)) for each in race if each not in winners]
        newest = max((view.version for view, _ in lost), default=0)
        over = any(view.HasField("result") for view, _ in lost)
        for view, refused in lost:
            if refused.reason == "MATCH_OVER":
                assert over
            else:
                # In a simultaneous decision, the other seat's entry may have come in between.
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
        """Checks that the record has the winning actions and no others."""
        assert violations(self.history, log_of(self.table.spectator.record())) == []


def test_one_of_two_racing_actions_wins_and_the_other_is_refused(pair, request):
    games = list(wire.hosted_games())
    rng = seeded(request.node.callspec.id)
    run = begun = 0
    matches = []
    while run < RACES or matches:
        while run < RACES and len(matches) < AT_ONCE:
            matches.append(ContestedMatch(pair, games[begun % len(games)], rng))
            begun += 1
        with note_on_failure(run=run):
            started = [(match, match.start()) for match in matches]
            run += sum(match.end(races) for match, races in started)
            for match in [match for match in matches if match.over]:
                match.check()
                matches.remove(match)
    print(f"{run} races, {begun} matches")
