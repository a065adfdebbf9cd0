"""Latecomers, who ask again, late and of any server, what was asked before, or nearly that.

What was done once has the same answer for ever; what is told of a match is judged by `Answers`.
"""

import asyncio
import copy
import random
from collections import defaultdict

from croupier.v1 import game_pb2
from tests.simulation.answers import HOLDS
from tests.simulation.clients import RESPONSES, Client
from tests.simulation.network import CallError

PAUSE_SECONDS = 4.0
MANY = 300  # Requests of a method that are remembered.
FOR_EVER = ("CreateMatch", "BatchCreateMatches", "JoinMatch", "SubmitAction", "Rematch")
OF_NOW = ("GetInvitation", "GetMatch", "GetView", "AnswerOffer", "MakeOffer", "ResumeMatch")
OF_NOW += ("ContributeEntropy", "ResignMatch", "AbortMatch")
# What changes in a view though no version is made.
ASIDE = ("players", "decisions_ahead")
# Why what was done may be refused now: its token is void, its offer is over, its names are erased.
PASSING = ("TOKEN_REPLACED", "BUDGET_EXHAUSTED", "STORE_FULL", "RULES_CHANGED", "MATCH_OVER")


class Latecomer:
    """A caller who has the requests and the tokens of all others."""

    def __init__(self, inhabitants):
        self.inhabitants, self.world = inhabitants, inhabitants.world
        self.rng = random.Random(f"latecomer/{self.world.seed}")
        self._asked = defaultdict(list)  # By method: clients, requests, tokens and answers.

    def note(self, client, method, request, token, answer):
        """Remembers a call that was answered."""
        named = getattr(request, "request_id", method)  # Without one, another match is created.
        if method not in FOR_EVER + OF_NOW or not named or self.world.forgets:
            return
        asked = self._asked[method]
        known = copy.deepcopy(request), token, copy.deepcopy(answer)
        asked.append((client.key, client.player, client.newer, *known))
        if len(asked) > MANY:
            asked.pop(self.rng.randrange(MANY))

    async def live(self):
        """Asks until this is cancelled."""
        while True:
            await asyncio.sleep(self.rng.expovariate(1 / PAUSE_SECONDS))
            if self._asked:
                method = self.rng.choice(sorted(self._asked))
                await self._ask(method, *self.rng.choice(self._asked[method]))

    async def _ask(self, method, key, player, newer, request, token, before):
        client = Client(self.inhabitants, self.rng, key=key)
        client.player, client.newer = player, newer
        try:
            if method in FOR_EVER:
                await self._ask_again(client, method, request, token, before)
            else:
                await self._ask_now(client, method, copy.deepcopy(request), token)
        except CallError as error:
            known = (*PASSING, *HOLDS, "INVALID_FIELD") if method in OF_NOW else PASSING
            if not error.unanswered and error.reason not in known:
                self.world.fail(f"{method} is refused to who asks late: {error}, for {request}")
        finally:
            client.close()
        self.world.counts["asked late"] += 1

    async def _ask_again(self, client, method, request, token, before):
        call = client.begin(method, request, token)
        try:
            data = await call.read()
        finally:
            call.cancel()
        told = RESPONSES[method].FromString(data)
        if _lasting(told) != _lasting(before):
            self.world.fail(f"{method}, asked again, is answered {told}, after {before}")

    async def _ask_now(self, client, method, request, token):
        # Or nearly the same. Who has left would resume no pause.
        if method == "MakeOffer":
            request.kind = game_pb2.OFFER_KIND_TAKEBACK
        elif method == "AnswerOffer" and self.rng.random() < 0.5:
            request.agree = not request.agree
        elif method == "GetView":
            request.wait_for_version = 0
        await client.once(method, request, token)


def _lasting(answer):
    lasting = copy.deepcopy(answer)
    for name in ASIDE if hasattr(lasting, "view") else ():
        lasting.view.ClearField(name)
    return lasting
