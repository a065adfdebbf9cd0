"""Whatever leaves the process is the same in pairs of matches that differ in hidden cards only.

Two servers with the same key and the same clock each play one match of a pair. The second match is
another world of the first: it differs in what one seat, the viewer, cannot know. Both are played
from the deal to the end, so that the viewer's view stays the same: the viewer decides alike in
both, and the other seat, whose cards differ, makes a decision that shows the viewer the same. The
chance of the second match is drawn again until it does, too. Where that is impossible, such as when
many cards are drawn, the second match is replaced by another world of the first.

The matches are played over gRPC, and over the web gateway in JSON. Some are played on from a moment
of another match.

All that the viewer and a spectator receive is then compared, byte by byte: responses, streams,
errors with their details and metadata, hints, beliefs, refused records, the debug log and the
metrics. Only durations are left out: those of responses, of the log and of the metrics.
"""

import contextlib
import functools
import logging
import os
import re
import uuid

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration

from croupier.v1 import clock_pb2, hint_pb2, match_pb2
from engine.game import SPECTATOR
from service import wire
from service.gateway.listener import WebOptions
from service.hosting.records import write_record
from service.observability.logs import JsonFormatter
from service.store import MemoryStore
from tests.support.manual_clock import ManualClock
from tests.support.play import note_on_failure, seeded
from tests.support.random_matches import random_match, random_moment
from tests.support.serving import TIMEOUT, Client, Player, hosted_cases, ruleset_of
from tests.support.web import Method, WebClient
from tests.support.worlds import another_world, with_secret

PAIRS = int(os.environ.get("TEST_LEAK_PAIRS", "1"))
BLOCK = 6  # Pairs of one test, so that processes share the long form.
SEED = int(os.environ.get("TEST_LEAK_SEED", "1"))
ASKED = 0.15  # The share of the versions at which everything is asked.
PATIENCE = 600  # Seconds. A hint that a deadline cuts short depends on the time.
DECISIONS, DRAWS = 12, 24  # Tried in the second match, to show the viewer the same.
LIMITS = hint_pb2.SearchLimits(iterations=30)
HOUR = clock_pb2.TimeControl(per_decision={"seconds": 3600})


# Durations, what counts streams too, and connections, which a client opens and closes as it likes.
LEFT_OUT = re.compile(
    r"_seconds_(bucket|sum)|event_loop_lag|WatchMatch|_watchers|_rpcs_total|_cache_lookups"
    r"|_web_connections"
)


DURATIONS = re.compile(r'"time": "[^"]+"|"duration_ms": [\d.]+|[\d.]+ ms')
# Otherwise the server would make one, at random.
REQUEST_ID = ("x-request-id", "pair")


class Log(logging.Handler):
    """The debug log, without durations. The end of a stream is logged when its client has gone."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.setFormatter(JsonFormatter())
        self._lines = []

    def emit(self, record):
        line = self.format(record)
        if "WatchMatch" not in line:
            self._lines.append(DURATIONS.sub("", line))

    def take(self):
        """The lines since the last call."""
        lines, self._lines = self._lines, []
        return lines


@pytest.fixture
def log():
    handler = Log()
    logger = logging.getLogger("service")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


@contextlib.contextmanager
def pair_of_servers(servers, key, gateway):
    """Two servers that differ in nothing, and clients that call through a listener."""
    pair = []
    for _ in range(2):
        clock = ManualClock()
        store = MemoryStore()
        server, address = servers.start(
            store,
            clock,
            allow_seeds=True,
            search_threads=1,
            token_key_file=key,
            web=WebOptions(port=0),
        )
        client = WebClient(server.web_url, "json") if gateway == "web" else Client(address)
        pair.append(World(server, clock, client, store))
    yield pair
    for world in pair:
        world.unwatch()
        world.client.close()
        servers.stop(world.server)
        servers.run(world.store.close())


class World:
    """A server that plays one match of a pair, and what its viewers receive."""

    def __init__(self, server, clock, client, store):
        self.server = server
        self.store = store
        self.clock = clock
        self.client = client
        self.players = []
        self.streams = []
        self._match_id = None

    def create(self, request):
        """Create the match; return the response as bytes."""
        created = self.client.matches.CreateMatch(request, timeout=TIMEOUT)
        tokens = [each.token for each in created.seat_tokens]
        self.players = [
            Player(self.client, created.name, token) for token in (*tokens, created.spectator_token)
        ]
        self._match_id = created.name.removeprefix("matches/")
        return created.SerializeToString(deterministic=True)

    @property
    def state(self):
        return self.server.matches._cache._states[self._match_id]

    @state.setter
    def state(self, state):
        self.server.matches._cache._states[self._match_id] = state

    def watch(self, viewers):
        """Watch from the present version on."""
        self.streams = []
        for player in (self.players[viewer] for viewer in viewers):
            request = match_pb2.WatchMatchRequest(
                name=player.match, after_version=self.state.version
            )
            self.streams.append(
                # For a whole match.
                self.client.matches.WatchMatch(
                    request, metadata=player.metadata, timeout=10 * PATIENCE
                )
            )

    def unwatch(self):
        for stream in self.streams:
            stream.cancel()

    def streamed(self):
        """The next response of each stream, as bytes."""
        return [next(stream).SerializeToString(deterministic=True) for stream in self.streams]

    def metrics(self):
        """All metrics but durations, and but the streams, whose end is counted when it comes."""
        # As samples: their text takes seven times as long to write.
        families = self.server.metrics.registry.collect()
        samples = [sample for family in families for sample in family.samples]
        return [(*each[:3],) for each in samples if not left_out(each.name, *each.labels.values())]


@functools.cache
def left_out(*words):
    """Whether the sample of a metric is left out, by its name and the values of its labels."""
    return bool(LEFT_OUT.search(" ".join(words)))


def received(method, request, player):
    """What a call returns or raises, as bytes, with the metadata that comes with it."""
    if isinstance(method, Method):
        responses, *rest = method.received(request, [*player.metadata, REQUEST_ID])
        return (without_durations(responses) if isinstance(responses, list) else responses, *rest)
    call, metadata = None, [*player.metadata, REQUEST_ID]
    try:
        if isinstance(method, grpc.UnaryStreamMultiCallable):
            call = method(request, metadata=metadata, timeout=PATIENCE)
            responses = list(call)
        else:
            response, call = method.with_call(request, metadata=metadata, timeout=PATIENCE)
            responses = [response]
    except grpc.RpcError as error:
        return (error.code(), error.details(), list(error.trailing_metadata()))
    sent = without_durations(responses)
    return (sent, list(call.initial_metadata()), list(call.trailing_metadata()))


def without_durations(responses):
    """Responses as bytes, without their durations."""
    for response in responses:
        for field in response.DESCRIPTOR.fields:
            if field.message_type is Duration.DESCRIPTOR:
                response.ClearField(field.name)
    return [response.SerializeToString(deterministic=True) for response in responses]


def asked(world, viewer, version, actions, seed):
    """What one viewer receives when it asks for all there is."""
    client, player = world.client, world.players[viewer]
    match = player.match
    matches, hints = client.matches, client.hints
    calls = [
        (matches.GetMatch, match_pb2.GetMatchRequest(name=match)),
        (matches.GetView, match_pb2.GetViewRequest(name=match)),
        (matches.GetRecord, match_pb2.GetRecordRequest(name=match)),
        (matches.Rematch, match_pb2.RematchRequest(name=match)),
        (matches.WatchMatch, match_pb2.WatchMatchRequest(name=match, after_version=version + 1)),
        (matches.ListMatches, match_pb2.ListMatchesRequest()),
        (
            matches.ContributeEntropy,
            match_pb2.ContributeEntropyRequest(name=match, entropy=bytes(16)),
        ),
    ]
    for number, action in enumerate(actions):
        name = f"illegal {version} {viewer} {number}"
        for expected in (version, version + 1):
            calls.append((matches.SubmitAction, player.request(action, expected, name)))
        calls.append(
            (
                hints.SuggestAction,
                hint_pb2.SuggestActionRequest(
                    search={"match_name": match, "limits": LIMITS, "include_actions": [action]}
                ),
            )
        )
    wanted = {"match_name": match, "limits": LIMITS, "seed": seed, "belief_worlds": 20}
    # Reports at intervals depend on the time; the final one does not.
    reports = {"report_interval": {"seconds": 60}}
    calls += [
        (hints.SuggestAction, hint_pb2.SuggestActionRequest(search=wanted)),
        (hints.AnalyzePosition, hint_pb2.AnalyzePositionRequest(search=wanted, **reports)),
    ]
    return [received(method, request, player) for method, request in calls]


def seen(events, viewer):
    """The events that a viewer sees, as they are sent."""
    return [event for event in events if event.seen_by(viewer)]


def shown(state, seat, action, viewer):
    """What a decision shows a viewer: its view and the events."""
    match = state.match.copy()
    events = match.apply(seat, action)
    return bytes(match.view(viewer)), match.deciders, seen(events, viewer)


def counterpart(state, seat, action, wanted, viewer, rng):
    """The second match with other chance, and a decision of `seat` that shows `wanted`, if any."""
    choices = list(state.match.legal(seat))
    rng.shuffle(choices)
    if action in choices:
        choices.remove(action)
        choices.insert(0, action)
    if seat == viewer:
        choices = [action]
    for draw in range(DRAWS):
        drawn = state if not draw else with_secret(state, rng.randbytes(32))
        for choice in choices[:DECISIONS]:
            found = shown(drawn, seat, choice, viewer)
            if found == wanted:
                return drawn, choice
            # After the same decision, equal views must tell the same, but for the order of cards.
            if found[0] == wanted[0] and choice == action:
                assert sorted(map(unordered, found[2])) == sorted(map(unordered, wanted[2]))
    return None


def any_decision(state, seat, action, wanted, viewer, rng):
    """A decision of `seat` in the second match that ends the match if, and only if, `wanted` does.

    None if there is none.
    """
    for choice in [action] if seat == viewer else rng.sample(list(state.match.legal(seat)), 1):
        for _ in range(DRAWS):
            drawn = with_secret(state, rng.randbytes(32))
            if bool(shown(drawn, seat, choice, viewer)[1]) == bool(wanted[1]):
                return drawn, choice
    return None


def unordered(event):
    return event.kind, event.seat, sorted(event.values)


def random_start(game_id, name, rng):
    """A moment of another match, to play on from."""
    source = random_match(game_id, name, rng)
    version, record = random_moment(source, rng).version, write_record(source)
    needed = [each for each in record.entries if not each.HasField("event")][:version]
    del record.entries[:]
    record.entries.extend(needed)
    return match_pb2.StartFrom(record=record, version=version)


def play_pair(pair, log, game_id, name, rng, played_on):
    """Play a pair of matches; return how often the second was replaced, and how many versions."""
    first, second = pair
    viewer = rng.randrange(2)
    viewers = (viewer, SPECTATOR)
    request = match_pb2.CreateMatchRequest(
        ruleset=ruleset_of(game_id, name),
        seed=rng.getrandbits(63),
        request_id=str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        time_control=HOUR if rng.random() < 0.5 else None,
        start_from=random_start(game_id, name, rng) if played_on else None,
    )
    assert first.create(request) == second.create(request)
    second.state = another_world(first.state, viewer, rng)
    log.take()
    replaced = 0
    actions = []  # Of earlier positions: most are not legal later.
    for world in pair:
        world.watch(viewers)
    while not first.state.over:
        version = first.state.version
        compare = rng.random() < ASKED
        if compare and actions:
            legal = first.state.match.legal(viewer)
            illegal = [a for a in rng.sample(actions, min(6, len(actions))) if a not in legal][:2]
            messages = [wire.write_action(first.state.game, action) for action in illegal]
            seed = rng.getrandbits(64)
            for each in viewers:
                results, logs = [], []
                for world in pair:
                    results.append(asked(world, each, version, messages, seed))
                    logs.append(log.take())
                assert results[0] == results[1]
                assert logs[0] == logs[1]
                assert logs[0]
        seat = rng.choice(first.state.deciders)
        legal = first.state.match.legal(seat)
        actions = list({*actions, *rng.sample(legal, min(8, len(legal)))})
        action = rng.choice(legal)
        wanted = shown(first.state, seat, action, viewer)
        found = counterpart(second.state, seat, action, wanted, viewer, rng)
        milliseconds = rng.choice((0, 1, 2500))
        for world in pair:
            world.clock.drift(milliseconds)
        shows_the_same = found is not None
        if not shows_the_same:
            for world in pair:
                world.unwatch()
            found = any_decision(second.state, seat, action, wanted, viewer, rng)
            if found is None:
                break
        second.state, choice = found
        answers = []
        for world, chosen in zip(pair, (action, choice), strict=True):
            message = wire.write_action(world.state.game, chosen)
            submit = world.players[seat].request(message, version, f"{version}")
            answers.append(received(world.client.matches.SubmitAction, submit, world.players[seat]))
        assert len(log.take()) == 2
        # What was counted stays, so the short form looks at some of the versions.
        if PAIRS > 1 or compare or first.state.over:
            assert first.metrics() == second.metrics()
        if not shows_the_same:
            replaced += 1
            if first.state.over:
                break
            second.state = another_world(first.state, viewer, rng)
            for world in pair:
                world.watch(viewers)
        else:
            if seat == viewer:
                assert answers[0] == answers[1]
            assert first.streamed() == second.streamed()
    for world in pair:
        world.unwatch()
    return replaced, first.state.version


LISTENERS = ("grpc", "web")
# The short form plays each game through one listener.
OVER_GRPC = ("powershot_soccer", "skystones")
PLAYED = [
    ("grpc" if (game_id in OVER_GRPC) != played_on else "web", game_id, played_on)
    for game_id in wire.hosted_games()
    for played_on in (False, True)
]
ALL = [
    (gateway, game_id, played_on)
    for gateway in LISTENERS
    for game_id in wire.hosted_games()
    for played_on in (False, True)
]


@pytest.mark.parametrize("first", range(0, PAIRS, BLOCK))
@pytest.mark.parametrize(("gateway", "game_id", "played_on"), ALL if PAIRS > 1 else PLAYED)
def test_pairs_of_matches_tell_the_same(servers, tmp_path, log, game_id, first, gateway, played_on):
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    names = [case.values[1] for case in hosted_cases() if case.values[0] == game_id]
    replaced = versions = 0
    numbers = range(first, min(first + BLOCK, PAIRS))
    for number in numbers:
        name = names[number % len(names)] if PAIRS > 1 else "default"
        with note_on_failure(game=game_id, ruleset=name, seed=SEED, pair=number):
            rng = seeded("pairs", SEED, game_id, number, *(["played on"] if played_on else []))
            with pair_of_servers(servers, key, gateway) as pair:
                more = play_pair(pair, log, game_id, name, rng, played_on)
            replaced += more[0]
            versions += more[1]
    assert replaced < versions or played_on  # A match can be played on from its end.
    counted = f"{len(numbers)} pairs, {versions} versions, replaced {replaced} times"
    kind = "played on" if played_on else "whole"
    print(f"{game_id}, {kind}, over {gateway} from {first}: {counted}, seed {SEED}", flush=True)
