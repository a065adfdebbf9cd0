"""Those who ask for a rematch, or decline it: at once or some time later, too early and twice."""

import asyncio
from contextlib import suppress

from croupier.v1 import match_pb2
from service.hosting.entries import EntryKind
from tests.simulation.clients import hear
from tests.simulation.network import CallError

PAUSES = (0.0, 0.0, 5.0, 20.0)  # Seconds between what the seats ask.
VAIN_SECONDS = 20.0  # For which somebody waits for what nobody asks for.
STREAM_SECONDS = 30.0  # In which a stream has told how the rematch goes on, all being well.
STREAM_LATE_SECONDS = 1.0  # By which one may tell of it later than its answer has.
NOT_OFFERED = ("REMATCH_NOT_OFFERED",)


async def ask(table):
    """One seat asks for the rematch of a match that is over; the other one too, or declines it."""
    try:
        await _Rematch(table).ask()
    except CallError as error:
        # A token that another client of the seat has got is not known here.
        if error.reason != "TOKEN_REPLACED":
            table.world.fail(f"{table}: a rematch fails: {error}")


async def wait_in_vain(table):
    """Somebody waits for the rematch of a match that is over; nobody asks for one."""
    with suppress(TimeoutError):
        async with asyncio.timeout(VAIN_SECONDS):
            await _Rematch(table).follow()


class _Rematch:
    def __init__(self, table):
        self.table, self.world, self.rng = table, table.world, table.rng
        self.client = table.client()
        self.request = match_pb2.RematchRequest(name=table.name)
        self.name, self.told, self.asked_at, self.first = "", None, 0.0, None
        self.named = set()  # By streams.
        self.known = {}  # Since when the state of the rematch is known, by an answer.

    async def ask(self):
        table, rng = self.table, self.rng
        seats = rng.sample((0, 1), 2)
        invited = any(each.HasField("invited") for each in table.request.seats)
        token, self.first = table.tokens[seats[0]], seats[0]
        decline = match_pb2.DeclineRematchRequest(name=table.name)
        if rng.random() < 0.3:
            what = "to decline what nobody offers"
            await table.refused(self.client, "DeclineRematch", decline, token, NOT_OFFERED, what)
        if rng.random() < 0.3:
            spectator = ("SPECTATOR",)
            await table.refused(
                self.client, "Rematch", self.request, table.spectator_token, spectator, "a rematch"
            )
        following = self.world.loop.create_task(self.follow())
        try:
            await asyncio.sleep(rng.choice(PAUSES))
            self.asked_at = self.world.now
            offered = ([seats[0]], "OFFERED") if invited else ([0, 1], "ACCEPTED")
            await self._ask(seats[0], offered[1])
            await self._judge(*offered)
            await asyncio.sleep(rng.choice(PAUSES))
            other = table.tokens[seats[1]]
            if invited and rng.random() < 0.4:
                await self._decline(decline, seats, other)
            else:
                seat_token = await self._ask(seats[1], "ACCEPTED")
                await self._judge([0, 1], "ACCEPTED")
                what = "to decline a rematch that has begun"
                await table.refused(
                    self.client, "DeclineRematch", decline, other, NOT_OFFERED, what
                )
                # Nobody plays it: it ends as idle, or by a resignation.
                if rng.random() < 0.7:
                    await self._resign(seat_token)
            self.world.counts["rematches"] += 1
            await asyncio.wait([following], timeout=STREAM_SECONDS)
            if not following.done() and self.world.troubles.is_well(60.0 + STREAM_SECONDS):
                self.world.fail(f"{table}: a stream does not tell what becomes of {self.name}")
        finally:
            following.cancel()
        if following.done() and not following.cancelled():
            following.result()
        if self.named - {self.name}:
            self.world.fail(f"{table}: streams name {self.named} as the rematch {self.name}")

    async def _ask(self, seat, state):
        # Twice, as a client does that has heard no answer.
        table = self.table
        for _ in range(self.rng.choice((1, 2))):
            response = await table.client().call("Rematch", self.request, table.tokens[seat])
            told = response.name, response.secret_hash, response.spectator_token
            if told != (self.told or told):
                self.world.fail(f"{table}: seat {seat} is answered {response}, after {self.told}")
            self.name, self.told = response.name, told
            number = match_pb2.RematchState.Value(f"REMATCH_STATE_{state}")
            self.known.setdefault(number, self.world.now)
        return response.seat_token.token

    async def _decline(self, request, seats, token):
        # The offer may be over meanwhile, as idle.
        table = self.table
        declining = self.rng.choice((seats[::-1], seats[1:], seats))
        for seat in declining:
            try:
                answer = await self.client.call("DeclineRematch", request, table.tokens[seat])
            except CallError as error:
                if error.reason not in NOT_OFFERED:
                    raise
                return
            if answer.rematch != self._offer([seats[0]], "DECLINED"):
                self.world.fail(f"{table}: who declines is answered {answer.rematch}")
            last = self.world.stored(self.name.removeprefix("matches/")).entries[-1]
            if last[:2] != (EntryKind.DECLINE, 1 - declining[0]):
                self.world.fail(f"{table}: seat {declining[0]} declines, and the log has {last}")
        await self._judge([seats[0]], "DECLINED")
        what = "a rematch that was declined"
        await table.refused(self.client, "Rematch", self.request, token, (), what)

    def _offer(self, seats, state):
        state = f"REMATCH_STATE_{state}"
        return match_pb2.RematchOffer(name=self.name, state=state, asking_seats=seats)

    async def _judge(self, seats, state):
        # What is told of it. It may be over meanwhile, as idle.
        request = match_pb2.GetViewRequest(name=self.table.name)
        told = (await self.client.call("GetView", request, self.table.spectator_token)).rematch
        idle = self.world.now - self.asked_at > self.world.end_idle - 2.0
        if idle and told == self._offer([self.first], "DECLINED"):
            return
        if told != self._offer(seats, state):
            self.world.fail(f"{self.table}: its rematch is told as {told}, not {state} by {seats}")

    async def _resign(self, token):
        try:
            request = match_pb2.ResignMatchRequest(name=self.name)
            await self.client.call("ResignMatch", request, token)
        except CallError as error:
            if error.reason != "MATCH_OVER":  # Its clocks run.
                raise

    async def follow(self):
        """A stream that goes on after the end tells of the rematch, and ends when it begins."""
        table, states = self.table, []
        client = table.client()
        request = match_pb2.WatchMatchRequest(name=table.name, follow_rematch=True)
        request.heartbeat_interval.FromSeconds(2)
        while True:
            call = client.begin("WatchMatch", request, table.spectator_token, None, streams=True)
            try:
                async with asyncio.timeout(STREAM_SECONDS):
                    while (data := await hear(call, 2, table)) is not None:
                        message = match_pb2.WatchMatchResponse.FromString(data)
                        if message.HasField("rematch"):
                            states.append(message.rematch.state)
                            self._judge_told(message, states)
                            self._judge_time(message.rematch.state, call)
                if not states or states[-1] == match_pb2.REMATCH_STATE_OFFERED:
                    self.world.fail(f"{table}: a stream ends before the rematch begins: {states}")
                return
            except CallError as error:
                if not error.unanswered and error.reason != "BUDGET_EXHAUSTED":
                    self.world.fail(f"{table}: a stream after the end ends with {error}")
            except TimeoutError:
                pass  # It is silent, so it is lost.
            finally:
                call.cancel()
            states.clear()
            await asyncio.sleep(self.rng.uniform(0.1, 1.0))

    def _judge_time(self, state, call):
        # By the times of its server.
        since = max(self.known.get(state, call.sent), call.asked)
        late = call.sent - since > STREAM_LATE_SECONDS
        deaf = self.world.store == "postgresql" and self.world.database.deaf
        if late and not deaf and self.world.troubles.is_well(60.0 + self.world.now - since):
            self.world.fail(
                f"{self.table}: a stream tells of the rematch {call.sent - since:.1f} s late"
            )

    def _judge_told(self, message, states):
        told, right = message.rematch, match_pb2.WatchMatchResponse(version=message.version)
        right.rematch.CopyFrom(told)
        self.named.add(told.name)
        asking = [self.first] if told.state != match_pb2.REMATCH_STATE_ACCEPTED else [0, 1]
        wrong = message != right or told.asking_seats != asking
        if wrong or states != sorted(set(states)):
            self.world.fail(f"{self.table}: a stream tells of the rematch {message} ({states})")
