"""Players who offer each other takebacks and pauses, and answer."""

import asyncio

from croupier.v1 import game_pb2, match_pb2
from tests.simulation.network import CallError


class Offering:
    """What a `Player` does about offers."""

    async def _agree(self, view):
        # Offers something, answers or resumes, now and then; whether it has.
        rng, offer, name = self.rng, view.offer, self.table.name
        if view.HasField("pause_end_time"):
            await asyncio.sleep(rng.expovariate(1 / 20))
            if rng.random() < 0.3:
                await self._replace_token()  # The clocks stand still all the same.
                await self._look()
            await self._consent("ResumeMatch", match_pb2.ResumeMatchRequest(name=name), "resumed")
            return True
        if view.HasField("offer"):
            if rng.random() < 0.3:
                return False
            agree = offer.seat != self.seat and rng.random() < 0.7
            if not agree and rng.random() < 0.7:
                return False
            # Now and then by an etag of no version.
            etag = view.etag if rng.random() < 0.9 else view.etag[::-1]
            request = match_pb2.AnswerOfferRequest(
                name=name, offer_version=offer.version, agree=agree, etag=etag
            )
            what = "agreed" if agree else "declined"
            await self._consent("AnswerOffer", request, f"{offer.kind} {what}")
            return True
        kinds = [game_pb2.OFFER_KIND_PAUSE] if view.HasField("clocks") else []
        if view.HasField("takeback_version"):
            kinds += [game_pb2.OFFER_KIND_TAKEBACK] * 6
        if not kinds or view.HasField("entropy_owed") or rng.random() > 0.08:
            return False
        request = match_pb2.MakeOfferRequest(name=name, kind=rng.choice(kinds))
        await self._consent("MakeOffer", request, "offered")
        return True

    async def _consent(self, method, request, what):
        called = self.world.now
        try:
            response = await self._call(self.client, method, request)
        except CallError as error:
            # The other player may have decided, offered or answered first.
            if error.reason not in ("MATCH_OVER", "OFFER_NOT_ALLOWED", "OFFER_NOT_OPEN"):
                self.world.fail(f"{self.table}: {method} fails: {error}")
            return
        self._note_view(response.view, called)
        self.world.counts[f"offers: {what}"] += 1
