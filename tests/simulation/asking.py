"""Players who ask for hints, with all options, and what they must be told."""

from croupier.v1 import hint_pb2, match_pb2
from tests.simulation.clients import ATTEMPT_SECONDS, LATE_SECONDS
from tests.simulation.network import CallError

# The reasons for which a careful player may be refused: others, or a clock, were first.
FIRST = ("STALE_VERSION", "MATCH_OVER", "MATCH_PAUSED")
HINT, HINT_RESPONSE = "/croupier.v1.HintService/SuggestAction", hint_pb2.SuggestActionResponse
ANALYZE = "/croupier.v1.HintService/AnalyzePosition"
# What somebody may want of a hint.
MASKS = ((), (), ("hint",), ("hint.action", "hint.model"), ("hint.actions", "search_time"))


class Asking:
    """What a `Player` does about hints."""

    def _hint(self, view, sent=False):
        # With some of all options, for the match or for a view of it that is sent.
        rng, search = self.rng, hint_pb2.Search(match_name=self.table.name)
        if sent and view.legal_actions:
            search.view.CopyFrom(view)
        effort = rng.choice(("iterations", "time", "strength", ""))
        if effort == "iterations":
            search.limits.iterations, search.limits.nodes = 20, rng.choice((0, 1000))
        elif effort == "time":
            search.limits.time.FromMilliseconds(50)
        elif effort:
            search.strength = rng.choice(match_pb2.BotStrength.values()[2:])
        if rng.random() < 0.3:
            search.seed = rng.getrandbits(63)
        search.belief_worlds = rng.choice((0, 0, 10))
        legal = view.legal_actions if self.hinted else ()
        if len(legal) > 2 and rng.random() < 0.4:
            search.include_actions.extend(rng.sample(legal, 2))
            legal = search.include_actions
        if len(legal) > 1 and rng.random() < 0.4:
            search.exclude_actions.append(rng.choice(legal))
        request = hint_pb2.SuggestActionRequest(search=search)
        request.read_mask.paths.extend(rng.choice(MASKS))
        return request

    async def _ask(self, view):
        request, token = self._hint(view, sent=self.rng.random() < 0.2), self.token
        asked = self.world.now, self.world.noted.principal(self.client, token)
        try:
            if self.rng.random() < 0.5:
                called = self.client.call(HINT, request, token, response=HINT_RESPONSE)
                response = await called
            else:
                request = hint_pb2.AnalyzePositionRequest(search=request.search)
                if self.rng.random() < 0.5:
                    request.report_interval.FromMilliseconds(500)
                response = await self._analyze(request, token)
        except CallError as error:
            moved = ("ILLEGAL_ACTION", "INVALID_FIELD")
            if error.reason in moved and (await self._look()).version > view.version:
                return
            allowed = (*FIRST, "NOT_TO_DECIDE", "TOKEN_REPLACED", "TOO_MANY_SEARCHES")
            again = error.unanswered or error.reason in ("BUDGET_EXHAUSTED", "RULES_CHANGED")
            # Who waits for work that dies is told so.
            dead = self.world.death is not None and self.world.death.tells(error)
            if error.reason not in allowed and not (again or dead):
                self.world.fail(f"{self.table}: a hint fails: {error}")
            asked = error.reason == "NOT_TO_DECIDE" and self.seat in view.deciders
            if asked and (await self._look()).version == view.version:
                self.world.fail(f"{self.table}: seat {self.seat} is to decide, but told {error}")
            return
        self.world.counts["hints"] += 1
        hint = response.hint
        if wrong := self.world.search.wrong(response, view, request, asked):
            self.world.fail(f"{self.table}: a hint has a wrong {wrong}")
        if self.seat not in view.deciders:
            # It may have been asked just before.
            if (await self._look()).version == view.version:
                self.world.fail(f"{self.table}: seat {self.seat} gets a hint, but owes no decision")
            return
        if hasattr(request, "read_mask") and request.read_mask.paths:
            return
        if hint.seat != self.seat or hint.version < view.version:
            self.world.fail(f"{self.table}: seat {self.seat} gets a hint for {hint}")
        now = await self._look()
        if now.version == view.version and hint.action not in view.legal_actions:
            self.world.fail(f"{self.table}: a hint names an action that is not legal")

    async def _analyze(self, request, token):
        # The hint of the last report, which says so.
        finals, world, began = [], self.world, self.world.now
        call = self.client.begin(ANALYZE, request, token, streams=True)
        try:
            while (data := await call.read()) is not None:
                report = hint_pb2.AnalyzePositionResponse.FromString(data)
                finals.append(report.final_report)
                late = call.sent - began - report.search_time.ToNanoseconds() / 1e9
                if late > LATE_SECONDS and world.troubles.is_well(60.0 + ATTEMPT_SECONDS):
                    world.fail(f"{self.table}: a report of an analysis is {late:.1f} s late")
        except CallError as error:
            if error.code == "DEADLINE_EXCEEDED" and world.troubles.answers(ATTEMPT_SECONDS):
                world.fail(f"{self.table}: an analysis has no report")
            raise
        finally:
            call.cancel()
        if sum(finals) != 1 or not finals[-1]:
            self.world.fail(
                f"{self.table}: of the reports of an analysis the final ones are {finals}"
            )
        return report
