"""Those who live in a world: at each table a match, its players and watchers, and its history.

All are careful clients: they repeat what was not answered under the same request id, and resume
streams where they ended. The history of a match has all that they were answered.
"""

import asyncio
import copy
import random
from collections import defaultdict
from contextlib import suppress

from croupier.v1 import clock_pb2, feed_pb2, game_pb2, match_pb2
from engine.game import SPECTATOR
from tests.simulation import (
    afterwards,
    answers,
    erasing,
    oracles,
    rematches,
    reviewing,
    survivors,
)
from tests.simulation.ahead import Noted
from tests.simulation.callers import Greedy, leave_reviews
from tests.simulation.clients import Client, new_id
from tests.simulation.delays import Spectator
from tests.simulation.followers import GLANCE_SECONDS, Follower, judge_heard, judge_updates
from tests.simulation.fronts import FrontEnd
from tests.simulation.latecomers import Latecomer
from tests.simulation.network import CallError
from tests.simulation.operators import Operator
from tests.simulation.players import Player
from tests.simulation.strangers import Stranger
from tests.simulation.visitors import Visitor
from tests.simulation.waiters import Waiter
from tests.simulation.watchers import Watcher
from tests.support.history import History
from tests.support.serving import INVITED, OPEN, bot, ruleset_of

RESIGNED = game_pb2.END_REASON_RESIGNATION
AT_THE_END = ("GetRecord", "Rematch", "DeclineRematch")  # What is not refused any more then.
NAMES = ("", "Ann", "Bob, who is late")
WEIGHTS = (5, 4, 2, 1)  # Their matches have about 20, 60, 76 and 170 actions.
KINDS = ("open", "open", "bot", "bot", "bots", "invited", "entropy", "absent")
# How clients call: one in three from a browser, one in twelve with JSON, which costs most.
WEB = (*("proto",) * 3, "json", *("",) * 8)


class Inhabitants:
    """All of a world."""

    def __init__(self, world):
        self.world = world
        self.rng = random.Random(f"inhabitants/{world.seed}")
        self.clients = 0
        self.keyed = set()  # The names of the matches that were made with the key,
        self.keyless = set()  # and of those that were made without one.
        self.wrongs = []  # What players ask wrongly next, so that each comes as often as any other.
        self.to_come = []  # The answers with which the matches of a release to come were made.
        self.followers = []
        self.heard = []  # What their streams have told.
        self.updates = defaultdict(dict)  # That feeds have told, by name and version.
        self.running = world.running
        world.latecomer = Latecomer(self)

    async def come_from_the_future(self, number):
        """Leaves some matches of a release to come in the log; returns their ids."""
        machine = self.world.machines[0]
        client = Client(self, self.rng, home=machine)
        machine.owner.to_come = True
        for _ in range(number):
            request = match_pb2.CreateMatchRequest(ruleset=ruleset_of("champion_chess"))
            self.to_come.append(await client.call("CreateMatch", request))
        client.close()
        machine.kill()
        await machine.start()
        return {each.name.removeprefix("matches/") for each in self.to_come}

    async def live(self, end):
        """Plays so many matches at a time until the end, and lets them come to an end."""
        world = self.world
        self.end = end
        places = [
            world.loop.create_task(self._play_on(random.Random(self.rng.getrandbits(64))))
            for _ in range(world.matches)
        ]
        self.followers = [Follower(self), Follower(self, world.operator_token)]
        self._following = [world.loop.create_task(each.follow()) for each in self.followers]
        visitor = Visitor(self)
        others = (
            visitor.live(),
            visitor.watch_health(),
            self._visit(),
            self._visit(world.operator_token),
            Greedy(self).live(),
            Operator(self).look_on(),
            Stranger(self).live(),
            Spectator(self).live(),
            FrontEnd(self).live(),
            self.world.latecomer.live(),
            *(self._glance() for _ in range(world.glancing)),
        )
        self._others = [world.loop.create_task(each) for each in others]
        try:
            await asyncio.gather(*places)
        finally:
            for each in (*places, *self._others):
                each.cancel()

    async def _play_on(self, rng):
        world = self.world
        await asyncio.sleep(rng.random() * 30)
        while world.now < self.end - 120:
            table = Table(self, rng)
            self.running.append(table)
            try:
                await table.play()
            finally:
                self.running.remove(table)
            world.counts["matches"] += 1

    async def _visit(self, token=""):
        # Followers who begin at any time, with what runs then.
        while True:
            await asyncio.sleep(self.rng.uniform(0, 10))
            visitor = Follower(self, token)
            visitor.filter = self.rng.choice((0, *feed_pb2.UpdateFilter.values()))
            await self._follow_for(self.rng.uniform(5, 60), visitor)

    async def _glance(self):
        # What changes while it is listed what runs is told too.
        while True:
            await self._follow_for(
                self.rng.uniform(*GLANCE_SECONDS),
                Follower(self, self.world.operator_token, glances=True),
            )

    @staticmethod
    async def _follow_for(seconds, follower):
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await follower.follow()
        follower.client.close()

    async def judge(self):
        """Looks at the log as a whole, when everything has come to rest."""
        for each in self._others:
            if not each.cancelled():
                each.result()
        await oracles.judge_log(self.world)
        stored, rights = self.world.all_stored(), {}
        for each in stored:
            name = f"matches/{each.header.match_id}"
            told = {} if name in self.world.lost else self.updates[name]
            rights[name] = judge_updates(self.world, told, each)
        if not self.world.forgets:
            judge_heard(self.world, self.heard, stored, rights)
        for follower, following in zip(self.followers, self._following, strict=True):
            if following.done():
                following.result()
            await follower.judge(stored)
            following.cancel()


def _control(rng, deserted, fast):
    control = clock_pb2.TimeControl()
    if rng.random() < fast:
        # Some play so fast that few servers look into the log meanwhile.
        control.per_decision.FromMilliseconds(400)
        return control
    kind = rng.choice(("decision", "match", "both"))
    if deserted:
        # The match goes on without those who have left.
        control.per_decision.FromMilliseconds(rng.choice((1_000, 3_000, 8_000)))
        control.on_expiry = clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION
        control.max_default_actions = rng.choice((0, 1, 2, 3, 5, 8))
        return control
    if kind in ("decision", "both"):
        control.per_decision.FromMilliseconds(rng.choice((3_000, 8_000, 20_000, 60_000)))
    if kind in ("match", "both"):
        control.per_match.FromMilliseconds(rng.choice((60_000, 300_000)))
        control.increment.FromMilliseconds(rng.choice((0, 2_000, 5_000)))
    if rng.random() < 0.5:
        control.on_expiry = clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION
        control.max_default_actions = rng.choice((0, 2, 5))
    return control


class Table:
    """A match, those who play and watch it, and their history."""

    def __init__(self, inhabitants, rng, succeeded=None):
        self.inhabitants = inhabitants
        self.world = inhabitants.world
        self.rng = rng
        self.history = History.new()
        self.replaced_at = [0.0, 0.0]  # By seat: when a new token was answered.
        self.replacements = [[], []]  # By seat: the requests, with the tokens before.
        self.stays = ([], [])  # By seat: its streams.
        self.skipping = []  # Streams without the actions of their seat.
        self.heartbeats = []  # Of streams: whose actions these leave out, what was sent, and said.
        self.ahead = Noted()  # What its seats have decided ahead.
        # Of streams: versions, their etags, the viewers, and whether it is said to be their action.
        self.etags = set()
        self.known = []  # When each version became known, by an answer of any server.
        self.kind = rng.choice(self.world.kinds)
        self.deserted = False  # Whether both may be absent, as the match goes on all the same.
        self.beat = rng.choice((0, 0, 2.0))  # Seconds: some decide in time with all others.
        self.name = ""
        self.asked_early = False  # Whether a rematch was asked for at the moment of the end.
        self.request = None  # With which it was created.
        self.spectator_token = ""
        self.secret_hash = b""
        self.tokens = {}
        self.clients = []
        self.seated = []  # Tasks.
        self.newer = False  # Whether its rules are those of the newer release.
        self.lost = False  # Whether the log has lost actions that were answered.

    def lose(self):
        """The log has lost actions: those at the table leave it to others."""
        self.lost = True
        for task in self.seated:
            task.cancel()

    def note(self, version):
        """A server has shown a version."""
        if not self.known or version > self.known[-1][1]:
            self.known.append((self.world.now, version))

    def known_since(self, version):
        """When a version became known, or a later one; None if none has."""
        return next((at for at, known in self.known if known >= version), None)

    def known_at(self, time):
        """The newest version that was known at a time."""
        return next((version for at, version in reversed(self.known) if at <= time), 0)

    def client(self, **options):
        """A new client at this table; a third of them are browsers."""
        options.setdefault("web", self.rng.choice(WEB))
        rng = random.Random(self.rng.getrandbits(64))
        client = Client(self.inhabitants, rng, **options)
        client.newer = self.newer
        self.clients.append(client)
        return client

    def __str__(self):
        return f"{self.name} ({self.kind})"

    async def play(self):
        """Creates the match, plays it to its end, and judges it."""
        world, rng = self.world, self.rng
        creator = self.client(key="front" if rng.random() < 0.5 else "")
        request = self._request()
        callers = [creator]
        if rng.random() < 0.2:
            # Both at once, through two connections.
            callers.append(self.client(key=creator.key))
        try:
            made = await asyncio.gather(*(each.call("CreateMatch", request) for each in callers))
        except CallError as error:
            world.fail(f"a match cannot be created: {error}")
        created = made[0]
        if any(each != created for each in made):
            world.fail(f"one request has created {made[0]} and {made[1]}")
        self.request = request
        kept = self.inhabitants.keyed if creator.key else self.inhabitants.keyless
        kept.add(created.name)
        await self._take_seats(created)
        world.tell(f"{self} begins: {request.ruleset.WhichOneof('game')}")
        await self._sit()

    def _request(self):
        rng = self.rng
        game = rng.choices(*zip(*self.world.games, strict=True))[0]
        request = match_pb2.CreateMatchRequest(ruleset=ruleset_of(game), request_id=new_id(rng))
        # Of those who are absent, some have left a bot.
        if self.kind in ("bot", "bots") or (self.kind == "absent" and rng.random() < 0.3):
            strengths = [rng.choice(("RANDOM", "BEGINNER", "EXPERT")) for _ in range(2)]
            request.seats.extend(bot(strength) for strength in strengths)
            if self.kind != "bots":
                request.seats[rng.randrange(2)].CopyFrom(OPEN)
        elif self.kind == "invited":
            request.seats.extend(rng.choice(((INVITED, OPEN), (OPEN, INVITED), (INVITED, INVITED))))
        request.entropy_from_seats = self.kind == "entropy"
        if self.kind == "absent" or (self.kind != "bots" and rng.random() < self.world.clocked):
            self.deserted = self.kind == "absent" and rng.random() < self.world.leaving
            request.time_control.CopyFrom(_control(rng, self.deserted, self.world.fast))
        request.hint_policy = rng.choice((0, 0, *game_pb2.HintPolicy.values()[1:]))
        for seat in request.seats:
            if seat.HasField("open"):
                seat.display_name = rng.choice(NAMES)
        chance = random.Random(request.request_id)
        kinds = game_pb2.OfferKind.values()[1:]
        if not request.entropy_from_seats and chance.random() < 0.15:
            request.seed = chance.getrandbits(63)
        request.forbidden_offers.extend(kind for kind in kinds if chance.random() < 0.1)
        return request

    async def _take_seats(self, created):
        self.name, self.secret_hash = created.name, created.secret_hash
        if self.rng.random() < 0.1:
            await self._create_another(created)
        self.spectator_token = created.spectator_token
        self.tokens = {each.seat: each.token for each in created.seat_tokens}
        if self.world.upgrading and self.world.has_newer_rules(self.name):
            self.newer = True
            for client in self.clients:
                client.need_newer()
        for invitation in created.invitations:
            # Some come so late that it is over.
            late = random.Random(invitation.invitation).random() < 0.2
            pause = 2 * self.world.end_idle if late else self.rng.expovariate(1 / 5)
            await asyncio.sleep(pause)
            request = match_pb2.JoinMatchRequest(
                invitation=invitation.invitation,
                request_id=new_id(self.rng),
                display_name=self.rng.choice(NAMES),
            )
            client = self.client(key=self.rng.choice(("", "front")))
            await self._look_at(invitation, client)
            try:
                joined = await client.call("JoinMatch", request)
            except CallError as error:
                if error.reason != "MATCH_OVER":
                    raise
                await self._look_at(invitation, client)
                continue  # It was idle for too long.
            self.tokens[invitation.seat] = joined.seat_token.token
            if joined.name != self.name:
                self.world.fail(f"{self}: seat {invitation.seat} is answered {joined}")
            await self._look_at(invitation, client)
            if self.rng.random() < 0.3:
                again = await client.call("JoinMatch", request)  # Also when it is over.
                if again.seat_token != joined.seat_token:
                    self.world.fail(f"{self}: a repeated JoinMatch has another token")
            if self.rng.random() < 0.3:
                request.request_id = new_id(self.rng)
                used, what = ("INVITATION_USED",), "an invitation that was used"
                await self.refused(self.client(), "JoinMatch", request, "", used, what)

    async def _sit(self):
        world, rng = self.world, self.rng
        absent = ()
        if self.kind == "absent":
            absent = rng.choice(((0,), (1,), (0, 1) if self.deserted else (0,)))
        seated = []
        for seat in sorted(self.tokens):
            if seat not in absent:
                for _ in range(rng.choice((1, 1, 1, 2))):  # Two clients race for one seat.
                    seated.append(Player(self, seat).play())
            if rng.random() < 0.7 or seat in absent:
                seated.append(Watcher(self, seat).watch())
        for _ in range(rng.choice((0, 1, 1, 2))):
            seated.append(Watcher(self, SPECTATOR).watch())
        if rng.random() < 0.4 or not (self.tokens or seated):
            seated.append(Waiter(self).wait())
        tasks = self.seated = [world.loop.create_task(each) for each in seated]
        if world.forgets:
            self.witness = survivors.Witness(self)
            witnessing = world.loop.create_task(self.witness.watch())
        try:
            try:
                await asyncio.gather(*tasks)
            except asyncio.CancelledError:
                if not self.lost:
                    raise
                await survivors.play_on(self)
            await self._wait_for_end()
            await self._after_the_end()
        finally:
            for task in tasks:
                task.cancel()
            if world.forgets:
                witnessing.cancel()
        for client in self.clients:
            client.close()
        await oracles.judge_match(self)
        await erasing.erase(self)

    async def look(self, client):
        """The view of a spectator."""
        request = match_pb2.GetViewRequest(name=self.name)
        return (await client.call("GetView", request, self.spectator_token)).view

    async def _wait_for_end(self):
        # Those who have left do not see it.
        client = self.client()
        for _ in range(240):
            if (await self.look(client)).HasField("result"):
                return
            await asyncio.sleep(15)
        self.world.fail(f"{self} does not end within an hour")

    async def _after_the_end(self):
        rng, client = self.rng, self.client()
        request = match_pb2.GetRecordRequest(name=self.name)
        response = await client.call("GetRecord", request, self.spectator_token)
        self.record = response.record
        await self._judge_end(client)
        if (
            len(self.tokens) == 2
            and not self.asked_early
            and rng.random() < (0.9 if self.kind == "invited" else 0.2)
        ):
            await rematches.ask(self)
        elif rng.random() < 0.2 and not self.asked_early:
            await rematches.wait_in_vain(self)
        if rng.random() < 0.15:
            await reviewing.review(self)
        if rng.random() < 0.4:
            await afterwards.replay(self)
        if rng.random() < (0.6 if self.request.HasField("seed") else 0.2):
            await afterwards.play_on(self)
        if rng.random() < 0.1:
            await leave_reviews(self)

    async def refused(
        self, client, method, request, token, reasons, what, response=None, runs=False
    ):
        """Asks for what must be refused for one of some reasons, if need be while the match runs.

        What a match that is over or paused refuses first, or a token that was replaced meanwhile,
        counts too.
        """
        try:
            answer = await client.call(method, request, token, response=response)
        except CallError as error:
            if error.reason not in (*reasons, "MATCH_OVER", "MATCH_PAUSED", "TOKEN_REPLACED"):
                self.world.fail(f"{self}: {what} is refused for another reason: {error}")
            self.world.counts["wrong requests"] += 1
            return
        if runs and method in AT_THE_END and (await self.look(client)).HasField("result"):
            self.asked_early |= method == "Rematch"
            return  # It is over meanwhile.
        self.world.fail(f"{self}: {what} is not refused, but answered: {answer}")

    async def _create_another(self, created):
        # Another match cannot have the request_id of this one.
        request = copy.deepcopy(self.request)
        request.hint_policy = 3 - answers.hint_policy_of(self.request)
        reasons = ("REQUEST_ID_REUSED",)
        client = self.client()
        await self.refused(client, "CreateMatch", request, "", reasons, "another match")
        # Both at once: this one is there, the other one is new, and then there too.
        batch = match_pb2.BatchCreateMatchesRequest(requests=[self.request] * 2)
        batch.requests[1].request_id = new_id(self.rng)
        response = match_pb2.BatchCreateMatchesResponse
        told = (await client.call("BatchCreateMatches", batch, response=response)).matches
        again = await client.call("CreateMatch", batch.requests[1])
        if list(told) != [created, again] or again.name == created.name:
            self.world.fail(f"{self}: a batch with it is answered {told}, not {again}")
        self.inhabitants.keyless.add(again.name)

    async def _look_at(self, invitation, client):
        # What an invitation is for. `Answers` judges it.
        request = match_pb2.GetInvitationRequest(invitation=invitation.invitation)
        response = match_pb2.GetInvitationResponse
        await client.call("GetInvitation", request, response=response)

    async def _judge_end(self, client):
        # What is told of a match that is over, and what cannot be done any more.
        for token in (self.spectator_token, self.world.operator_token):
            request = match_pb2.GetMatchRequest(name=self.name)
            await client.call("GetMatch", request, token)  # `Answers` judges it.
        for seat, token in self.tokens.items():
            if self.rng.random() < 0.1 and self.record.result.reason != RESIGNED:
                resign = match_pb2.ResignMatchRequest(name=self.name)
                what = f"a resignation of seat {seat} after the end"
                await self.refused(client, "ResignMatch", resign, token, (), what)
