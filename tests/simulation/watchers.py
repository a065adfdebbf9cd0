"""Watchers, who follow a match by a stream, and resume it where it ended."""

import asyncio
import math
import random
from contextlib import suppress
from dataclasses import dataclass

from croupier.v1 import match_pb2
from engine.game import SPECTATOR
from tests.simulation import oracles, shown
from tests.simulation.clients import hear, nanoseconds
from tests.simulation.network import LOST, CallError
from tests.support.history import Read, Received, Stream, view_bytes

TOKEN_SECONDS = 60.0  # For which a stream may go on with a token that was replaced.
# For which it may not know what another server has written,
LATE_SECONDS = 1.0
# A seat is said to be there when its stream is open so long, and not so long after its end.
HERE_SECONDS, AWAY_SECONDS = 20.0, 60.0
DEAF_SECONDS = 10.0  # and where the database always loses notifications.


@dataclass
class Stay:
    """A stream of a seat: whether it hides, from when on and until when, and since when known."""

    hides: bool
    begin: float
    known: float = math.inf
    end: float = math.inf


class Watcher:
    """A client that follows a match by a stream, and resumes it where it ended."""

    def __init__(self, table, viewer):
        self.table, self.viewer = table, viewer
        self.world = table.world
        self.rng = random.Random(table.rng.getrandbits(64))
        self.client = table.client()
        self.slow = self.rng.random() < 0.2
        self.interval = self.rng.choice((2, 10))  # Of heartbeats, in seconds.
        self.hides = self.rng.random() < 0.15
        # The fields that it asks for; none: all.
        self.fields = self.rng.choice(((), (), (), ("version", "events", "etag", "own_action")))
        self.skips_own = viewer != SPECTATOR and self.rng.random() < 0.4
        # Of what it has received last, where it resumes only from that.
        self.etag, self.resumes_by_etag = "", self.rng.random() < 0.5

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
            received, ended = await self._watch_once(after)
            if ended:
                return
            if received:
                after, lost_since = received[-1].version, None
            lost_since = lost_since or world.now
            if world.now - lost_since > 1200:
                world.fail(f"{self.table}: a stream brings nothing for 20 minutes")
            world.counts["streams resumed"] += 1
            await asyncio.sleep(self.rng.uniform(0.1, 1.0))

    async def glance(self, after):
        """Watches for a moment what comes after a version."""
        self.interval = 2
        with suppress(TimeoutError):
            async with asyncio.timeout(self.rng.uniform(2.5, 5.0)):
                await self._watch_once(after)
        self.client.close()

    async def _watch_once(self, after):
        # What one stream brings, and whether it ends with the match.
        request = match_pb2.WatchMatchRequest(name=self.table.name)
        request.heartbeat_interval.FromSeconds(self.interval)
        request.skip_own_actions = self.skips_own
        request.hide_presence = self.hides
        request.read_mask.paths.extend(self.fields)
        self.stay = Stay(self.hides, self.world.now)
        if self.viewer != SPECTATOR:
            self.table.stays[self.viewer].append(self.stay)
        if after >= 0:
            request.after_version = after
            request.etag = self.etag if self.resumes_by_etag else ""
        stream = Stream(self.viewer, nanoseconds(self.world.now), after, [], False)
        token = self.token
        try:
            ended = await self._follow(request, stream, token)
            stream = stream._replace(ended=ended)
        except CallError as error:
            self._note_end(
                error, after if not stream.received else stream.received[-1].version, token
            )
        finally:
            self.stay.end = self.world.now
            (self.table.skipping if self.skips_own else self.table.history.streams).append(stream)
        return stream.received, stream.ended

    def _note_end(self, error, sent, token):
        if error.reason == "TOKEN_REPLACED":
            return  # The newest one may be on its way to another client.
        # Its server has waited for a slow reader as long as it can.
        calm = not self.slow and len(self.world.troubles.present) <= 1
        if "closed its port" in error.details and calm:
            self.world.fail(f"{self.table}: a stream ends with its server, and says nothing")
        # Who reads slowly is disconnected after a minute.
        dead = self.world.death is not None and self.world.death.tells(error)
        well = self.world.troubles.is_well(60.0) and not dead
        if error.details == LOST and well and not self.slow:
            self.world.fail(f"{self.table}: a stream is cut off while all is well")
        if not error.unanswered and error.reason != "BUDGET_EXHAUSTED":
            self.world.fail(f"{self.table}: a stream ends with {error}")
        said = error.metadata.get("after_version")
        if said is not None and int(said) != sent and not self.slow and not self.skips_own:
            self.world.fail(
                f"{self.table}: a stream that has sent {sent} says to resume after {said}"
            )

    def _check_token(self, token):
        # A stream with a token that was replaced ends as soon as its server knows it.
        # What a slow reader reads was sent long before.
        if self.slow or token == self.token or not self.world.troubles.is_well(3 * TOKEN_SECONDS):
            return
        if self.world.now - self.table.replaced_at[self.viewer] > TOKEN_SECONDS:
            self.world.fail(f"{self.table}: a stream goes on with a token that was replaced")

    def _check_time(self, message, call):
        # By the times of its server: neither a slow reader nor a slow network is to blame.
        table, world = self.table, self.world
        if not world.troubles.is_well(60.0 + world.now - call.sent):
            return
        deaf = world.store == "postgresql" and world.database.deaf
        late = DEAF_SECONDS if deaf else LATE_SECONDS
        if message.up_to_date:
            known = table.known_at(call.sent - late)
            if known > message.version:
                world.fail(
                    f"{table}: a stream says that {message.version} is the newest version, though "
                    f"{known} was known {late:.0f} s before"
                )
            return
        since = table.known_since(message.version)
        if since is not None and call.sent - max(since, call.asked) > late:
            world.fail(f"{table}: a stream sends {message.version} {call.sent - since:.1f} s late")

    def _other_seat(self, told, at):
        # What a heartbeat must say of the other seat, which was told at a time.
        table, world = self.table, self.world
        bots = any(each.HasField("bot") for each in table.request.seats)
        if self.viewer == SPECTATOR or bots or self.hides:
            return match_pb2.SEAT_PRESENCE_UNSPECIFIED
        deaf = world.store == "postgresql" and world.database.deaf
        if deaf or not world.troubles.is_well(3 * AWAY_SECONDS + world.now - at):
            return told
        shown = [each for each in table.stays[1 - self.viewer] if not each.hides]
        if any(each.known < at - HERE_SECONDS and at < each.end for each in shown):
            return match_pb2.SEAT_PRESENCE_HERE
        if any(each.begin < at and at - AWAY_SECONDS < each.end for each in shown):
            return told
        return match_pb2.SEAT_PRESENCE_AWAY

    def _note_heartbeat(self, message, stream, at):
        sent = stream.received[-1].version if stream.received else stream.after
        told = match_pb2.WatchMatchResponse(version=message.version, up_to_date=True)
        told.other_seat = self._other_seat(message.other_seat, at)
        if self.viewer != SPECTATOR and message.HasField("view") and not self.fields:
            told.view.CopyFrom(message.view)  # Decisions ahead were cancelled.
            oracles.check_view(self.table, message.view, self.viewer)
            times, seen = (stream.called, nanoseconds(self.world.now)), view_bytes(message.view)
            self.table.history.reads.append(Read(self.viewer, *times, message.view.version, seen))
        if message != told:
            self.world.fail(f"{self.table}: a heartbeat tells {message}, not {told}")
        viewer = self.viewer if self.skips_own else None
        self.table.heartbeats.append((viewer, sent, message.version))

    async def _follow(self, request, stream, token):
        received, world = stream.received, self.world
        call = self.client.begin("WatchMatch", request, token, None, streams=True)
        silent, most = 0, self.rng.randint(1, 300)
        try:
            while True:
                try:
                    data = await hear(call, math.inf if self.slow else self.interval, self.table)
                except TimeoutError:
                    return False  # It is silent, so it is lost.
                if data is None:
                    return True
                message = match_pb2.WatchMatchResponse.FromString(data)
                if not self.slow:  # Whose server may have given it up.
                    self.stay.known = min(self.stay.known, call.sent)
                whole = message.up_to_date or not self.fields
                if not (whole or message == shown.masked(message, self.fields)):
                    world.fail(f"{self.table}: who asks for {self.fields} is told {message}")
                self._check_token(token)
                self._check_time(message, call)
                self.table.note(message.version)
                if message.up_to_date:
                    self._note_heartbeat(message, stream, call.sent)
                    silent += self.interval
                    if silent > 2000 and self.table.kind == "bots":
                        self.world.fail(f"{self.table}: bots do not go on")
                    continue
                silent = 0
                self.etag = message.etag
                told = message.version, message.etag, self.viewer, message.own_action
                self.table.etags.add(told)
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
                if self.slow and world.now < self.table.inhabitants.end:
                    # Now and then for so long that its server gives it up; but the world must end.
                    mean = 300 if self.rng.random() < 0.01 else 10
                    await asyncio.sleep(self.rng.expovariate(1 / mean))
        finally:
            call.cancel()
