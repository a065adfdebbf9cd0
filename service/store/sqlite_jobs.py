"""What the writer of the SQLite log is asked to do, and how jobs are gathered for one commit.

Each time that the writer's thread wakes, it and the event loop take the interpreter from each
other, and that costs more than to write an entry. So the loop gathers jobs before it hands them to
the writer, as long as others keep coming. It costs little: a turn of a loop that has nothing else
to do takes some microseconds.

| state | a job comes | a turn of the loop |
|---|---|---|
| empty | alone: it is handed over at once; else: gathering, `GATHER_TURNS` left | |
| gathering | it joins | a job has joined: `GATHER_TURNS` left; else: one less |
| gathering, none left or `MAX_GATHER` jobs | | all are handed over: empty |

A job is alone if no other is unanswered and the last commit had one job. So a single caller never
waits for others, and the first of many callers waits for them only from their second job on.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from service.errors import store_unavailable
from service.store.interface import Entry, Header, MatchStatus

MAX_GATHER = 32
GATHER_TURNS = 16  # Turns of the event loop, one after the other, that bring no job.
MAX_UNANSWERED = 8192  # Beyond it the disk is too slow for what is asked, and callers are told so.


class Append(NamedTuple):
    """Add an entry if the match has exactly `version` of them."""

    future: "asyncio.Future[Any]"
    match_id: str
    version: int
    entry: Entry
    status: MatchStatus
    on_added: Callable[[], None] | None


class Create(NamedTuple):
    """Add a match."""

    future: "asyncio.Future[Any]"
    header: Header
    status: MatchStatus

    @property
    def match_id(self) -> str:
        """The id of the match."""
        return self.header.match_id


class Work(NamedTuple):
    """Call a function with the connection that writes."""

    future: "asyncio.Future[Any] | None"
    work: Callable[[sqlite3.Connection], Any]


Job: TypeAlias = Append | Create | Work


class JobGatherer:
    """Gathers the jobs of one event loop, and answers them."""

    def __init__(self, hand_over: Callable[[list[Job]], None]) -> None:
        """`hand_over` gives jobs to the writer."""
        self._hand_over = hand_over
        self._gathered: list[Job] = []
        self._unanswered = 0  # Gathered, or with the writer.
        self._last_commit = 1  # How many jobs it had.

    def add(self, job: Job) -> "asyncio.Future[Any]":
        """Adds a job that has a future; returns it. Raises Refusal if too many are unanswered."""
        assert job.future is not None
        if self._unanswered >= MAX_UNANSWERED:
            raise store_unavailable()
        self._unanswered += 1
        self._gathered.append(job)
        if self._unanswered == self._last_commit == 1:
            self.flush()
        elif len(self._gathered) == 1:
            job.future.get_loop().call_soon(self._turn, 1, GATHER_TURNS)
        return job.future

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
            self._hand_over(gathered)

    def answer(self, jobs: list[Job], answers: list[Any]) -> None:
        """Gives the answers of one commit, or exceptions, to those who wait for its jobs."""
        self._last_commit = len(jobs)
        self._unanswered -= len(jobs)
        for job, answer in zip(jobs, answers, strict=True):
            if job.future is None or job.future.done():
                continue
            if isinstance(answer, Exception):
                job.future.set_exception(answer)
            else:
                job.future.set_result(answer)
