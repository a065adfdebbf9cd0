"""Jobs: the writes that a log is asked for, gathered for one commit.

A commit costs more than an entry of it. In SQLite, the writer's thread and the event loop take the
interpreter from each other each time that it wakes; in PostgreSQL, a statement of ten entries takes
less than twice as long as one of two. So the loop gathers jobs before it hands them over, as long
as others keep coming. It costs little: a turn of a loop that has nothing else to do takes some
microseconds.

| state | a job comes | a turn of the loop | a commit ends |
|---|---|---|---|
| empty | alone: it is handed over at once; else: gathering, `GATHER_TURNS` left | | |
| gathering | it joins | a job has joined: `GATHER_TURNS` left; else: one less | |
| gathering, none left or `MAX_GATHER` jobs | | all are handed over: committing | |
| committing | it waits | | none waits: empty; else: gathering, `GATHER_TURNS` left |

A job is alone if no other is unanswered and the last commit had one job. So a single caller never
waits for others, and the first of many callers waits for them only from their second job on. What
comes during a commit waits until it ends, and a little longer for those who were answered then:
otherwise the callers would fall into two halves, which take turns.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from service.common.errors import store_unavailable
from service.store.chain import Entry
from service.store.interface import Head, MatchStatus

MAX_GATHER = 32
GATHER_TURNS = 16  # Turns of the event loop, one after the other, that bring no job.
MAX_UNANSWERED = 8192  # Beyond it the disk is too slow for what is asked, and callers are told so.


class Append(NamedTuple):
    """Add an entry if this is the newest version of the match, as `Store.append` says."""

    future: "asyncio.Future[Any]"
    match_id: str
    head: Head
    entry: Entry
    status: MatchStatus
    on_added: Callable[[], None] | None


class Job(Protocol):
    """A write that a log is asked for."""

    @property
    def future(self) -> "asyncio.Future[Any] | None":
        """Where its answer goes, if somebody waits for it."""


_Job = TypeVar("_Job", bound=Job)


class JobGatherer(Generic[_Job]):
    """Gathers the jobs of one event loop, and answers them."""

    def __init__(self, hand_over: Callable[[list[_Job]], None]) -> None:
        """`hand_over` gives jobs to the log."""
        self._hand_over = hand_over
        self._gathered: list[_Job] = []
        self._committing = 0  # How many jobs are with the log.
        self._last_commit = 1  # How many jobs it had.

    def add(self, job: _Job) -> "asyncio.Future[Any]":
        """Adds a job that has a future; returns it. Raises Refusal if too many are unanswered."""
        assert job.future is not None
        if len(self._gathered) + self._committing >= MAX_UNANSWERED:
            raise store_unavailable()
        self._gathered.append(job)
        if not self._committing and len(self._gathered) == 1:
            if self._last_commit == 1:
                self.flush()
            else:
                self._gather()
        return job.future

    def _gather(self) -> None:
        asyncio.get_running_loop().call_soon(self._turn, len(self._gathered), GATHER_TURNS)

    def _turn(self, count_before: int, turns_left: int) -> None:
        count = len(self._gathered)
        turns_left = turns_left - 1 if count == count_before else GATHER_TURNS
        if turns_left and count < MAX_GATHER:
            asyncio.get_running_loop().call_soon(self._turn, count, turns_left)
        else:
            self.flush()

    def flush(self) -> None:
        """Hands over what is gathered."""
        gathered, self._gathered = self._gathered, []
        if gathered:
            self._committing += len(gathered)
            self._hand_over(gathered)

    def answer(self, jobs: Sequence[_Job], answers: Sequence[Any]) -> None:
        """Gives the answers of one commit, or exceptions, to those who wait for its jobs."""
        self._last_commit = len(jobs)
        self._committing -= len(jobs)
        if self._gathered and not self._committing:
            self._gather()
        for job, answer in zip(jobs, answers, strict=True):
            if job.future is None or job.future.done():
                continue
            if isinstance(answer, Exception):
                job.future.set_exception(answer)
            else:
                job.future.set_result(answer)
