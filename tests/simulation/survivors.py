"""Survivors, who play on when the log has lost actions that were answered.

A database may be set up so that the server that takes over lacks what was committed last. Nothing
is promised of what is lost, but that the match goes on from what the log has. So they believe
whatever they are shown, and give the match up when nothing happens any more.
"""

import asyncio
import random

from croupier.v1 import match_pb2
from tests.simulation.network import CallError
from tests.support.history import view_bytes

PATIENCE_SECONDS = 10.0
BLIND_SECONDS = 90.0  # After which a stream shows nothing that is lost, all being well.
SEEN_SECONDS = 25.0  # In which a stream has shown something.
ALLOWED = ("STALE_VERSION", "NOT_TO_DECIDE", "ILLEGAL_ACTION", "MATCH_OVER")


class Witness:
    """A stream that was there before the loss, and is resumed where it ended."""

    def __init__(self, table):
        self._table = table
        self._rng = random.Random(f"witness/{table.rng.random()}")
        self._client = table.client()
        self.version, self.etag = None, ""  # That it has shown last.
        self._by_etag = self._rng.random() < 0.5

    async def watch(self):
        """Watches until the match is over."""
        table = self._table
        while True:
            request = match_pb2.WatchMatchRequest(name=table.name, after_version=self.version)
            request.etag = self.etag if self._by_etag else ""
            before = (self.version, self.etag) if request.etag else None
            request.heartbeat_interval.FromSeconds(10)
            call = self._client.begin(
                "WatchMatch", request, table.spectator_token, None, streams=True
            )
            try:
                while True:
                    async with asyncio.timeout(25):
                        data = await call.read()
                    if data is None:
                        return
                    message = match_pb2.WatchMatchResponse.FromString(data)
                    self.version, self.etag = message.version, message.etag or self.etag
                    before = self._check_follows(before)
                    check_course(table, message.version, self.etag, "stream")
            except CallError as error:
                if error.reason == "VERSION_IN_FUTURE":
                    self.version, self.etag = None, ""
            except TimeoutError:
                pass  # It is silent, so it is lost.
            finally:
                call.cancel()
            await asyncio.sleep(self._rng.uniform(0.1, 1.0))

    def _check_follows(self, before):
        # What a stream sends has come of what it has sent before: where the log has the one, it
        # has the other. Returns what is the last one now.
        table, shown = self._table, (self.version, self.etag)
        lost = before is not None and not _has(table, *before)
        if lost and _has(table, *shown):
            table.world.fail(f"{table}: a stream goes on from {before[0]}, which was lost")
        return shown


def _has(table, version, etag):
    # Whether the log has a version.
    return table.world.etag_at(table, version) == etag


def check_course(table, version, etag, what):
    """Fails if something shows a version, a while after a loss, that the log does not have."""
    world = table.world
    if world.troubles.is_well(BLIND_SECONDS) and not _has(table, version, etag):
        world.fail(f"{table}: a {what} shows another course of version {version} than the log")


async def play_on(table):
    """Plays the match to its end."""
    if table.rng.random() < 0.5:
        # Who only watches learns of the loss all the same.
        # Longer than it may take, so that what the witness is shown meanwhile is judged.
        for _ in range(60):
            if table.world.troubles.is_well(BLIND_SECONDS + SEEN_SECONDS):
                break
            await asyncio.sleep(10)
    playing = []
    # As behind a balancer: what one server has shown is acted on at another.
    addresses = [each.address for each in table.world.machines_with(table.newer)]
    here, there = table.rng.sample(addresses if len(addresses) > 1 else 2 * addresses, 2)
    servers = table.rng.choice((((here, here), (here, there)), ((here, there), (there, here))))
    for seat, (reads_at, acts_at) in enumerate(table.rng.sample(servers, 2)):
        if seat in table.tokens:
            playing.append(_play(table, seat, reads_at, acts_at))
    await asyncio.gather(*playing)


async def _play(table, seat, reads_at, acts_at):
    rng = random.Random(table.rng.getrandbits(64))
    world, token = table.world, table.tokens[seat]
    reader, actor = table.client(web=""), table.client(web="")
    reader.connect(reads_at)
    actor.connect(acts_at)
    pause = rng.choice((0.1, 0.5, 3.0))
    look, seen, since = match_pb2.GetViewRequest(name=table.name), -1, world.now
    while True:
        await asyncio.sleep(rng.expovariate(1 / pause))
        try:
            shown = table.witness.version or 0
            view = (await reader.call("GetView", look, token)).view
            if shown > view.version and world.troubles.is_well(BLIND_SECONDS):
                world.fail(f"{table}: a stream still shows version {shown}, which was lost")
            check_course(table, view.version, view.etag, "view")
            if view.HasField("result"):
                return
            if view.version != seen:
                seen, since = view.version, world.now
            if world.now - since > PATIENCE_SECONDS:
                await actor.call(
                    "ResignMatch", match_pb2.ResignMatchRequest(name=table.name), token
                )
            elif view.legal_actions:
                request = match_pb2.SubmitActionRequest(
                    name=table.name,
                    expected_version=view.version,
                    action=rng.choice(view.legal_actions),
                    request_id=f"{seat} {rng.getrandbits(64):016x}",
                    etag=rng.choice(("", view.etag)),
                )
                moved = world.database.moved_at
                made = (await actor.call("SubmitAction", request, token)).view
                decided = world.etag_at(table, request.expected_version)
                if moved == world.database.moved_at and request.etag not in ("", decided):
                    world.fail(f"{table}: a decision by another course is taken: {made.version}")
                view = (await reader.call("GetView", look, token)).view
                alike = view.version != made.version or view_bytes(view) == view_bytes(made)
                if moved == world.database.moved_at and not alike:
                    world.fail(f"{table}: two servers show two courses of version {view.version}")
        except CallError as error:
            if error.reason == "TOKEN_REPLACED":
                return  # The answer with the newest one was lost with its client.
            if error.reason not in ALLOWED:
                world.fail(f"{table}: after a loss, a call ends with {error}")
