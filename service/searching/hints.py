"""From a search to a hint: run beside the calls, and written there too."""

import time
from collections.abc import Callable
from typing import NamedTuple

from google.protobuf.duration_pb2 import Duration

from ai.principal_lines import PrincipalLines
from ai.results import Result, StopReason
from ai.search import Search
from croupier.v1 import game_pb2, hint_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine.errors import ActionError, ViewError
from engine.game import Game, SeatView
from engine.sampler import Sampler
from service import wire
from service.errors import Refusal, invalid_field
from service.searching.pool import SearchJob

MAX_COMPARED = 16  # Actions that are compared in worlds,
MAX_LINES = 32  # and that have a line.
COMPARING_ITERATIONS = 1 / 4  # What is played to compare them, as a share of the iterations,
COMPARING_TIME = 1 / 10  # and of the time.

# What is kept of the time before a deadline to write the answer and send it: for each legal action,
# and besides. A search has a low priority, and may have to wait for a processor.
WRITING_SECONDS = 1e-4
DEADLINE_SECONDS = 0.1

_STOP_REASONS: dict[StopReason, hint_pb2.StopReason] = {
    StopReason.ITERATIONS: hint_pb2.STOP_REASON_ITERATIONS,
    StopReason.TIME: hint_pb2.STOP_REASON_TIME,
    StopReason.SINGLE_ACTION: hint_pb2.STOP_REASON_SINGLE_ACTION,
    StopReason.PROVEN: hint_pb2.STOP_REASON_PROVEN,
    StopReason.CANCELLED: hint_pb2.STOP_REASON_CANCELLED,
    StopReason.MEMORY: hint_pb2.STOP_REASON_MEMORY,
}
_HIDDEN_PLACES: dict[str, hint_pb2.HiddenPlace] = {
    "opponent_hand": hint_pb2.HIDDEN_PLACE_OPPONENT_HAND,
    "opponent_pile": hint_pb2.HIDDEN_PLACE_OPPONENT_PILE,
    "set_aside": hint_pb2.HIDDEN_PLACE_SET_ASIDE,
    "opponent_gate": hint_pb2.HIDDEN_PLACE_OPPONENT_GATE,
    "opponent_castle": hint_pb2.HIDDEN_PLACE_OPPONENT_CASTLE,
}


class Report(NamedTuple):
    """What was found so far, or in the end."""

    hint: hint_pb2.Hint
    search_time: Duration


class HintRequest(NamedTuple):
    """What a hint is asked for."""

    view: SeatView
    version: int
    deciders: tuple[int, ...]
    seed: int
    include: tuple[game_pb2.Action, ...]
    exclude: tuple[game_pb2.Action, ...]
    belief_worlds: int
    deadline: float  # By the monotonic clock; infinite for none.

    def answer(
        self,
        job: SearchJob,
        every: float = 0.0,
        report: Callable[[Report], object] | None = None,
    ) -> Report:
        """Searches, and calls `report` meanwhile; the final report. Raises Refusal."""
        began = time.monotonic()
        sampler = checked_sampler(self.view, self.deciders)
        search = job.search(self.view, self.seed, sampler, self._only(sampler))
        end, time_reason = self._end(began, job.limits.seconds, search)

        def partial() -> None:
            if report is not None and not job.abandoned:
                report(self._report(search, search.result(), PrincipalLines(search), began))

        search.run(
            iterations=job.limits.iterations,
            seconds=max(1e-3, (end - time.monotonic()) * (1 - COMPARING_TIME))
            if time_reason
            else 0.0,
            stop=job.stop,
            every=every,
            report=partial if report else None,
        )
        if job.abandoned:
            return Report(hint_pb2.Hint(), Duration())
        final = self._conclude(job, search, search.result(), began, end)
        final.hint.stop_reason = _STOP_REASONS[search.stop_reason]
        if search.stop_reason == StopReason.TIME:
            final.hint.stop_reason = time_reason
        return final

    def _end(
        self, began: float, seconds: float, search: Search
    ) -> tuple[float, hint_pb2.StopReason]:
        # When the search must have ended, and the reason it gives then; unspecified if it need not.
        end = began + seconds if seconds else float("inf")
        margin = DEADLINE_SECONDS + WRITING_SECONDS * len(search.legal)
        left = self.deadline - began
        last = began + max(left - margin, left / 2)
        if last < end:
            return last, hint_pb2.STOP_REASON_DEADLINE
        return end, (hint_pb2.STOP_REASON_TIME if seconds else hint_pb2.STOP_REASON_UNSPECIFIED)

    def _only(self, sampler: Sampler) -> tuple[int, ...] | None:
        if not self.include and not self.exclude:
            return None
        position = sampler.sample(0)
        seat = self.view.seat
        chosen: dict[str, set[int]] = {}
        for name in ("include", "exclude"):
            chosen[name] = set()
            for i, action in enumerate(getattr(self, name)):
                path = f"{name}_actions[{i}]"
                wire.check_game(self.view.game, action, path)
                try:
                    read = wire.read_action(self.view.game, action)
                    position.check(seat, read)
                except ActionError as error:
                    raise wire.illegal_action(error, action, path) from None
                chosen[name].add(read)
        left = (chosen["include"] or set(position.legal(seat))) - chosen["exclude"]
        if not left:
            raise invalid_field("exclude_actions", "must leave an action to search for")
        return tuple(sorted(left))

    def _report(
        self, search: Search, result: Result, lines: PrincipalLines, began: float
    ) -> Report:
        hint = write_hint(self.view, self.version, result)
        for i, each in enumerate(result.actions[:MAX_LINES]):
            hint.actions[i].line.extend(
                hint_pb2.ExpectedAction(seat=seat, action=wire.write_action(self.view.game, action))
                for seat, action in lines.line(each.action)
            )
        search_time = Duration()
        search_time.FromNanoseconds(round(1e9 * (time.monotonic() - began)))
        return Report(hint, search_time)

    def _conclude(
        self, job: SearchJob, search: Search, result: Result, began: float, end: float
    ) -> Report:
        lines = PrincipalLines(search)
        compared = [each.action for each in result.actions[:MAX_COMPARED]]
        seconds = max(1e-9, end - time.monotonic()) if end < float("inf") else 0.0
        playouts = int(COMPARING_ITERATIONS * result.iterations)
        worlds, shares = lines.compare(compared, playouts, seconds, job.stop)
        report = self._report(search, result, lines, began)
        report.hint.worlds_compared = worlds
        for i, share in enumerate(shares):
            report.hint.actions[i].best_share = share
        if self.belief_worlds:
            report.hint.beliefs.extend(
                write_beliefs(self.view.game, search.sampler, self.belief_worlds, self.seed)
            )
        return report


def checked_sampler(view: SeatView, deciders: tuple[int, ...]) -> Sampler:
    """The worlds of a view; raises Refusal if there are none, or if other seats decide in them."""
    try:
        sampler = Sampler.of(view)
        position = sampler.sample(0)
    except ViewError as error:
        raise wire.inconsistent_view(error, view.game.id, "view") from None
    if not set(deciders) <= set(position.deciders):
        rule = f"must be among {list(position.deciders)}, by what is known of the game"
        raise Refusal(
            ErrorReason.ERROR_REASON_INCONSISTENT_VIEW,
            f"view.deciders: {rule}",
            fields=[("view.deciders", rule)],
        )
    return sampler


def write_hint(view: SeatView, version: int, result: Result) -> hint_pb2.Hint:
    """What a search found, as a message without the reason why the search ended."""
    return hint_pb2.Hint(
        action=wire.write_action(view.game, result.action),
        version=version,
        seat=view.seat,
        actions=[
            hint_pb2.ActionEvaluation(
                action=wire.write_action(view.game, each.action),
                visits=each.visits,
                availability=each.availability,
                expected_score=each.expected_score,
                deviation=each.deviation,
                probability=each.probability,
            )
            for each in result.actions
        ],
        expected_score=result.expected_score,
        win=result.win,
        draw=result.draw,
        loss=result.loss,
        iterations=result.iterations,
        worlds=result.worlds,
        nodes=result.nodes,
        full=result.full,
    )


def write_beliefs(
    game: Game, sampler: Sampler, worlds: int, seed: int
) -> list[hint_pb2.CardBelief]:
    """What the hidden cards may be, by so many worlds, as messages."""
    cards = [card["id"] for card in game.cards()]
    return [
        hint_pb2.CardBelief(
            place=_HIDDEN_PLACES[belief.place],
            card=cards[belief.card],
            expected_copies=belief.expected,
            probability=belief.probability,
        )
        for belief in sampler.beliefs(worlds, seed)
    ]
