"""Strangers, who call about matches with tokens that are not for what they ask."""

import asyncio
import random

from croupier.v1 import match_pb2
from engine.game import SPECTATOR
from service.api.authentication import Tokens
from service.hosting.seats import Caller
from tests.simulation.clients import Client, new_id
from tests.simulation.network import CallError

PAUSE_SECONDS = 3.0
TO_COME = 5  # So many generations later than the newest token, which no player makes meanwhile.
_READ = ("GetView", "GetMatch", "GetRecord")
_FIELDS = {
    **{key: {} for key in (*_READ, "ResignMatch", "AbortMatch", "CancelDecisionsAhead")},
    **{key: {} for key in ("ResumeMatch", "Rematch", "DeclineRematch")},
    "MakeOffer": {"kind": 1},
    "AnswerOffer": {"offer_version": 1, "agree": True},
    "ContributeEntropy": {"entropy": bytes(32)},
    "ReplaceSeatToken": {},
}


class Stranger:
    """A caller who must be refused, and told why."""

    def __init__(self, inhabitants):
        self.inhabitants, self.world = inhabitants, inhabitants.world
        self.rng = random.Random(f"stranger/{self.world.seed}")
        self._tokens = Tokens(self.world.key_file.read_bytes())

    async def live(self):
        """Calls until this is cancelled."""
        while True:
            await asyncio.sleep(self.rng.expovariate(1 / PAUSE_SECONDS))
            tables = [each for each in self.world.running if each.spectator_token and each.tokens]
            if tables:
                await self._call(self.rng.choice(tables))

    async def _call(self, table):
        rng, name = self.rng, table.name
        method = rng.choice(list(_FIELDS))
        request = getattr(match_pb2, f"{method}Request")(name=name, **_FIELDS[method])
        if method == "ReplaceSeatToken":
            request.request_id = new_id(rng)
        seat = rng.choice(list(table.tokens))
        held = self._tokens.read(f"Bearer {table.tokens[seat]}")
        to_come = held._replace(generation=held.generation + TO_COME)
        unknown = f"matches/{rng.getrandbits(80):020x}"
        other = Caller(unknown.removeprefix("matches/"), seat)
        token = table.spectator_token
        end = "y" if token[-2] == "x" else "x"  # All bits of the last but one count.
        # The name, the token, and why that is refused.
        asked = [
            (name, "", "TOKEN_MISSING"),
            (name, f"{rng.choice('AB')}{token[1:-2]}{end}Q", "TOKEN_INVALID"),
            (name, self._tokens.invite(held.match_id, seat), "TOKEN_INVALID"),
            (name, self._tokens.make(other), "TOKEN_OF_OTHER_MATCH"),
            (unknown, table.tokens[seat], "MATCH_NOT_FOUND"),
            (unknown, self._tokens.make(other), "MATCH_NOT_FOUND"),
            (name, self._tokens.make(to_come), "TOKEN_REPLACED"),
        ]
        if method not in _READ:
            asked.append((name, self._tokens.make(Caller(held.match_id, SPECTATOR)), "SPECTATOR"))
        if method not in ("GetMatch", "GetRecord"):
            asked.append((name, self.world.operator_token, "TOKEN_INVALID"))
        request.name, token, reason = rng.choice(asked)
        client = Client(self.inhabitants, rng)
        client.newer = table.newer
        try:
            answer = await client.call(method, request, token)
        except CallError as error:
            told = error.metadata.get("match", request.name)
            if error.reason != reason or told != request.name:
                self.world.fail(f"{method} is refused for another reason than {reason}: {error}")
            self.world.counts["strangers refused"] += 1
        else:
            self.world.fail(f"{table}: {method} is not refused as {reason}: {answer}")
        finally:
            client.close()
