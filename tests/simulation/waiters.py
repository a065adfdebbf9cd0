"""Waiters, who follow a match by calls that wait for a version, one after the other."""

import asyncio
import random

from croupier.v1 import match_pb2
from tests.simulation.network import CallError

WANTED = ("view.version", "view.result", "timed_out")
LATE_SECONDS = 5.0  # After which a call that waits was answered, when all is well.
MAX_WAIT_SECONDS = 60.0
EARLY_SECONDS = 1.0  # Before its deadline a call that waits is answered.
CUT_OFF = 4  # Calls in a row that have no answer at their deadlines: no slow message explains it.


class Waiter:
    """A client that polls a match, and waits for the next version or for a few of them."""

    def __init__(self, table):
        self.table = table
        self.world = table.world
        self.rng = random.Random(table.rng.getrandbits(64))
        self.client = table.client()

    async def wait(self):
        """Follows the match until it is over."""
        version, world = 0, self.world
        lost_since = world.now
        cut_off = 0
        while True:
            wanted = version + self.rng.choice((1, 1, 2, 3))
            seconds = self.rng.choice((10.0, 60.0, 90.0))
            called = world.now
            try:
                response = await self._ask(wanted, seconds)
            except CallError as error:
                if not error.unanswered and error.reason != "BUDGET_EXHAUSTED":
                    world.fail(f"{self.table}: a call that waits ends with {error}")
                late = error.code == "DEADLINE_EXCEEDED" and world.troubles.is_well(60.0 + seconds)
                cut_off = cut_off + 1 if late else 0
                if cut_off == CUT_OFF:
                    world.fail(f"{self.table}: calls that wait are cut off at their deadlines")
                if world.now - lost_since > 1200:
                    world.fail(f"{self.table}: no call that waits is answered for 20 minutes")
                await asyncio.sleep(max(error.retry_seconds, self.rng.uniform(0.1, 1.0)))
                continue
            lost_since, cut_off = world.now, 0
            self._judge(response, wanted, called, min(seconds, MAX_WAIT_SECONDS))
            if response.view.HasField("result"):
                return
            version = response.view.version

    async def _ask(self, wanted, seconds):
        request = match_pb2.GetViewRequest(name=self.table.name, wait_for_version=wanted)
        request.read_mask.paths.extend(WANTED)
        return await self.client.once("GetView", request, self.table.spectator_token, seconds)

    def _judge(self, response, wanted, called, seconds):
        table, now = self.table, self.world.now
        version, over = response.view.version, response.view.HasField("result")
        if response.timed_out != (version < wanted and not over):
            self.world.fail(
                f"{table}: a wait for {wanted} ended with {version}, and says otherwise"
            )
        waited = now - called
        early = response.timed_out and waited < seconds - EARLY_SECONDS
        if early and self.world.troubles.is_well(waited):
            self.world.fail(
                f"{table}: a wait for {wanted} ended with {version} after {waited:.1f} s of "
                f"{seconds:.0f}"
            )
        late = waited > LATE_SECONDS and table.known_at(now - LATE_SECONDS) >= wanted
        if late and self.world.troubles.is_well(60.0 + waited):
            self.world.fail(
                f"{table}: a wait for {wanted} goes on, which was known {LATE_SECONDS:.0f} s ago"
            )
        table.note(version)
