"""The operator, who lists the matches now and then."""

import asyncio
import random

from croupier.v1 import match_pb2
from tests.simulation.clients import Client

PAUSE_SECONDS = 45.0
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
            if len(set(listed)) != len(listed):
                self.world.fail(f"a list has a match twice: {listed}")
            for name in running:
                runs = {before[name], after[name]} == {match_pb2.MATCH_STATE_RUNNING}
                if runs and name not in listed:
                    self.world.fail(f"{name} runs, but the list of those that run lacks it")
                if before[name] == match_pb2.MATCH_STATE_OVER and name in listed:
                    self.world.fail(f"{name} was over, but is listed with those that run")

    async def _states(self, names):
        states = {}
        for name in names:
            response = await self._call("GetMatch", match_pb2.GetMatchRequest(name=name))
            states[name] = response.hosted_match.state
        return states

    async def _list(self, state):
        request, names = match_pb2.ListMatchesRequest(state=state, page_size=PAGE), []
        while True:
            response = await self._call("ListMatches", request)
            names += [each.name for each in response.matches]
            request.page_token = response.next_page_token
            if not request.page_token:
                return names

    async def _call(self, method, request):
        return await self.client.call(method, request, self.world.operator_token)
