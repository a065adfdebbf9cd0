"""Hints: a search task, checked and answered in a thread of a pool, and its answer as a message."""

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from google.protobuf.duration_pb2 import Duration

import wire
from ai import last_look
from ai.principal_lines import PrincipalLines
from ai.results import Result, Standing, StopReason
from ai.search import Search
from croupier.v1 import game_pb2, hint_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine.errors import ActionError, ViewError
from engine.game import Game, SeatView
from engine.position import Position
from engine.sampler import Beliefs, Sampler
from service.common.errors import shutting_down
from service.searching.options import opponent_sharpness
from service.searching.pool import SearchJob
from service.searching.tasks import Report, SearchTask
from wire.errors import Refusal, invalid_field

SEARCH = "search"  # The path of the search in a request.
MAX_LINES = 32  # Actions that have a line.
# No value from 0 to 1 has a larger standard deviation, but after few visits the search's estimate
# of what a score may still change by is larger.
MAX_DEVIATION = 0.5

STOP_REASONS: dict[StopReason, hint_pb2.StopReason] = {
    StopReason.ITERATIONS: hint_pb2.STOP_REASON_ITERATIONS,
    StopReason.TIME: hint_pb2.STOP_REASON_TIME,
    StopReason.SINGLE_ACTION: hint_pb2.STOP_REASON_SINGLE_ACTION,
    StopReason.PROVEN: hint_pb2.STOP_REASON_PROVEN,
    StopReason.CANCELLED: hint_pb2.STOP_REASON_CANCELLED,
    StopReason.MEMORY: hint_pb2.STOP_REASON_MEMORY,
}
STANDINGS: dict[Standing, hint_pb2.Standing] = {
    Standing.BEST: hint_pb2.STANDING_BEST,
    Standing.AS_GOOD: hint_pb2.STANDING_AS_GOOD,
    Standing.WORSE: hint_pb2.STANDING_WORSE,
    Standing.UNEXAMINED: hint_pb2.STANDING_UNEXAMINED,
}


def write_hint(
    view: SeatView, version: int, result: Result, lines: PrincipalLines | None
) -> hint_pb2.Hint:
    """The hint that a search gives for a view; the likeliest actions with their expected lines.

    Without `lines`, it leaves out the evaluations of the actions. The message does not say why the
    search ended, since it may go on.
    """
    hint = hint_pb2.Hint(
        action=wire.write_action(view.game, result.action),
        version=version,
        seat=view.seat,
        expected_score=result.expected_score,
        win=result.win,
        draw=result.draw,
        loss=result.loss,
        iterations=result.iterations,
        worlds=result.worlds,
        nodes=result.nodes,
        full=result.full,
    )
    if lines is None:
        return hint
    for each in result.actions:
        found = hint.actions.add(
            action=wire.write_action(view.game, each.action),
            visits=each.visits,
            availability=each.availability,
            probability=each.probability,
            standing=STANDINGS[each.standing],
        )
        if each.standing is not Standing.UNEXAMINED:
            found.expected_score = each.expected_score
            found.deviation = min(each.deviation, MAX_DEVIATION)
            found.loss = each.loss
            found.loss_deviation = min(each.loss_deviation, 2 * MAX_DEVIATION)
        for name, foretold in each.aspects.items():
            found.aspects.add(aspect=name, mean=foretold.mean, deviation=foretold.deviation)
    for reason in result.reasons:
        hint.reasons.add(
            aspect=reason.aspect,
            value=reason.value,
            other_action=wire.write_action(view.game, reason.other),
            other_value=reason.other_value,
        )
    for i, each in enumerate(result.actions[:MAX_LINES]):
        hint.actions[i].line.extend(
            hint_pb2.ExpectedAction(seat=seat, action=wire.write_action(view.game, action))
            for seat, action in lines.line(each.action)
        )
    return hint


def write_beliefs(game: Game, beliefs: Beliefs) -> list[hint_pb2.CardBelief]:
    """The beliefs about hidden cards, as messages."""
    cards = [card["id"] for card in game.cards()]
    return [
        hint_pb2.CardBelief(
            place_name=belief.place,
            card=cards[belief.card],
            expected_copies=belief.expected,
            probability=belief.probability,
        )
        for belief in beliefs.cards
    ]


BELIEFS_TIME = 1 / 10  # At most this share of the time, if beliefs are asked for.

# The time that is kept before a deadline to write the answer and send it: for each legal action,
# and in any case. A search has a low priority, and may have to wait for a processor.
WRITING_SECONDS = 1e-4
MIN_SECONDS = 1e-3  # That a search has in any case.
DEADLINE_SECONDS = 0.1


class CheckedTask(NamedTuple):
    """A task that was checked: a position to search, and what to report of it."""

    task: SearchTask
    sampler: Sampler  # Of the worlds that fit the view.
    actions: tuple[int, ...] | None  # Legal actions to choose from; None for all.


def check(task: SearchTask) -> CheckedTask:
    """A task as one that was checked completely; raises Refusal.

    Checking infers what the view says of hidden cards, which takes up to 20 ms: call it in a thread
    of the search pool.
    """
    sampler, position = _check_view(task)
    return CheckedTask(task, sampler, _read_actions(task.search, task.view, position))


def _check_view(task: SearchTask) -> tuple[Sampler, Position]:
    # A view that was sent may fit no world, or name other seats than decide in its worlds.
    try:
        sharpness = opponent_sharpness(task.search.view)
        sampler = Sampler.of(task.view, task.model and task.model.against(sharpness))
        position = sampler.sample(0)
    except ViewError as error:
        raise wire.inconsistent_view(error, task.view.game.id, f"{SEARCH}.view") from None
    if not set(task.search.view.deciders) <= set(position.deciders):
        rule = f"must be among {list(position.deciders)}, by what is known of the game"
        raise Refusal(
            ErrorReason.ERROR_REASON_INCONSISTENT_VIEW,
            f"{SEARCH}.view.deciders: {rule}",
            fields=[(f"{SEARCH}.view.deciders", ViewError.reason, rule)],
        )
    return sampler, position


def _read_actions(
    search: hint_pb2.Search, view: SeatView, position: Position
) -> tuple[int, ...] | None:
    # The included actions, or else all legal ones, without the excluded ones. Any position that
    # fits the view will do: the legal actions of the seat are the same in all of them.
    if not search.include_actions and not search.exclude_actions:
        return None
    included = _read_legal(search.include_actions, view, position, "include_actions")
    excluded = _read_legal(search.exclude_actions, view, position, "exclude_actions")
    left = (included or set(position.legal(view.seat))) - excluded
    if not left:
        raise invalid_field(
            f"{SEARCH}.exclude_actions", "NO_ACTION_LEFT", "must leave an action to search for"
        )
    return tuple(sorted(left))


def _read_legal(
    messages: Sequence[game_pb2.MatchAction], view: SeatView, position: Position, field: str
) -> set[int]:
    actions = set()
    for i, message in enumerate(messages):
        path = f"{SEARCH}.{field}[{i}]"
        wire.check_game(view.game, message, path)
        try:
            action = wire.read_action(view.game, message)
            position.check(view.seat, action)
        except ActionError as error:
            raise wire.illegal_action(error, view.game, message, path) from None
        actions.add(action)
    return actions


class _End(NamedTuple):
    """When a search must have ended."""

    at: float  # By the monotonic clock; infinite for no limit of time.
    stop_reason: hint_pb2.StopReason  # Why it ends then; unspecified for no limit of time.

    def seconds(self, share: float = 1.0) -> float:
        """A share of the seconds that are left, as a limit; 0 for no limit of time."""
        if self.at == math.inf:
            return 0.0
        return max(MIN_SECONDS, (self.at - time.monotonic()) * share)


def answer(
    task: SearchTask,
    job: SearchJob,
    every: float = 0.0,
    report: Callable[[Report], object] | None = None,
) -> Report:
    """Checks a task, and searches until a limit of the job, or shortly before the task's deadline.

    Returns the final report; meanwhile `report` is called every `every` seconds. Raises Refusal.
    """
    request = check(task)
    search = job.search(
        task.view,
        task.search.seed,
        request.sampler,
        request.actions,
        last_look.SHARE if task.details else 0.0,
        task.temperature,
    )
    end = _end(job, task.deadline, len(search.legal))

    def report_partly() -> None:
        # While it is paused, there is nothing new to report, and a report would take the time of
        # others.
        if report is not None and not job.abandoned and not job.stop.is_paused():
            hint = _write_hint(request, search.result(), PrincipalLines(search))
            report(_report(task, hint, job))

    kept = BELIEFS_TIME if task.search.belief_worlds else 0.0
    search.run(
        iterations=job.limits.iterations,
        seconds=end.seconds(1 - kept),
        stop=job.stop,
        every=every,
        report=report_partly if report else None,
    )
    if job.abandoned:
        return _report(task, hint_pb2.Hint(), job)
    if job.shutting_down and not job.iterations:
        raise shutting_down()
    hint = _final_hint(request, job, search, end)
    by_time = search.stop_reason == StopReason.TIME
    hint.stop_reason = end.stop_reason if by_time else STOP_REASONS[search.stop_reason]
    if search.stop_reason == StopReason.CANCELLED:
        if job.gave_way:
            hint.stop_reason = hint_pb2.STOP_REASON_MEMORY
        if job.shutting_down:
            hint.stop_reason = hint_pb2.STOP_REASON_SHUTDOWN
    return _report(task, hint, job)


def _end(job: SearchJob, deadline: float, legal: int) -> _End:
    seconds = job.limits.seconds
    at = job.began + seconds if seconds else math.inf
    left = deadline - job.began
    last = job.began + max(left - (DEADLINE_SECONDS + WRITING_SECONDS * legal), left / 2)
    if last < at:
        return _End(last, hint_pb2.STOP_REASON_DEADLINE)
    return _End(at, hint_pb2.STOP_REASON_TIME if seconds else hint_pb2.STOP_REASON_UNSPECIFIED)


def _report(task: SearchTask, hint: hint_pb2.Hint, job: SearchJob) -> Report:
    return task.response(
        hint=hint,
        search_time=_duration(time.monotonic() - job.began),
        queue_time=_duration(job.queue_seconds),
        paused_time=_duration(job.paused_seconds),
    )


def _duration(seconds: float) -> Duration:
    duration = Duration()
    duration.FromNanoseconds(round(1e9 * seconds))
    return duration


def _final_hint(request: CheckedTask, job: SearchJob, search: Search, end: _End) -> hint_pb2.Hint:
    result = search.result()
    hint = _write_hint(request, result, PrincipalLines(search) if request.task.details else None)
    if worlds := request.task.search.belief_worlds:

        def interrupted() -> bool:
            return job.stop.hold(end.at) or time.monotonic() >= end.at

        beliefs = search.worlds.beliefs(worlds, request.task.search.seed, interrupted)
        hint.beliefs.extend(write_beliefs(request.task.view.game, beliefs))
        hint.belief_worlds = beliefs.worlds
    return hint


def _write_hint(
    request: CheckedTask, result: Result, lines: PrincipalLines | None
) -> hint_pb2.Hint:
    hint = write_hint(request.task.view, request.task.search.view.version, result, lines)
    if request.sampler.model is not None:
        hint.model = request.sampler.model.name
    return hint
