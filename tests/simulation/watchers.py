"""Watchers, who follow a match by a stream, and resume it where it ended."""

import asyncio
import random

from croupier.v1 import match_pb2
from engine.game import SPECTATOR
from tests.simulation import oracles
from tests.simulation.clients import nanoseconds
from tests.simulation.network import CallError
from tests.support.history import Received, Stream
from tests.support.observations import view_bytes

TOKEN_SECONDS = 60.0  # For which a stream may not know that another server has replaced its token.
# For which a stream may not know what another server has written, whatever notifications are lost,
BEHIND_SECONDS = 10.0
PROMPT_SECONDS = 1.0  # and for which most streams do not know it, unless many are lost.


class Watcher:
    """A client that follows a match by a stream, and resumes it where it ended."""

    def __init__(self, table, viewer):
        self.table, self.viewer = table, viewer
        self.world = table.world
        self.rng = random.Random(table.rng.getrandbits(64))
        self.client = table.client()
        self.slow = self.rng.random() < 0.2

    @property
    def token(self):
        """The newest token of the viewer."""
        table = self.table
        return table.spectator_token if self.viewer == SPECTATOR else table.tokens[self.viewer]

    async def watch(self):
        """Watches until the match is over."""
        after, world = -1, self.world
        lost_since = None
        while True:
            request = match_pb2.WatchMatchRequest(name=self.table.name)
            request.heartbeat_interval.FromSeconds(10)
            if after >= 0:
                request.after_version = after
            called, received, ended, token = world.now, [], False, self.token
            try:
                ended = await self._follow(request, received, token)
            except CallError as error:
                self._note_end(error, after if not received else received[-1].version, token)
            self.table.history.streams.append(
                Stream(self.viewer, nanoseconds(called), after, received, ended)
            )
            if ended:
                return
            if received:
                after, lost_since = received[-1].version, None
            lost_since = lost_since or world.now
            if world.now - lost_since > 1200:
                world.fail(f"{self.table}: a stream brings nothing for 20 minutes")
            world.counts["streams resumed"] += 1
            await asyncio.sleep(self.rng.uniform(0.1, 1.0))

    def _note_end(self, error, sent, token):
        if error.reason == "TOKEN_REPLACED":
            return  # The newest one may be on its way to another client.
        if "closed its port" in error.details and self.world.troubling <= 1:
            self.world.fail(f"{self.table}: a stream ends with its server, and says nothing")
        if not error.unanswered and error.reason != "BUDGET_EXHAUSTED":
            self.world.fail(f"{self.table}: a stream ends with {error}")
        said = error.metadata.get("after_version")
        if said is not None and int(said) != sent and not self.slow:
            self.world.fail(
                f"{self.table}: a stream that has sent {sent} says to resume after {said}"
            )

    def _check_token(self, token):
        # A stream with a token that was replaced ends as soon as its server knows it.
        # What a slow reader reads was sent long before.
        if self.slow or token == self.token or not self.world.is_well(3 * TOKEN_SECONDS):
            return
        if self.world.now - self.table.replaced_at[self.viewer] > TOKEN_SECONDS:
            self.world.fail(f"{self.table}: a stream goes on with a token that was replaced")

    def _note_delay(self, version, began, arrived):
        # How long a version was in the log before it came, if the stream had begun by then.
        world = self.world
        if self.slow or world.store != "postgresql" or not world.is_well(180.0):
            return
        times = world.database.times[self.table.name.removeprefix("matches/")]
        if version < len(times) and times[version] > began + PROMPT_SECONDS:
            delay = arrived - times[version]
            world.delays[delay > PROMPT_SECONDS] += 1
            if delay > BEHIND_SECONDS:
                world.fail(f"{self.table}: version {version} comes after {delay:.0f} s in a stream")

    async def _follow(self, request, received, token):
        call = self.client.begin("WatchMatch", request, token, None, streams=True)
        silent, most, began = 0, self.rng.randint(1, 300), self.world.now
        try:
            while True:
                try:
                    async with asyncio.timeout(25):
                        data = await call.read()
                except TimeoutError:
                    return False  # It is silent, so it is lost.
                if data is None:
                    return True
                message = match_pb2.WatchMatchResponse.FromString(data)
                self._check_token(token)
                self.table.decided.update(
                    (message.version, event.seat_decided.seat)
                    for event in message.events
                    if event.HasField("seat_decided")
                )
                if message.up_to_date:
                    silent += 1
                    behind = self.table.known_at(call.arrived - BEHIND_SECONDS)
                    fast = not self.slow and self.world.is_well(180.0)
                    if behind > message.version and fast:
                        self.world.fail(
                            f"{self.table}: a stream is at version {message.version}, though "
                            f"{behind} was known {BEHIND_SECONDS:.0f} s ago"
                        )
                    if silent > 200 and self.table.kind == "bots":
                        self.world.fail(f"{self.table}: bots do not go on")
                    continue
                silent = 0
                self._note_delay(message.version, began, call.arrived)
                events = b"".join(
                    event.SerializeToString(deterministic=True) for event in message.events
                )
                view = None
                if message.HasField("view"):
                    view = view_bytes(message.view)
                    oracles.check_view(self.table, message.view, self.viewer)
                received.append(
                    Received(nanoseconds(self.world.now), message.version, events, view)
                )
                if len(received) == most:
                    return False
                if self.slow:
                    await asyncio.sleep(self.rng.expovariate(1 / 10))
        finally:
            call.cancel()
