"""Players, who play a seat with the habits of people, and of those who try what is forbidden."""

import asyncio
import copy
import hashlib
import random

from croupier.v1 import clock_pb2, error_pb2, feed_pb2, game_pb2, match_pb2, review_pb2
from tests.simulation import answers, oracles, shown
from tests.simulation.ahead import waits
from tests.simulation.asking import FIRST, HINT, HINT_RESPONSE, Asking
from tests.simulation.clients import (
    ATTEMPT_SECONDS,
    GAMES,
    PATIENCE_SECONDS,
    RESPONSES,
    nanoseconds,
    new_id,
)
from tests.simulation.network import CallError
from tests.simulation.offering import Offering
from tests.simulation.watchers import Watcher
from tests.support.history import Decision, Read, Refused, Write, view_bytes

WAIT_SECONDS = 60.0
WITHOUT_ITS_HASH = ("INVALID_FIELD", "ENTROPY_NOT_OWED")
REVIEW = "/croupier.v1.ReviewService/ReviewMatch"
BATCH = "/croupier.v1.FeedService/BatchGetViews"
# What somebody may want of an answer; what was decided ahead changes without a version.
FIELDS = ("view.version", "view.etag", "view.deciders", "view.legal_actions", "view.clocks")
FIELDS += ("view.players", "events")
FAR = 1000  # Versions, which no match has.


class Player(Asking, Offering):
    """A client that plays a seat."""

    def __init__(self, table, seat):
        self.table, self.seat = table, seat
        self.world = table.world
        self.rng = random.Random(table.rng.getrandbits(64))
        self.client = table.client(key="front" if self.rng.random() < 0.3 else "")
        self.leaves = self.rng.random() < 0.05  # For good, at some time.
        self.patient = self.rng.random() < 0.7
        self.sleepy = self.rng.random() < 0.15  # Often away for about as long as is allowed.
        self.hinted = answers.hint_policy_of(table.request) == game_pb2.HINT_POLICY_ALLOWED
        self.ahead = None  # Of the world, at least: the clock of the server that is most so.
        self.last = None  # The last request that was carried out.

    @property
    def token(self):
        """The newest token of the seat."""
        return self.table.tokens[self.seat]

    async def play(self):
        """Plays until the match is over."""
        view = await self._look()
        while not view.HasField("result"):
            # No clock ends a match that is paused, for days.
            runs = view.HasField("clocks") and not view.HasField("pause_end_time")
            if self.leaves and self.rng.random() < 0.02 and runs:
                self.world.counts["players who left"] += 1
                return
            owed = view.entropy_owed
            if await self._agree(view):
                view = await self._look()
            elif self.seat in view.deciders and view.legal_actions and not waits(view):
                await self._think(view)
                view = await self._decide(view) or await self._look()
            elif self.seat in (owed.hash_seats or owed.entropy_seats):
                if self.rng.random() < 0.1:
                    await self._replace_token()
                await self._contribute(view)
                view = await self._look()
            else:
                if self.rng.random() < 0.02:
                    await self._replace_token()
                if self.last is not None and self.rng.random() < 0.02:
                    await self._interrupt(view)
                if view.HasField("decisions_ahead") and self.rng.random() < 0.1:
                    await self._cancel_ahead(view)
                if self.hinted and self.rng.random() < 0.02:
                    await self._ask(view)
                view = await self._look(wait_for_version=view.version + 1)

    async def _cancel_ahead(self, view):
        request = match_pb2.CancelDecisionsAheadRequest(name=self.table.name)
        called = self.world.now
        try:
            response = await self._call(self.client, "CancelDecisionsAhead", request)
        except CallError as error:
            self.world.fail(f"{self.table}: decisions ahead cannot be cancelled: {error}")
            return
        if response.view.HasField("decisions_ahead"):
            self.world.fail(f"{self.table}: what was cancelled waits: {response.view}")
        self.table.ahead.cancelled[self.seat].append((view.version, response.view.version))
        self._note_view(response.view, called)
        self.world.counts["decisions ahead cancelled"] += 1

    async def _interrupt(self, view):
        # Decides though it is not asked.
        request = match_pb2.SubmitActionRequest(
            name=self.table.name,
            expected_version=view.version,
            action=self.last.action,
            request_id=f"unasked {self.rng.getrandbits(64):016x}",
        )
        reasons = ("STALE_VERSION", "NOT_TO_DECIDE")
        await self._refused("SubmitAction", request, reasons, "a decision that is not owed")

    async def _think(self, view):
        rng = self.rng
        if view.HasField("clocks"):
            control = view.clocks.time_control
            plays_on = control.on_expiry == clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION
            if rng.random() < (0.15 if plays_on else 0.02) and await self._wait_for_deadline(view):
                return
        elif self.sleepy and rng.random() < 0.2:
            idle = self.world.end_idle
            await asyncio.sleep(idle * rng.uniform(1.0, 1.15))
            return
        if rng.random() < 0.01:
            await asyncio.sleep(rng.expovariate(1 / 60))
        await asyncio.sleep(rng.expovariate(1 / self.world.pace) if self.patient else 0.05)
        if self.table.beat:
            await asyncio.sleep(self.table.beat - self.world.now % self.table.beat)

    async def _wait_for_deadline(self, view):
        # To decide at the last moment, by the clock of a server; whether it is soon.
        world = self.world
        for clock in view.clocks.seats:
            if clock.seat == self.seat and clock.HasField("deadline"):
                deadline = clock.deadline.ToMilliseconds() / 1000 - world.epoch - self.ahead
                left = deadline - world.now - self.rng.uniform(0.0, 0.015)
                if 0 < left < 30:
                    await asyncio.sleep(left)
                    return True
        return False

    async def _look(self, **wait):
        request = match_pb2.GetViewRequest(name=self.table.name, **wait)
        world = self.world
        called = world.now
        timeout = WAIT_SECONDS if wait else ATTEMPT_SECONDS
        response = await self._call(self.client, "GetView", request, timeout)
        view = response.view
        told = response.server_time.ToMilliseconds()
        clocks = [each.clock for each in world.machines]
        ahead = told / 1000 - world.epoch - world.now
        if not any(each.at(called) <= told <= each.at(world.now) for each in clocks):
            world.fail(f"{self.table}: a server says that it is {response.server_time}")
        if response.HasField("rematch") and not view.HasField("result"):
            world.fail(f"{self.table}: a match that runs has a rematch: {response.rematch}")
        self.ahead = ahead if self.ahead is None else max(ahead, self.ahead)
        missed = view.version < wait.get("wait_for_version", 0) and not view.HasField("result")
        if response.timed_out != missed:
            world.fail(f"{self.table}: a wait ended with {view.version}, and says otherwise")
        return self._note_view(view, called)

    def _note_view(self, view, called):
        times = nanoseconds(called), nanoseconds(self.world.now)
        read = Read(self.seat, *times, view.version, view_bytes(view))
        self.table.history.reads.append(read)
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
        if rng.random() < 0.08:
            await self._misbehave(view)
        if rng.random() < 0.06 and self.hinted:
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
            etag=rng.choice(("", view.etag)),
        )
        if rng.random() < 0.2:
            # The next decision may offer the same.
            request.then_actions.extend(rng.choices(view.legal_actions, k=rng.randint(1, 4)))
            request.then_unless = rng.choice(game_pb2.ThenUnless.values())
        table.ahead.send(self.seat, request)
        hasty = self.world.hasty
        if rng.random() < hasty:
            await self._give_up(request)
        if rng.random() < hasty:
            # Both at once, through two connections.
            twin = table.client()
            first, _ = await asyncio.gather(
                self._send(request, self.client), self._send(request, twin)
            )
            twin.close()
            return first
        if rng.random() < hasty:
            # While another window of the same player opens.
            first, _ = await asyncio.gather(
                self._send(request, self.client), Watcher(table, self.seat).glance(view.version)
            )
            return first
        decided = await self._send(request, self.client)
        if decided is not None and rng.random() < hasty:
            await self._send(request, self.client)
        if decided is not None and rng.random() < 0.1:
            await self._ask_for_less(request, self.answer)
        return decided

    async def _ask_for_less(self, request, answer):
        # The same request has the same answer, and some fields of it.
        request = copy.deepcopy(request)
        request.read_mask.paths.extend(self.rng.sample(FIELDS, 2))
        got = await self._call(self.client, "SubmitAction", request)
        if got != shown.masked(answer, request.read_mask.paths) and not self.world.forgets:
            self.world.fail(f"{self.table}: {request} is answered {got}, after {answer}")

    async def _send(self, request, client):
        table, world = self.table, self.world
        decision = Decision(self.seat, request.action.SerializeToString(deterministic=True))
        called, request_id = world.now, request.request_id
        write = Write(request_id, decision, request.expected_version, nanoseconds(called))
        try:
            response = await self._call(client, "SubmitAction", request)
        except CallError as error:
            if error.reason not in FIRST:
                world.fail(f"{table}: a legal action is refused: {error}")
            asked, current = request.expected_version, error.metadata.get("current_version")
            current = None if current is None else int(current)
            if current is not None and current < asked:
                world.fail(f"{table}: a server is behind what it has shown: {error}")
            times = nanoseconds(called), nanoseconds(world.now)
            refused = Refused(request_id, error.reason, asked, *times, current)
            table.history.refusals.append(refused)
            return None
        view, self.last, self.answer = response.view, request, response
        now, version, shown = nanoseconds(world.now), view.version, view_bytes(view)
        told = b"".join(each.SerializeToString(deterministic=True) for each in response.events)
        done = write._replace(returned=now, version=version, view=shown, events=told)
        table.history.writes.append(done)
        oracles.check_view(table, view, self.seat)
        table.note(view.version)
        world.counts["actions"] += 1
        return view

    async def _give_up(self, request):
        # It does not wait for the answer, and asks again through its usual connection.
        table, client = self.table, self.table.client()
        table.history.writes.append(
            Write(
                request.request_id,
                Decision(self.seat, request.action.SerializeToString(deterministic=True)),
                request.expected_version,
                nanoseconds(self.world.now),
            )
        )
        call = client.begin("SubmitAction", request, self.token)
        await asyncio.sleep(self.rng.expovariate(1 / 0.02))
        call.cancel()

    async def _refused(self, method, request, reasons, what, token=None, response=None):
        # Also where it has replaced its token meanwhile, or was asked no more.
        token = token or self.token
        await self.table.refused(
            self.client, method, request, token, reasons, what, response, runs=True
        )

    async def _misbehave(self, view):
        # What must be refused, whatever else happens, and why.
        table, rng = self.table, self.rng
        wrongs = table.inhabitants.wrongs
        if not wrongs:
            wrongs += rng.sample(list(_WRONG), len(_WRONG))
        what = wrongs.pop()
        made = _WRONG[what](self, view)
        if made is None:
            return
        method, request, reasons, *token = made
        if method == "SubmitAction":
            # Another client of the seat, or a clock, may have been first.
            reasons = (*reasons, "STALE_VERSION", "NOT_TO_DECIDE")
        if method in ("WatchMatch", REVIEW):
            await self._stream_nothing(method, request, reasons, what)
        elif what == "a wait without an end":
            response = await self._call(self.client, method, request, 8.0)
            if response.timed_out == response.view.HasField("result"):
                self.world.fail(f"{table}: a wait for a version to come is answered {response}")
        else:
            response = HINT_RESPONSE if method == HINT else RESPONSES.get(method)
            await self._refused(method, request, reasons, what, *token, response=response)

    async def _stream_nothing(self, method, request, reasons, what):
        call = self.client.begin(method, request, self.token, ATTEMPT_SECONDS, streams=True)
        try:
            await call.read()
        except CallError as error:
            known = (*reasons, "TOKEN_REPLACED", "BUDGET_EXHAUSTED", "RULES_CHANGED")
            silent = error.code == "DEADLINE_EXCEEDED"
            late = silent and self.world.troubles.answers(ATTEMPT_SECONDS)
            if late or not (error.unanswered or error.reason in known):
                self.world.fail(f"{self.table}: {what} ends with {error}")
        else:
            if method == "WatchMatch" or not (await self._look()).HasField("result"):
                self.world.fail(f"{self.table}: {what} has begun")
        finally:
            call.cancel()

    def _action(self, view, **changed):
        request = match_pb2.SubmitActionRequest(
            name=self.table.name,
            expected_version=view.version,
            action=self.rng.choice(view.legal_actions),
            request_id=f"wrong {self.rng.getrandbits(64):016x}",
        )
        for name, value in changed.items():
            setattr(request, name, value)
        return request

    def _of_another_game(self, view):
        request = self._action(view)
        other = next(game for game in GAMES if not request.action.HasField(game))
        request.action.Clear()
        getattr(request.action, other).SetInParent()
        return "SubmitAction", request, ("INVALID_FIELD",)

    def _of_another_match(self, view):
        running = self.table.inhabitants.running
        others = [each.name for each in running if each.name not in ("", self.table.name)]
        if others:
            request = self._action(view, name=self.rng.choice(others))
            return "SubmitAction", request, ("TOKEN_OF_OTHER_MATCH", "RULES_CHANGED")
        return None

    def _used_before(self, view):
        mine = [w for w in self.table.history.writes if w.decision.seat == self.seat]
        if not mine:
            return None
        before = self.rng.choice(mine)
        changed = {"request_id": before.request_id, "expected_version": view.version + FAR}
        # It may not have been carried out, if nobody waited for the answer.
        return "SubmitAction", self._action(view, **changed), ("REQUEST_ID_REUSED",)

    def _illegal(self, view):
        request = self._action(view)
        if self.last is None or self.last.action in view.legal_actions:
            return None
        request.action.CopyFrom(self.last.action)
        return "SubmitAction", request, ("ILLEGAL_ACTION",)

    def _of_another_course(self, view):
        return "SubmitAction", self._action(view, etag=view.etag[::-1] + "0"), FIRST

    def _after_another_course(self, view):
        after = self.rng.choice((0, view.version))
        request = match_pb2.WatchMatchRequest(
            name=self.table.name, after_version=after, etag=view.etag[::-1] + "0"
        )
        return "WatchMatch", request, ("VERSION_IN_FUTURE",)

    def _review(self, view):
        request = review_pb2.ReviewMatchRequest(match_name=self.table.name, validate_only=True)
        return REVIEW, request, ("MATCH_NOT_OVER",)

    def _of_a_spectator(self, view):
        return "SubmitAction", self._action(view), ("SPECTATOR",), self.table.spectator_token

    def _helped(self, view):
        if self.hinted:
            return None
        return HINT, self._hint(view), ("HINTS_NOT_ALLOWED", "NOT_TO_DECIDE")

    async def _replace_token(self):
        table, before = self.table, self.token
        request = match_pb2.ReplaceSeatTokenRequest(name=table.name, request_id=new_id(self.rng))
        try:
            replaced = await self.client.call("ReplaceSeatToken", request, before)
        except CallError as error:
            if error.reason not in ("TOKEN_REPLACED", "MATCH_OVER"):
                self.world.fail(f"{table}: a token cannot be replaced: {error}")
            return
        table.tokens[self.seat] = replaced.seat_token.token
        table.replaced_at[self.seat] = self.world.now
        # Another client of the seat may make the next one meanwhile, which is no earlier one. An
        # earlier one is not answered with the token of its time, nor with any that came since.
        for earlier, token in list(table.replacements[self.seat]):
            for old in (token, before):
                await self._refused("ReplaceSeatToken", earlier, (), "an earlier replacement", old)
        reasons, new = ("REQUEST_ID_REUSED",), replaced.seat_token.token
        await self._refused("ReplaceSeatToken", request, reasons, "the same replacement", new)
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
        await self._look_at_both(replaced.seat_token.token, before)

    async def _look_at_both(self, token, before):
        # A batch has the view of each token, or why it has none.
        called, response = self.world.now, feed_pb2.BatchGetViewsResponse
        request = feed_pb2.BatchGetViewsRequest(tokens=[before, "rubbish", token])
        request.read_mask.paths.extend(self.rng.choice(((), ("version", "seat"))))
        got = await self.client.call(BATCH, request, response=response)
        reasons = [error_pb2.ErrorReason.Name(each.error.reason)[13:] for each in got.results]
        if {"STORE_UNAVAILABLE", "RULES_CHANGED"} & set(reasons):
            return
        until = self.world.now + 2 * PATIENCE_SECONDS
        if replaced := reasons[2:] == ["TOKEN_REPLACED"]:
            # The answer with the newest one may be on its way to another client.
            while token == self.token and self.world.now < until:
                await asyncio.sleep(0.5)
            replaced = token != self.token
        if reasons[:2] != ["TOKEN_REPLACED", "INVALID_FIELD"] or len(reasons) != 3:
            self.world.fail(f"{self.table}: a batch of three tokens is answered {got}")
        view, fields = got.results[2].view, request.read_mask.paths
        if fields and view != shown.masked(view, fields):
            self.world.fail(f"{self.table}: who asks for {fields} is shown {view}")
        if got.results[2].HasField("view"):
            if not fields:
                self._note_view(view, called)
        elif not replaced:
            self.world.fail(f"{self.table}: a batch lacks the view of the newest token: {got}")

    async def _resign(self):
        method = self.rng.choice(("ResignMatch", "AbortMatch"))
        request = getattr(match_pb2, f"{method}Request")(name=self.table.name)
        for number in range(self.rng.choice((1, 2))):
            try:
                called = self.world.now
                response = await self._call(self.client, method, request)
                self._note_view(response.view, called)
            except CallError as error:
                if error.reason == "BOTH_DECIDED" and method == "AbortMatch":
                    return
                if error.reason != "MATCH_OVER" or number:
                    self.world.fail(f"{self.table}: a resignation is refused: {error}")
                return

    async def _contribute(self, view):
        entropy = f"{self.table.name} {self.seat}".encode()[:64]
        request = match_pb2.ContributeEntropyRequest(name=self.table.name)
        if not view.entropy_owed.hash_seats and self.rng.random() < 0.3:
            request.entropy = entropy[::-1]
            await self._refused("ContributeEntropy", request, WITHOUT_ITS_HASH, "other entropy")
        if view.entropy_owed.hash_seats:
            request.entropy_hash = hashlib.sha256(entropy).digest()
        else:
            request.entropy = entropy
        for _ in range(self.rng.choice((1, 1, 2))):
            try:
                called = self.world.now
                response = await self.client.call("ContributeEntropy", request, self.token)
                self._note_view(response.view, called)
            except CallError as error:
                if error.reason not in ("MATCH_OVER", "TOKEN_REPLACED"):
                    self.world.fail(f"{self.table}: entropy that is owed is refused: {error}")


def _named(method, request, *reasons, far=""):
    # A call that has the name of the match, and perhaps a version that it does not have.
    def make(player, view):
        changed = {far: view.version + FAR} if far else {}
        return method, request(name=player.table.name, **changed), reasons

    return make


def _stale(player, view):
    return "SubmitAction", player._action(view, expected_version=view.version + FAR), FIRST


def _listed(player, view):
    request = match_pb2.ListMatchesRequest(page_token="rubbish")
    # Who comes with a key may list its own.
    return "ListMatches", request, ("INVALID_FIELD" if player.client.key else "NOT_OPERATOR",)


# What a player asks for that must be refused.
_WRONG = {
    "a stale version": _stale,
    "an action of another game": Player._of_another_game,
    "a token of another match": Player._of_another_match,
    "a request_id that was used": Player._used_before,
    "an illegal action": Player._illegal,
    "a decision by another course": Player._of_another_course,
    "a stream after another course": Player._after_another_course,
    "a decision of a spectator": Player._of_a_spectator,
    "a hint against the policy": Player._helped,
    "a list for a player": _listed,
    "a record of what runs": _named("GetRecord", match_pb2.GetRecordRequest, "MATCH_NOT_OVER"),
    "a rematch of what runs": _named("Rematch", match_pb2.RematchRequest, "MATCH_NOT_OVER"),
    "to decline what runs": _named(
        "DeclineRematch", match_pb2.DeclineRematchRequest, "REMATCH_NOT_OFFERED"
    ),
    "a review of what runs": Player._review,
    "a version to come": _named(
        "WatchMatch", match_pb2.WatchMatchRequest, "VERSION_IN_FUTURE", far="after_version"
    ),
    "a wait without an end": _named("GetView", match_pb2.GetViewRequest, far="wait_for_version"),
}
