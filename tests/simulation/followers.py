"""Followers of the feed: the operator, and a front end, with whose key some matches were made."""

import asyncio
import math
import random
from bisect import bisect_right
from typing import NamedTuple

from croupier.v1 import feed_pb2
from tests.simulation import shown
from tests.simulation.clients import Client, hear
from tests.simulation.course import courses
from tests.simulation.network import CallError

METHOD = "/croupier.v1.FeedService/WatchMatches"
LATE_SECONDS = 60.0  # After which a follower must have been told, when all is well,
BEHIND_SECONDS = 10.0  # and after which, when all has been well for some time;
GLANCE_BEHIND_SECONDS = 3.0  # who is there for a moment only, and no notification is lost.
GLANCE_SECONDS = (4.0, 7.0)
# In which each server has noticed that another server of the database has taken over.
EPOCH_SECONDS = 180.0
CLOCK_SECONDS = 1.0  # By so much the clock of a server may be ahead.
CREATED_SECONDS = 15.0  # In which the log has a match, after the time of its creation.


class Heard(NamedTuple):
    """What a stream has told, by name and version: what runs, or what comes between two cursors."""

    follower: "Follower"
    cursors: tuple[str, str]  # The first one is empty for what runs.
    asked: float
    sent: float
    told: dict[str, int]
    before: dict[str, int]  # What the stream has told of what runs.


class Follower:
    """A caller that follows the feed, and goes on where it was from whatever server."""

    def __init__(self, inhabitants, token="", *, glances=False):
        """With `glances`, it is there for a moment only."""
        self.world = inhabitants.world
        self.inhabitants = inhabitants
        self.rng = random.Random(f"follower/{token}/{self.world.seed}/{inhabitants.clients}")
        self.client = Client(inhabitants, self.rng, key="" if token else "front")
        self.token = token
        self.slow = self.rng.random() < 0.3 and not glances
        self.heartbeat = 1 if glances else 10  # Seconds.
        self.behind = GLANCE_BEHIND_SECONDS if glances else BEHIND_SECONDS
        self.cursor, self.cursor_at = "", 0.0
        self.told = {}  # The newest update of each match, by name.
        self.filter = feed_pb2.UPDATE_FILTER_UNSPECIFIED
        self.keyed = inhabitants.keyed  # The names of the matches that were made with the key.
        self.began_anew = 0.0  # When it last had to begin without a cursor.

    def __str__(self):
        return "the operator's feed" if self.token else "the feed of the key"

    async def follow(self):
        """Follows it until this is cancelled."""
        while True:
            request = feed_pb2.WatchMatchesRequest(cursor=self.cursor, filter=self.filter)
            request.heartbeat_interval.FromSeconds(self.heartbeat)
            try:
                await self._follow(request)
            except CallError as error:
                self._note_end(error)
            self.world.counts["feeds resumed"] += 1
            await asyncio.sleep(self.rng.uniform(0.1, 2.0))

    def _note_end(self, error):
        if error.reason == "CURSOR_EXPIRED" and self.world.store == "postgresql":
            # After a fail-over. What has ended meanwhile is told by nothing but its own view.
            self.cursor = ""
            if self.world.forgets:
                self.told.clear()
            if self.world.database.moved_at > self.cursor_at - EPOCH_SECONDS:
                return
        if not error.unanswered and error.reason != "BUDGET_EXHAUSTED":
            self.world.fail(f"{self} ends with {error}")

    async def _follow(self, request):
        call = self.client.begin(METHOD, request, self.token, None, streams=True)
        most = self.rng.randint(1, 2000)
        in_stream, listing = {}, not request.cursor
        if listing and self.world.forgets:
            self.told.clear()  # No cursor says that what it was told is lost.
        heard = Heard(self, (request.cursor, ""), self.world.now, 0.0, {}, {})
        try:
            for _ in range(most):
                try:
                    data = await hear(call, math.inf if self.slow else self.heartbeat, self)
                except TimeoutError:
                    return  # It is silent, so it is lost.
                if data is None:
                    self.world.fail(f"{self} ends without an error")
                response = feed_pb2.WatchMatchesResponse.FromString(data)
                if listing:
                    self.began_anew = self.world.now
                listed = listing and len(response.updates) == self.world.page
                if not self.filter and bool(response.cursor) == listed:
                    self.world.fail(f"{self}: a response has a wrong cursor")
                for update in response.updates:
                    self._check(update, in_stream)
                    heard.told[update.name] = update.version
                if response.cursor:
                    cursors = heard.cursors[0], response.cursor
                    heard = heard._replace(cursors=cursors, sent=call.sent)
                    self.inhabitants.heard.append(heard)
                    before = heard.told if listing else heard.before
                    heard = Heard(self, cursors[1:], 0.0, 0.0, {}, before)
                # Until its first cursor comes, a stream tells what runs, and then what changes.
                if listing and response.cursor:
                    listing, in_stream = False, {}
                if response.cursor:
                    self.cursor, self.cursor_at = response.cursor, call.arrived
                if not (listing or self.slow or self.filter):
                    self._check_behind(call.sent)
                if self.slow:
                    await asyncio.sleep(self.rng.expovariate(1 / 5))
        finally:
            call.cancel()

    def _check_behind(self, sent):
        # A response tells of all that was answered some time before it was sent.
        if not self.world.troubles.is_well(60.0):
            return
        for table in self.inhabitants.running:
            # Of one that has lost actions, more was known than there is.
            if table.lost or not (self.token or table.name in self.keyed):
                continue
            known = table.known_at(sent - self.behind)
            told = self.told[table.name].version if table.name in self.told else 0
            if told >= known:
                continue
            # What was over when it began is not told.
            ended = self.world.ended_at(table.name.removeprefix("matches/"))
            if ended is None or ended > self.began_anew + CLOCK_SECONDS:
                self.world.fail(
                    f"{self} has told {told} of {table}, though {known} was known "
                    f"{self.behind:.0f} s ago"
                )

    def takes(self, update):
        """Whether its filter lets an update through."""
        due, over = bool(update.due_seats), update.HasField("result")
        fits = {feed_pb2.UPDATE_FILTER_DUE: due, feed_pb2.UPDATE_FILTER_OVER: over}
        return fits.get(self.filter, True)

    def _check(self, update, in_stream):
        name, version = update.name, update.version
        if not self.token and name in self.inhabitants.keyless:
            self.world.fail(f"{self} tells of {name}, which was made without a key")
        if version <= in_stream.get(name, -1):
            self.world.fail(f"{self} tells of {name} at {version} after {in_stream[name]}")
        in_stream[name] = version
        if name in self.told and version < self.told[name].version:
            self.world.fail(f"{self} goes back from {self.told[name].version} of {name}")
        if not self.takes(update):
            self.world.fail(f"{self} tells of {name} at {version} against its filter")
        self.told[name] = update
        known = self.inhabitants.updates[name].setdefault(version, update)
        if known != update and not self.world.forgets:
            self.world.fail(f"{self} tells of {name} at {version} otherwise than before")
        self.world.counts["updates"] += 1

    async def judge(self, all_stored):
        """Fails unless it is told of each match that the log has, as the log has it, in a while."""
        until = self.world.now + LATE_SECONDS
        while True:
            wrong = next(self._missing(all_stored), None)
            if wrong is None:
                return
            if self.world.now > until:
                self.world.fail(wrong)
            await asyncio.sleep(1)

    def _missing(self, all_stored):
        seen = set()
        for stored in all_stored:
            header, version = stored.header, len(stored.entries)
            name = f"matches/{header.match_id}"
            # A rematch may have been made by a call whose answer was lost.
            made_first = f"matches/{header.rematch_of}" if header.rematch_of else name
            if not (self.token or made_first in self.keyed):
                continue
            seen.add(name)
            ended = self.world.ended_at(header.match_id)
            if ended is not None and ended <= self.began_anew + CLOCK_SECONDS:
                continue
            told = self.told[name].version if name in self.told else -1
            # Bots play on.
            newest = len(self.world.stored(header.match_id).entries) if told > version else version
            if not version <= told <= newest:
                yield f"{self} has told {told} of {name}, and the log has {newest}"
        if not self.token and (more := self.told.keys() - seen):
            yield f"{self} has told of {sorted(more)[0]}, which is not its own"


def judge_heard(world, all_heard, all_stored, rights):
    """Fails if a stream has left out a match that ran, or what was new after its cursor.

    `rights` has the updates of each match, by its name.
    """
    new, begun = [], []
    for stored in all_stored:
        name = f"matches/{stored.header.match_id}"
        times = [stored.header.created, *(each.at for each in stored.entries), math.inf]
        times = [each / 1000 - world.epoch for each in times]
        ended = world.ended_at(stored.header.match_id) or math.inf
        begun.append((name, 0, times[0] + CREATED_SECONDS, ended))
        positions = world.positions(stored.header.match_id)
        # Whoever is behind is told of the newest version of a match alone.
        untils = zip(positions, times[1:], strict=True)
        new += [(at, name, version, until) for version, (at, until) in enumerate(untils)]
    new.sort()
    for follower, cursors, asked, sent, told, before in all_heard:
        (epoch, begin), (end_epoch, end) = (each.rpartition(".")[::2] for each in cursors)
        due = [each[:2] for each in begun if each[2] < asked and each[3] > sent + CLOCK_SECONDS]
        if begin:
            ends = (
                bisect_right(new, int(each), key=lambda change: change[0]) for each in (begin, end)
            )
            due = new[slice(*ends)] if epoch == end_epoch else []
            due = [each[1:3] for each in due if each[3] > sent + 2 * CLOCK_SECONDS]
        for name, version in due:
            its_own = follower.token or name in follower.keyed
            # What runs may have gone on before it was listed.
            taken = follower.takes(rights[name][version]) if begin else not follower.filter
            if its_own and taken and version > max(each.get(name, -1) for each in (told, before)):
                world.fail(
                    f"{follower} tells nothing of {name} at {version}, from '{cursors[0]}' to "
                    f"'{cursors[1]}'"
                )


def judge_updates(world, updates, stored):
    """The right updates of a match by its log; fails if a feed has told others; both by version."""
    rights = [shown.update(course, entry) for course, entry, _ in courses(stored)]
    for version, told in updates.items():
        if version < len(rights) and (wrong := shown.wrong(told, rights[version])):
            world.fail(f"a feed tells of {told.name} at {version} a wrong {wrong}")
    return rights
