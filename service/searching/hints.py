"""Hints: a checked hint request, searched and answered in a thread of the search pool.

`service/api/hint_requests.py` checks the messages of callers. This module knows only the result.
"""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from google.protobuf.duration_pb2 import Duration

from ai.principal_lines import PrincipalLines
from ai.results import Result, StopReason
from ai.search import Search
from croupier.v1 import hint_pb2
from engine.game import SeatView
from engine.sampler import Sampler
from service.errors import shutting_down
from service.searching.hint_messages import STOP_REASONS, write_beliefs, write_hint
from service.searching.pool import SearchJob

MAX_COMPARED = 16  # Actions that are compared in sampled worlds.
# At most this share of the iterations, and of the time, is spent on comparing them.
COMPARING_ITERATIONS = 1 / 4
COMPARING_TIME = 1 / 10
BELIEFS_TIME = 1 / 10  # At most this share of the time, if beliefs are asked for.

# The time that is kept before a deadline to write the answer and send it: for each legal action,
# and in any case. A search has a low priority, and may have to wait for a processor.
WRITING_SECONDS = 1e-4
MIN_SECONDS = 1e-3  # That a search has in any case.
DEADLINE_SECONDS = 0.1


class CheckedHintRequest(NamedTuple):
    """A hint request that was checked: a position to search, and what to report of it."""

    view: SeatView
    version: int
    sampler: Sampler  # Of the worlds that fit the view.
    actions: tuple[int, ...] | None  # Legal actions to choose from; None for all.
    seed: int
    belief_worlds: int = 0  # To estimate beliefs from; 0: no beliefs.
    details: bool = True  # Whether the hint evaluates each action, with its line.
    evaluation_share: float = 0.0  # Of the iterations, for the scores of all actions.


class Report(NamedTuple):
    """What a search has found so far, or in the end."""

    hint: hint_pb2.Hint
    search_time: Duration
    queue_time: Duration
    paused_time: Duration


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
    request: CheckedHintRequest,
    job: SearchJob,
    deadline: float = math.inf,
    every: float = 0.0,
    report: Callable[[Report], object] | None = None,
) -> Report:
    """Searches until a limit of the job, or shortly before a deadline; returns the final report.

    `deadline` is a time of the monotonic clock. Meanwhile `report` is called every `every` seconds.
    """
    search = job.search(
        request.view, request.seed, request.sampler, request.actions, request.evaluation_share
    )
    end = _end(job, deadline, len(search.legal))

    def report_partly() -> None:
        # While it is paused, there is nothing new to report, and a report would take the time of
        # others.
        if report is not None and not job.abandoned and not job.stop.is_paused():
            hint = _write_hint(request, search.result(), PrincipalLines(search))
            report(_report(hint, job))

    kept = (COMPARING_TIME if request.details else 0.0) + (
        BELIEFS_TIME if request.belief_worlds else 0.0
    )
    search.run(
        iterations=job.limits.iterations,
        seconds=end.seconds(1 - kept),
        stop=job.stop,
        every=every,
        report=report_partly if report else None,
    )
    if job.abandoned:
        return _report(hint_pb2.Hint(), job)
    if job.shutting_down and not job.iterations:
        raise shutting_down()
    hint = _final_hint(request, job, search, end)
    by_time = search.stop_reason == StopReason.TIME
    hint.stop_reason = end.stop_reason if by_time else STOP_REASONS[search.stop_reason]
    if job.shutting_down and search.stop_reason == StopReason.CANCELLED:
        hint.stop_reason = hint_pb2.STOP_REASON_SHUTDOWN
    return _report(hint, job)


def _end(job: SearchJob, deadline: float, legal: int) -> _End:
    seconds = job.limits.seconds
    at = job.began + seconds if seconds else math.inf
    left = deadline - job.began
    last = job.began + max(left - (DEADLINE_SECONDS + WRITING_SECONDS * legal), left / 2)
    if last < at:
        return _End(last, hint_pb2.STOP_REASON_DEADLINE)
    return _End(at, hint_pb2.STOP_REASON_TIME if seconds else hint_pb2.STOP_REASON_UNSPECIFIED)


def _report(hint: hint_pb2.Hint, job: SearchJob) -> Report:
    spent = (time.monotonic() - job.began, job.queue_seconds, job.paused_seconds)
    return Report(hint, *map(_duration, spent))


def _duration(seconds: float) -> Duration:
    duration = Duration()
    duration.FromNanoseconds(round(1e9 * seconds))
    return duration


def _final_hint(
    request: CheckedHintRequest, job: SearchJob, search: Search, end: _End
) -> hint_pb2.Hint:
    result = search.result()
    if request.details:
        hint = _detailed_hint(request, job, search, result, end)
    else:
        hint = _write_hint(request, result, None)
    if request.belief_worlds:

        def interrupted() -> bool:
            return job.stop.hold(end.at) or time.monotonic() >= end.at

        beliefs = search.worlds.beliefs(request.belief_worlds, request.seed, interrupted)
        hint.beliefs.extend(write_beliefs(request.view.game, beliefs))
        hint.belief_worlds = beliefs.worlds
    return hint


def _detailed_hint(
    request: CheckedHintRequest, job: SearchJob, search: Search, result: Result, end: _End
) -> hint_pb2.Hint:
    lines = PrincipalLines(search)
    compared = [each.action for each in result.actions[:MAX_COMPARED]]
    playouts = int(COMPARING_ITERATIONS * result.iterations)
    share = 0.5 if request.belief_worlds else 1.0
    worlds, shares = lines.compare(compared, playouts, end.seconds(share), job.stop)
    hint = _write_hint(request, result, lines)
    hint.worlds_compared = worlds
    for i, best_share in enumerate(shares):
        hint.actions[i].best_share = best_share
    return hint


def _write_hint(
    request: CheckedHintRequest, result: Result, lines: PrincipalLines | None
) -> hint_pb2.Hint:
    hint = write_hint(request.view, request.version, result, lines)
    if request.sampler.model is not None:
        hint.model = request.sampler.model.name
    return hint
