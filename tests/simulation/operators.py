"""The operator, who lists the matches now and then."""

import asyncio
import random

from google.protobuf.timestamp_pb2 import Timestamp

from croupier.v1 import match_pb2
from tests.simulation import oracles
from tests.simulation.clients import GAMES, Client
from tests.simulation.network import CallError

PAUSE_SECONDS = 45.0
MANY = 1000  # More than there are.
# What another list may be of.
OTHER = {
    "game": f"games/{GAMES[0]}",
    "state": match_pb2.MATCH_STATE_OVER,
    "created_since": Timestamp(seconds=1),
    "created_before": Timestamp(seconds=2**35),
}
PAGE = 3  # Matches, so that most lists have several pages.


class Operator:
    """A caller with the operator's token, who compares lists with what each match says itself."""

    def __init__(self, inhabitants):
        self.inhabitants = inhabitants
        self.world = inhabitants.world
        self.rng = random.Random(f"operator/{self.world.seed}")
        self.client = Client(inhabitants, self.rng)

    async def look_on(self):
        """Looks until this is cancelled."""
        while True:
            await asyncio.sleep(self.rng.expovariate(1 / PAUSE_SECONDS))
            running = [each.name for each in self.inhabitants.running if each.name]
            before = await self._states(running)
            listed = await self._list(match_pb2.MATCH_STATE_RUNNING)
            after = await self._states(running)
            names = [each.name for each in listed]
            if len(set(names)) != len(names):
                self.world.fail(f"a list has a match twice: {names}")
            await self._look_at_what_is_over()
            for name in running:
                runs = {before[name], after[name]} == {match_pb2.MATCH_STATE_RUNNING}
                if runs and name not in names:
                    self.world.fail(f"{name} runs, but the list of those that run lacks it")
                if before[name] == match_pb2.MATCH_STATE_OVER and name in names:
                    self.world.fail(f"{name} was over, but is listed with those that run")

    async def _states(self, names):
        states = {}
        for name in names:
            response = await self._call("GetMatch", match_pb2.GetMatchRequest(name=name))
            states[name] = response.hosted_match.state
        return states

    async def _list(self, state):
        request, matches = match_pb2.ListMatchesRequest(state=state, page_size=PAGE), []
        while True:
            response = await self._call("ListMatches", request)
            for match in response.matches:
                oracles.check_match(self.world, match)
            others = [each.name for each in response.matches if each.state != state]
            if others or len(response.matches) > PAGE:
                self.world.fail(f"a page of {PAGE} matches in {state} is {response}")
            matches += response.matches
            request.page_token = response.next_page_token
            if not request.page_token:
                return matches
            await self._turn_wrong_pages(request, response.next_page_token)

    async def _turn_wrong_pages(self, request, token):
        # A page of a list is not one of another list.
        if self.rng.random() > 0.2:
            return
        name = self.rng.choice(list(OTHER))
        other = match_pb2.ListMatchesRequest()
        other.CopyFrom(request)
        other.ClearField(name)
        other.MergeFrom(match_pb2.ListMatchesRequest(**{name: OTHER[name]}))
        for other.page_token in (token, token[:-4], "rubbish"):
            try:
                response = await self._call("ListMatches", other)
            except CallError as error:
                if error.reason != "INVALID_FIELD":
                    raise
            else:
                self.world.fail(f"a page_token of another list is answered: {response}")

    async def _look_at_what_is_over(self):
        state = self.rng.choice((match_pb2.MATCH_STATE_OVER, match_pb2.MATCH_STATE_UNSPECIFIED))
        game = f"games/{self.rng.choice(GAMES)}"
        request = match_pb2.ListMatchesRequest(game=game, state=state, page_size=2 * PAGE)
        response = await self._call("ListMatches", request)
        for match in response.matches:
            oracles.check_match(self.world, match)
        order = [(each.create_time.ToMilliseconds(), each.name) for each in response.matches]
        await self._look_at_some_time()
        others = [
            each.name
            for each in response.matches
            if each.game != game or state not in (match_pb2.MATCH_STATE_UNSPECIFIED, each.state)
        ]
        if others or order != sorted(order, reverse=True):
            self.world.fail(f"a list of {game} is {response}")

    async def _look_at_some_time(self):
        # All matches of some time, as the log has them: between two of them, with or without these.
        world = self.world
        headers = [each.header for each in world.all_stored()]
        now = 1000 * (world.epoch + world.now - 5.0)
        marks = [each.created for each in headers if each.created < now]
        if not marks:
            return
        times = sorted(self.rng.choice(marks) + self.rng.choice((0, 1)) for _ in range(2))
        request = match_pb2.ListMatchesRequest(page_size=MANY)
        request.created_since.FromMilliseconds(times[0])
        request.created_before.FromMilliseconds(times[1])
        right = [
            (each.created, f"matches/{each.match_id}")
            for each in headers
            if times[0] <= each.created < times[1]
        ]
        listed = (await self._call("ListMatches", request)).matches
        foreign = {f"matches/{each}" for each in world.unreadable}
        told = [each.name for each in listed if each.name not in foreign]
        if told != [name for _, name in sorted(right, reverse=True)] and not world.forgets:
            world.fail(f"the list of the matches between {times} is {told}, not {right}")

    async def _call(self, method, request):
        return await self.client.call(method, request, self.world.operator_token)
