"""A spectator of matches that tell spectators everything later: never too early, nor too late."""

import asyncio
import random
from bisect import bisect_right

from croupier.v1 import match_pb2
from engine.game import SPECTATOR
from tests.simulation import shown
from tests.simulation.clients import Client, hear, new_id
from tests.simulation.course import Course, courses, etag_at
from tests.simulation.network import CallError
from tests.support.serving import bot, ruleset_of

DELAYS = (2, 10, 30)  # Seconds.
CLOCK_SECONDS = 1.1  # By which the clocks of two servers may differ.
LATE_SECONDS = 2.0
LOOKS = 40


class Spectator:
    """Who watches one match of bots after the other."""

    def __init__(self, inhabitants):
        self.inhabitants, self.world = inhabitants, inhabitants.world
        self.rng = random.Random(f"spectator/{self.world.seed}")
        self.client = Client(inhabitants, self.rng)

    def __str__(self):
        return f"{self.created.name}, of which spectators hear {self.delay} s late"

    async def live(self):
        """Watches until this is cancelled."""
        while not self.world.forgets:
            self.delay = self.rng.choice(DELAYS)
            game = self.rng.choice([each for each, _ in self.world.games])
            self.request = match_pb2.CreateMatchRequest(
                ruleset=ruleset_of(game), seats=[bot("BEGINNER")] * 2, request_id=new_id(self.rng)
            )
            self.request.spectator_delay.FromSeconds(self.delay)
            self.created = await self.client.call("CreateMatch", self.request)
            self.inhabitants.keyless.add(self.created.name)
            if self.world.upgrading and self.world.has_newer_rules(self.created.name):
                self.client.need_newer()
            # What was told: between which times, and what.
            self.told, self.over = [], False
            for _ in range(LOOKS):
                if not self.over:
                    await self.rng.choice((self._look, self._watch))()
            self._judge()
            self.world.counts["delayed matches"] += 1

    async def _look(self):
        # What is told of the view, of the state, and of the record.
        method = self.rng.choice(("GetView", "GetView", "GetMatch", "GetRecord"))
        request = getattr(match_pb2, f"{method}Request")(name=self.created.name)
        called = self.world.now
        try:
            response = await self.client.call(method, request, self.created.spectator_token)
        except CallError as error:
            if method != "GetRecord" or error.reason != "MATCH_NOT_OVER":
                self.world.fail(f"{self}: {method} fails: {error}")
            response = None
        self.told.append((called, self.world.now, response))
        self.over = method == "GetRecord" and response is not None
        await asyncio.sleep(self.rng.uniform(0.0, 3.0))

    async def _watch(self):
        request = match_pb2.WatchMatchRequest(name=self.created.name)
        heartbeat = self.rng.choice((2, 10))
        request.heartbeat_interval.FromSeconds(heartbeat)
        token = self.created.spectator_token
        call = self.client.begin("WatchMatch", request, token, None, streams=True)
        until, sent = self.world.now + self.rng.uniform(1.0, 40.0), None
        try:
            while self.world.now < until:
                data = await hear(call, heartbeat, self)
                if data is None:
                    return
                message = match_pb2.WatchMatchResponse.FromString(data)
                if not message.up_to_date:
                    if message.version != (0 if sent is None else sent + 1):
                        self.world.fail(f"{self}: a stream tells {message.version} after {sent}")
                    sent = message.version
                    since = call.asked if self.world.troubles.is_well(60.0) else call.sent
                    self.told.append((since, call.sent, message))
        except CallError as error:
            said = error.metadata.get("after_version")
            if said not in (None, str(sent)) or not error.unanswered:
                self.world.fail(f"{self}: a stream that has told up to {sent} ends with {error}")
        except TimeoutError:
            pass
        finally:
            call.cancel()

    def _judge(self):
        stored = self.world.stored(self.created.name.removeprefix("matches/"))
        times = [stored.header.created, *(each.at for each in stored.entries)]
        times = [each / 1000 - self.world.epoch + self.delay for each in times]
        views, rights = [], []
        for course, *_ in courses(stored):
            views.append(self._view(course, etag_at(stored, course.version)))
            rights.append(shown.match(course))
        course = Course(stored.header)
        course.match = None
        untold = self._view(course, etag_at(stored, 0))
        for called, returned, told in self.told:
            early = bisect_right(times, returned + CLOCK_SECONDS) - 1
            late = bisect_right(times, called - CLOCK_SECONDS) - 1
            if isinstance(told, match_pb2.WatchMatchResponse):
                # Each comes when there is room for it.
                due = max(called, times[told.version]) + LATE_SECONDS
                late = len(times) if returned > due else -1
            self._judge_one(told, late, early, views, rights, untold)

    def _judge_one(self, told, late, early, views, rights, untold):
        # It is one of the versions from `late` to `early`, of which -1 is that of no deal.
        view, wrong = getattr(told, "view", None), ""
        if told is None:
            version, least = len(views) - 1 - rights[-1].HasField("result"), -1
        elif isinstance(told, match_pb2.GetRecordResponse):
            version, least = len(views) - 1, len(views) - rights[-1].HasField("result")
        elif isinstance(told, match_pb2.GetMatchResponse):
            version = told.hosted_match.version
            least = version or -1  # It was created, whatever the deal.
            wrong = shown.wrong(told.hosted_match, rights[version])
        elif isinstance(told, match_pb2.WatchMatchResponse):
            version = least = told.version
            wrong = shown.wrong(view, views[version]) if told.HasField("view") else ""
        else:
            version = least = view.version
            wrong = shown.wrong(view, views[version])
            if not version and view == untold:
                version, least, wrong = -1, -1, ""
        if wrong or least > early or (version < late and version < len(views) - 1):
            self.world.fail(
                f"{self}: of the versions from {late} to {early} is told: {wrong} {told}"
            )

    def _view(self, course, etag):
        view = shown.view(course, SPECTATOR, etag)
        view.ruleset.CopyFrom(self.request.ruleset)
        return view
