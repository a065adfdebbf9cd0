"""Pairs of servers whose matches differ in what a seat cannot know, for the tests of leaks."""

import contextlib
import functools
import re

import grpc
from google.protobuf.duration_pb2 import Duration

from croupier.v1 import match_pb2
from service.gateway.listener import WebOptions
from service.store import MemoryStore
from tests.support.manual_clock import ManualClock
from tests.support.replicas import OPERATOR
from tests.support.serving import Client, Player
from tests.support.waiting import FOREVER
from tests.support.web import Method, WebClient
from tests.support.worlds import another_world, with_secret

DECISIONS, DRAWS = 12, 24  # Tried in the second match, to show the viewer the same.
# Durations and memory, what counts streams too, whose status is 200, and connections, which clients
# open and close as they like.
LEFT_OUT = re.compile(
    r"_seconds_(bucket|sum)|event_loop_lag|WatchMatch|_watchers|_rpcs_total|_cache_lookups"
    r"|_(web|grpc)_connections$|_web_responses_total 200|_idle_seconds|_memory_bytes"
)
# Otherwise the server would make one, at random.
REQUEST_ID = ("x-request-id", "pair")


@contextlib.contextmanager
def pair_of_servers(servers, key, gateway):
    """Two servers that differ in nothing, and clients that call through a listener."""
    pair = []
    operator = key.with_name("operator")
    operator.write_text(OPERATOR)
    for _ in range(2):
        clock = ManualClock()
        store = MemoryStore()
        server, address = servers.start(
            store,
            clock,
            allow_seeds=True,
            search_threads=1,
            token_key_file=key,
            operator_token_file=operator,
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
        # For people, only the operator plays on from a record that the log does not hold.
        metadata = [("authorization", f"Bearer {OPERATOR}")]
        created = self.client.matches.CreateMatch(request, metadata=metadata)
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

    def turn_into_another_world(self, other, viewer, rng):
        """Play on from another world of the match that `other` plays."""
        # No log leads to that world, so the server believes it as long as it has it in memory.
        other.store._anchor.backup(self.store._anchor)
        self.store._writer.heads = dict(other.store._writer.heads)
        self.state = another_world(other.state, viewer, rng)

    def watch(self, viewers):
        """Watch from the present version on."""
        self.streams = []
        for player in (self.players[viewer] for viewer in viewers):
            request = match_pb2.WatchMatchRequest(
                name=player.match, after_version=self.state.version
            )
            self.streams.append(
                self.client.matches.WatchMatch(request, metadata=player.metadata, timeout=FOREVER)
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
            call = method(request, metadata=metadata, timeout=FOREVER)
            responses = list(call)
        else:
            response, call = method.with_call(request, metadata=metadata, timeout=FOREVER)
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
