"""Those who live in a world: players of every kind, watchers, and front ends, each with its habits.

All are careful clients: they repeat what was not answered under the same request id, and resume
streams where they ended. What each of them was answered goes into the history of its match.
"""

import asyncio
import hashlib
import random
import uuid

from croupier.v1 import clock_pb2, game_pb2, hint_pb2, match_pb2, review_pb2
from engine.game import SPECTATOR
from tests.simulation import oracles
from tests.simulation.network import CallError, ClientCall, Connection
from tests.support.history import Decision, History, Read, Received, Refused, Stream, Write
from tests.support.observations import view_bytes
from tests.support.serving import INVITED, OPEN, bot, ruleset_of

ATTEMPT_SECONDS = 10.0
WAIT_SECONDS = 60.0
BEHIND_SECONDS = 60.0  # For which a stream may not know what another server has written.
PATIENCE_SECONDS = 180.0  # With a server that does not answer.
GAMES = ("champion_chess", "castle_rampage", "skystones", "powershot_soccer")
WEIGHTS = (5, 4, 2, 1)  # Their matches have about 20, 60, 76 and 170 actions.
KINDS = ("open", "open", "bot", "bot", "bots", "invited", "entropy", "absent")
MATCH_SERVICE = "/croupier.v1.MatchService/"
RESPONSES = {
    "CreateMatch": match_pb2.CreateMatchResponse,
    "JoinMatch": match_pb2.JoinMatchResponse,
    "GetMatch": match_pb2.GetMatchResponse,
    "GetView": match_pb2.GetViewResponse,
    "SubmitAction": match_pb2.SubmitActionResponse,
    "WatchMatch": match_pb2.WatchMatchResponse,
    "ResignMatch": match_pb2.ResignMatchResponse,
    "GetRecord": match_pb2.GetRecordResponse,
    "ContributeEntropy": match_pb2.ContributeEntropyResponse,
    "ReplaceSeatToken": match_pb2.ReplaceSeatTokenResponse,
    "Rematch": match_pb2.RematchResponse,
    "DeclineRematch": match_pb2.DeclineRematchResponse,
}
# The reasons for which a careful player may be refused: others, or a clock, were first.
FIRST = ("STALE_VERSION", "MATCH_OVER")


class Inhabitants:
    """All of a world."""

    def __init__(self, world):
        self.world = world
        self.rng = random.Random(f"inhabitants/{world.seed}")
        self.clients = 0
        self.over = []  # Matches that were judged.
        self.running = []

    async def live(self, end):
        """Plays so many matches at a time until the end, and lets them come to an end."""
        world = self.world
        self.end = end
        places = [
            world.loop.create_task(self._play_on(random.Random(self.rng.getrandbits(64))))
            for _ in range(world.matches)
        ]
        try:
            await asyncio.gather(*places)
        finally:
            for place in places:
                place.cancel()

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

    async def judge(self):
        """Looks at the log as a whole, when everything has come to rest."""
        await oracles.judge_log(self.world)


class Client:
    """A program with connections of its own, which go to one of the servers each."""

    def __init__(self, inhabitants, rng, *, key=False):
        self.inhabitants = inhabitants
        inhabitants.clients += 1
        self.world = inhabitants.world
        self.rng = rng
        self.number = inhabitants.clients
        self.key = key
        self._connection = None

    def _connect(self):
        connection = self._connection
        if connection is None or connection.state != "open" or self.rng.random() < 0.01:
            if connection is not None:
                connection.close()
            world = self.world
            address = self.rng.choice(world.machines).address
            peer = f"ipv4:192.0.2.{self.number % 250}:{40000 + self.number % 20000}"
            self._connection = Connection(world.network, world.loop.world, address, peer)
        return self._connection

    def close(self):
        """Leaves."""
        if self._connection is not None:
            self._connection.close()

    def begin(self, method, request, token="", timeout=ATTEMPT_SECONDS, *, streams=False):
        """Begins a call."""
        path = method if "/" in method else MATCH_SERVICE + method
        metadata = []
        if token:
            metadata.append(("authorization", f"Bearer {token}"))
        if self.key:
            metadata.append(("x-api-key", self.world.key))
            metadata.append(("x-player-id", f"player-{self.number}"))
        data = request.SerializeToString()
        return ClientCall(self._connect(), path, data, tuple(metadata), timeout, streams)

    async def once(self, method, request, token="", timeout=ATTEMPT_SECONDS, response=None):
        """Calls once; raises CallError."""
        call = self.begin(method, request, token, timeout)
        try:
            data = await call.read()
            if data is not None:
                await call.read()  # The status.
        finally:
            call.cancel()
        if data is None:
            raise CallError("INTERNAL", "a call without a response")
        return (response or RESPONSES[method]).FromString(data)

    async def call(self, method, request, token="", timeout=ATTEMPT_SECONDS, response=None):
        """Calls until there is an answer; raises CallError for a refusal."""
        until = self.world.now + max(PATIENCE_SECONDS, 8 * timeout)  # Some calls wait.
        pause = 0.1
        while True:
            try:
                return await self.once(method, request, token, timeout, response)
            except CallError as error:
                again = error.unanswered or error.reason in ("BUDGET_EXHAUSTED", "STORE_FULL")
                if not again:
                    self._check_refusal(method, error)
                    raise
                self.world.counts["calls repeated"] += 1
                if self.world.now > until:
                    self.world.fail(f"{method} is not answered for minutes: {error}")
                await asyncio.sleep(max(error.retry_seconds, pause * self.rng.uniform(0.8, 1.2)))
                pause = min(2 * pause, 2.0)

    def _check_refusal(self, method, error):
        if error.code in ("INTERNAL", "UNKNOWN", "UNIMPLEMENTED"):
            self.world.fail(f"{method} fails: {error}")


def _control(rng):
    control = clock_pb2.TimeControl()
    kind = rng.choice(("decision", "match", "both"))
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
        self.answers = {}  # By request id: all answers to it.
        self.replaced_at = [0.0, 0.0]  # By seat: when a new token was answered.
        self.replacements = [[], []]  # By seat: the requests, with the tokens before.
        self.decided = set()  # By streams: versions and the seats that are said to have decided.
        self.known = []  # When each version became known, by an answer of any server.
        self.kind = rng.choice(KINDS)
        self.name = ""
        self.spectator_token = ""
        self.secret_hash = b""
        self.tokens = {}
        self.clients = []

    def note(self, version):
        """A server has shown a version."""
        if not self.known or version > self.known[-1][1]:
            self.known.append((self.world.now, version))

    def known_at(self, time):
        """The newest version that was known at a time."""
        return next((version for at, version in reversed(self.known) if at <= time), 0)

    def client(self, **options):
        """A new client at this table."""
        client = Client(self.inhabitants, random.Random(self.rng.getrandbits(64)), **options)
        self.clients.append(client)
        return client

    def __str__(self):
        return f"{self.name} ({self.kind})"

    async def play(self):
        """Creates the match, plays it to its end, and judges it."""
        world, rng = self.world, self.rng
        creator = self.client(key=rng.random() < 0.5)
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
        if len({each.name for each in made}) > 1:
            world.fail(f"one request has created {made[0].name} and {made[1].name}")
        await self._take_seats(created)
        world.tell(f"{self} begins: {request.ruleset.WhichOneof('game')}")
        await self._sit()

    def _request(self):
        rng = self.rng
        game = rng.choices(GAMES, WEIGHTS)[0]
        request = match_pb2.CreateMatchRequest(ruleset=ruleset_of(game), request_id=_uuid(rng))
        if self.kind in ("bot", "bots"):
            strengths = [rng.choice(("RANDOM", "BEGINNER", "EXPERT")) for _ in range(2)]
            request.seats.extend(bot(strength) for strength in strengths)
            if self.kind == "bot":
                request.seats[rng.randrange(2)].CopyFrom(OPEN)
        elif self.kind == "invited":
            request.seats.extend(rng.choice(((INVITED, OPEN), (OPEN, INVITED), (INVITED, INVITED))))
        request.entropy_from_seats = self.kind == "entropy"
        if self.kind == "absent" or (self.kind != "bots" and rng.random() < 0.6):
            request.time_control.CopyFrom(_control(rng))
        request.hint_policy = rng.choice((0, game_pb2.HINT_POLICY_ALLOWED))
        return request

    async def _take_seats(self, created):
        self.name, self.secret_hash = created.name, created.secret_hash
        self.spectator_token = created.spectator_token
        self.tokens = {each.seat: each.token for each in created.seat_tokens}
        for invitation in created.invitations:
            await asyncio.sleep(self.rng.expovariate(1 / 5))
            request = match_pb2.JoinMatchRequest(
                invitation=invitation.invitation,
                request_id=_uuid(self.rng),
            )
            client = self.client()
            joined = await client.call("JoinMatch", request)
            self.tokens[joined.seat_token.seat] = joined.seat_token.token
            if self.rng.random() < 0.3:
                again = await client.call("JoinMatch", request)
                if again.seat_token != joined.seat_token:
                    self.world.fail(f"{self}: a repeated JoinMatch has another token")
            if self.rng.random() < 0.3:
                request.request_id = _uuid(self.rng)
                try:
                    await self.client().call("JoinMatch", request)
                except CallError as error:
                    if error.reason not in ("INVITATION_USED", "MATCH_OVER"):
                        raise
                else:
                    self.world.fail(f"{self}: an invitation was used twice")

    async def _sit(self):
        world, rng = self.world, self.rng
        absent = rng.choice(sorted(self.tokens)) if self.kind == "absent" else None
        seated = []
        for seat in sorted(self.tokens):
            if seat != absent:
                for _ in range(rng.choice((1, 1, 1, 2))):  # Two clients race for one seat.
                    seated.append(Player(self, seat).play())
            if rng.random() < 0.7 or seat == absent:
                seated.append(Watcher(self, seat).watch())
        for _ in range(rng.choice((0, 1, 1, 2))):
            seated.append(Watcher(self, SPECTATOR).watch())
        if not self.tokens and not seated:
            seated.append(Watcher(self, SPECTATOR).watch())
        tasks = [world.loop.create_task(each) for each in seated]
        try:
            await asyncio.gather(*tasks)
            await self._wait_for_end()
            await self._after_the_end()
        finally:
            for task in tasks:
                task.cancel()
        for client in self.clients:
            client.close()
        await oracles.judge_match(self)

    async def _wait_for_end(self):
        # Those who have left do not see it.
        client = self.client()
        request = match_pb2.GetViewRequest(name=self.name)
        for _ in range(240):
            view = (await client.call("GetView", request, self.spectator_token)).view
            if view.HasField("result"):
                return
            await asyncio.sleep(15)
        self.world.fail(f"{self} does not end within an hour")

    async def _after_the_end(self):
        rng, client = self.rng, self.client()
        request = match_pb2.GetRecordRequest(name=self.name)
        response = await client.call("GetRecord", request, self.spectator_token)
        self.record = response.record
        if len(self.tokens) == 2 and rng.random() < 0.2:
            await self._rematch()
        if rng.random() < 0.05:
            await self._review(client)

    async def _review(self, client):
        request = review_pb2.ReviewMatchRequest(match_name=self.name, iterations=100)
        path = "/croupier.v1.ReviewService/ReviewMatch"
        call = client.begin(path, request, self.spectator_token, 60.0, streams=True)
        reports = self.rng.randrange(1, 5)
        try:
            for _ in range(reports):
                if await call.read() is None:
                    break
        except CallError as error:
            if not error.unanswered and error.reason not in (
                "TOO_MANY_SEARCHES",
                "STORE_UNAVAILABLE",
                "BUDGET_EXHAUSTED",
            ):
                self.world.fail(f"{self}: a review fails: {error}")
        finally:
            call.cancel()

    async def _rematch(self):
        seats, names = {}, set()
        for seat, token in sorted(self.tokens.items()):
            request = match_pb2.RematchRequest(name=self.name)
            try:
                response = await self.client().call("Rematch", request, token)
            except CallError as error:
                if error.reason in ("SEAT_NOT_JOINED", "MATCH_OVER", "TOKEN_REPLACED"):
                    return
                self.world.fail(f"{self}: a rematch fails: {error}")
            names.add(response.name)
            if response.seat_token.seat != 1 - seat:
                self.world.fail(f"{self}: seat {seat} gets seat {seat} in the rematch")
            seats[response.seat_token.seat] = seat
        if len(names) != 1 or len(seats) != 2:
            self.world.fail(f"{self}: the rematch has the names {names} and the seats {seats}")
        self.world.counts["rematches"] += 1
        # Nobody plays it: it ends as idle, or by a resignation.
        if self.rng.random() < 0.7:
            request = match_pb2.ResignMatchRequest(name=names.pop())
            await self.client().call("ResignMatch", request, response.seat_token.token)


class Player:
    """A client that plays a seat."""

    def __init__(self, table, seat):
        self.table, self.seat = table, seat
        self.world = table.world
        self.rng = random.Random(table.rng.getrandbits(64))
        self.client = table.client(key=self.rng.random() < 0.3)
        self.leaves = self.rng.random() < 0.05  # For good, at some time.
        self.patient = self.rng.random() < 0.7
        self.last = None  # The last request that was carried out.

    @property
    def token(self):
        """The newest token of the seat."""
        return self.table.tokens[self.seat]

    async def play(self):
        """Plays until the match is over."""
        view = await self._look()
        while not view.HasField("result"):
            if self.leaves and self.rng.random() < 0.02 and view.HasField("clocks"):
                self.world.counts["players who left"] += 1
                return
            owed = view.entropy_owed
            if self.seat in view.deciders and view.legal_actions:
                await self._think()
                view = await self._decide(view) or await self._look()
            elif self.seat in (owed.hash_seats or owed.entropy_seats):
                if self.rng.random() < 0.1:
                    await self._replace_token()
                await self._contribute(view)
                view = await self._look()
            else:
                if self.last is not None and self.rng.random() < 0.02:
                    await self._interrupt(view)
                view = await self._look(wait_for_version=view.version + 1)

    async def _interrupt(self, view):
        # Decides though it is not asked.
        request = match_pb2.SubmitActionRequest(
            name=self.table.name,
            expected_version=view.version,
            action=self.last.action,
            request_id=f"unasked {self.rng.getrandbits(64):016x}",
        )
        try:
            await self.client.call("SubmitAction", request, self.token)
        except CallError as error:
            if error.reason not in (*FIRST, "NOT_TO_DECIDE", "TOKEN_REPLACED"):
                self.world.fail(f"{self.table}: who is not asked is told {error}")
        else:
            self.world.fail(f"{self.table}: a seat has decided that was not asked")

    async def _think(self):
        rng = self.rng
        if rng.random() < 0.01:
            await asyncio.sleep(rng.expovariate(1 / 60))
        await asyncio.sleep(rng.expovariate(1 / self.world.pace) if self.patient else 0.05)

    async def _look(self, **wait):
        request = match_pb2.GetViewRequest(name=self.table.name, **wait)
        called = self.world.now
        timeout = WAIT_SECONDS if wait else ATTEMPT_SECONDS
        response = await self._call(self.client, "GetView", request, timeout)
        view = response.view
        early = view.version < wait.get("wait_for_version", 0) and not response.timed_out
        if early and not view.HasField("result"):
            self.world.fail(f"{self.table}: a wait for a later version ended with {view.version}")
        self.table.history.reads.append(
            Read(self.seat, _ns(called), _ns(self.world.now), view.version, view_bytes(view))
        )
        oracles.check_view(self.table, view, self.seat)
        self.table.note(view.version)
        return view

    async def _call(self, client, method, request, timeout=ATTEMPT_SECONDS):
        # With the newest token. The answer that has it may be on its way to another client.
        until = self.world.now + 2 * PATIENCE_SECONDS
        while True:
            token = self.token
            try:
                return await client.call(method, request, token, timeout)
            except CallError as error:
                if error.reason != "TOKEN_REPLACED":
                    raise
                if token == self.token:
                    if self.world.now > until:
                        self.world.fail(f"{self.table}: the newest token is refused")
                    await asyncio.sleep(0.5)

    async def _decide(self, view):
        rng, table = self.rng, self.table
        if rng.random() < 0.03:
            await self._misbehave(view)
        if rng.random() < 0.03 and view.hint_policy == game_pb2.HINT_POLICY_ALLOWED:
            await self._ask(view)
        if rng.random() < 0.02:
            await self._replace_token()
        if rng.random() < 0.003:
            await self._resign()
            return None
        request = match_pb2.SubmitActionRequest(
            name=table.name,
            expected_version=view.version,
            action=rng.choice(view.legal_actions),
            request_id=f"{self.seat} {rng.getrandbits(64):016x}",
        )
        if rng.random() < 0.05:
            # Both at once, through two connections.
            twin = table.client()
            first, _ = await asyncio.gather(
                self._send(request, self.client), self._send(request, twin)
            )
            twin.close()
            return first
        decided = await self._send(request, self.client)
        if decided is not None and rng.random() < 0.05:
            await self._send(request, self.client)
        return decided

    async def _send(self, request, client):
        table, world = self.table, self.world
        decision = Decision(self.seat, request.action.SerializeToString(deterministic=True))
        called, request_id = world.now, request.request_id
        write = Write(request_id, decision, request.expected_version, _ns(called))
        try:
            response = await self._call(client, "SubmitAction", request)
        except CallError as error:
            if error.reason not in FIRST:
                world.fail(f"{table}: a legal action is refused: {error}")
            current = error.metadata.get("current_version")
            if current is not None and int(current) < request.expected_version:
                world.fail(f"{table}: a server is behind what it has shown: {error}")
            table.history.refusals.append(
                Refused(
                    request_id,
                    error.reason,
                    request.expected_version,
                    _ns(called),
                    _ns(world.now),
                    None if current is None else int(current),
                )
            )
            return None
        view, self.last = response.view, request
        table.history.writes.append(
            write._replace(returned=_ns(world.now), version=view.version, view=view_bytes(view))
        )
        oracles.check_view(table, view, self.seat)
        table.note(view.version)
        world.counts["actions"] += 1
        return view

    async def _misbehave(self, view):
        # What must be refused, whatever else happens.
        rng, table = self.rng, self.table
        what = rng.choice(("stale", "other game", "other match", "record", "rematch", "reused"))
        action = rng.choice(view.legal_actions)
        request = match_pb2.SubmitActionRequest(
            name=table.name,
            expected_version=view.version,
            action=action,
            request_id=f"wrong {rng.getrandbits(64):016x}",
        )
        method, wrong = "SubmitAction", request
        if what == "stale":
            request.expected_version = view.version + 1000
        elif what == "other game":
            other = next(game for game in GAMES if not action.HasField(game))
            request.action.Clear()
            getattr(request.action, other).SetInParent()
        elif what == "other match":
            others = [
                each.name for each in table.inhabitants.running if each.name not in ("", table.name)
            ]
            if not others:
                return
            request.name = rng.choice(others)
        elif what == "record":
            method, wrong = "GetRecord", match_pb2.GetRecordRequest(name=table.name)
        elif what == "rematch":
            method, wrong = "Rematch", match_pb2.RematchRequest(name=table.name)
        else:
            mine = [w for w in table.history.writes if w.decision.seat == self.seat]
            if not mine:
                return
            request.request_id = rng.choice(mine).request_id
            request.expected_version = view.version + 1000
        try:
            await self.client.call(method, wrong, self.token)
        except CallError as error:
            if error.reason in ("", "INTERNAL"):
                self.world.fail(f"{table}: {what} is refused without a reason: {error}")
            return
        after = await self._look()
        if what in ("record", "rematch") and after.HasField("result"):
            return
        self.world.fail(f"{table}: a wrong request ({what}) was carried out")

    async def _ask(self, view):
        request = hint_pb2.SuggestActionRequest()
        request.search.match_name = self.table.name
        request.search.limits.iterations = 20
        try:
            response = await self.client.call(
                "/croupier.v1.HintService/SuggestAction",
                request,
                self.token,
                response=hint_pb2.SuggestActionResponse,
            )
        except CallError as error:
            allowed = (
                *FIRST,
                "NOT_TO_DECIDE",
                "TOKEN_REPLACED",
                "TOO_MANY_SEARCHES",
                "HINTS_NOT_ALLOWED",
            )
            if error.reason not in allowed:
                self.world.fail(f"{self.table}: a hint fails: {error}")
            return
        self.world.counts["hints"] += 1
        now = await self._look()
        if now.version == view.version and response.hint.action not in view.legal_actions:
            self.world.fail(f"{self.table}: a hint names an action that is not legal")

    async def _replace_token(self):
        table, before = self.table, self.token
        request = match_pb2.ReplaceSeatTokenRequest(name=table.name, request_id=_uuid(self.rng))
        try:
            replaced = await self.client.call("ReplaceSeatToken", request, before)
        except CallError as error:
            if error.reason not in ("TOKEN_REPLACED", "MATCH_OVER"):
                self.world.fail(f"{table}: a token cannot be replaced: {error}")
            return
        table.tokens[self.seat] = replaced.seat_token.token
        table.replaced_at[self.seat] = self.world.now
        # Another client of the seat may make the next one meanwhile, which is no earlier one.
        for earlier, token in list(table.replacements[self.seat]):
            try:
                await self.client.call("ReplaceSeatToken", earlier, token)
            except CallError as error:
                if error.reason not in ("TOKEN_REPLACED", "MATCH_OVER"):
                    raise
            else:
                self.world.fail(f"{table}: an earlier replacement is answered after a later one")
        table.replacements[self.seat].append((request, before))
        self.world.counts["tokens replaced"] += 1
        # The token before is void from the moment of the answer on, at every server.
        olds = [
            ("GetView", match_pb2.GetViewRequest(name=table.name)),
            ("ResignMatch", match_pb2.ResignMatchRequest(name=table.name)),
        ]
        if self.last is not None:
            olds.insert(0, ("SubmitAction", self.last))
        for method, old in olds:
            stranger = table.client()
            try:
                await stranger.call(method, old, before)
            except CallError as error:
                if error.reason not in ("TOKEN_REPLACED", "MATCH_OVER"):
                    raise
            else:
                self.world.fail(f"{table}: {method} takes a token that was replaced")
            stranger.close()

    async def _resign(self):
        request = match_pb2.ResignMatchRequest(name=self.table.name)
        for number in range(self.rng.choice((1, 2))):
            try:
                await self._call(self.client, "ResignMatch", request)
            except CallError as error:
                if error.reason != "MATCH_OVER" or number:
                    self.world.fail(f"{self.table}: a resignation is refused: {error}")
                return

    async def _contribute(self, view):
        entropy = f"{self.table.name} {self.seat}".encode()[:64]
        request = match_pb2.ContributeEntropyRequest(name=self.table.name)
        if view.entropy_owed.hash_seats:
            request.entropy_hash = hashlib.sha256(entropy).digest()
        else:
            request.entropy = entropy
        for _ in range(self.rng.choice((1, 1, 2))):
            try:
                await self.client.call("ContributeEntropy", request, self.token)
            except CallError as error:
                if error.reason not in ("MATCH_OVER", "TOKEN_REPLACED"):
                    self.world.fail(f"{self.table}: entropy that is owed is refused: {error}")


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
                Stream(self.viewer, _ns(called), after, received, ended)
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
        if self.slow or token == self.token or not self.world.is_well(3 * BEHIND_SECONDS):
            return
        if self.world.now - self.table.replaced_at[self.viewer] > BEHIND_SECONDS:
            self.world.fail(f"{self.table}: a stream goes on with a token that was replaced")

    async def _follow(self, request, received, token):
        call = self.client.begin("WatchMatch", request, token, None, streams=True)
        silent, most = 0, self.rng.randint(1, 300)
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
                    fast = not self.slow and self.world.is_well(3 * BEHIND_SECONDS)
                    if behind > message.version and fast:
                        self.world.fail(
                            f"{self.table}: a stream is at version {message.version}, though "
                            f"{behind} was known {BEHIND_SECONDS:.0f} s ago"
                        )
                    if silent > 200 and self.table.kind == "bots":
                        self.world.fail(f"{self.table}: bots do not go on")
                    continue
                silent = 0
                events = b"".join(
                    event.SerializeToString(deterministic=True) for event in message.events
                )
                view = None
                if message.HasField("view"):
                    view = view_bytes(message.view)
                    oracles.check_view(self.table, message.view, self.viewer)
                received.append(Received(_ns(self.world.now), message.version, events, view))
                if len(received) == most:
                    return False
                if self.slow:
                    await asyncio.sleep(self.rng.expovariate(1 / 10))
        finally:
            call.cancel()


def _ns(seconds):
    return round(1e9 * seconds)


def _uuid(rng):
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))
