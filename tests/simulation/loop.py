"""An event loop whose time is simulated, and whose order of ready callbacks follows a seed.

Time passes only where it is said to: each callback takes `STEP_SECONDS`, each look at a clock of
the processor `LOOK_SECONDS`, and when nothing is ready the time is that of the next timer. So an
hour of waiting costs nothing, and the same seed gives the same run.

asyncio promises that callbacks run in the order in which they were registered. Here, those that are
ready in the same turn run in a random order: in another run of a real server, messages and answers
of threads would have come in another order.
"""

import asyncio
import contextlib
import contextvars
import heapq
import random
import traceback
from asyncio import events

STEP_SECONDS = 20e-6
LOOK_SECONDS = 5e-6
EXECUTOR_SECONDS = 200e-6  # Until a thread has done what it was asked for.
EPOCH = 1_700_000_000.0  # The time when a run begins, in seconds since 1970.


_owner = contextvars.ContextVar("owner")


class Owner:
    """A process or a device of the world. Each callback belongs to that of its context.

    What belongs to an owner that is dead never runs.
    """

    def __init__(self, name):
        self.name = name
        self.alive = True
        self.died_at = None
        self.held_up = None  # While it stands still: the callbacks that would have run.
        self.old = False  # Whether it is a server of the release before,
        self.to_come = False  # or of one to come.

    def __repr__(self):
        return self.name


class _Handle(events.Handle):
    __slots__ = ("owner",)


class _TimerHandle(events.TimerHandle):
    __slots__ = ("owner",)


class Deadlock(Exception):
    """Nothing will ever happen any more."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs one world."""

    def __init__(self, seed):
        super().__init__()
        self.now = 0.0
        self.turns = 0
        self._timers = 0
        self.world = Owner("world")
        self.owner = self.world  # Of the callback that runs.
        self._order = random.Random(f"order of callbacks/{seed}")
        self._cancelled_timers = 0
        self.set_exception_handler(self._note_failure)
        self.failures = []  # What no task and no caller has taken: each is a fault of the code.

    def time(self):
        return self.now

    def look(self):
        """The time on a clock of the processor, which takes a little to look at."""
        self.now += LOOK_SECONDS
        return self.now

    def _note_failure(self, loop, context):
        error = context.get("exception")
        frames = traceback.extract_tb(error.__traceback__)[-1:] if error is not None else []
        where = "".join(f" in {frame.name}, line {frame.lineno}" for frame in frames)
        self.failures.append(f"{context['message']}: {error!r}{where}")

    # Callbacks

    def call_soon(self, callback, *args, context=None):
        if context is None:
            context = contextvars.copy_context()
        handle = _Handle(callback, args, self, context)
        handle.owner = context.get(_owner, self.world)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_at(self, when, callback, *args, context=None):
        if context is None:
            context = contextvars.copy_context()
        timer = _TimerHandle(when, callback, args, self, context)
        timer.owner = context.get(_owner, self.world)
        self._timers += 1
        heapq.heappush(self._scheduled, (when, self._timers, timer))
        timer._scheduled = True
        return timer

    def call_later(self, delay, callback, *args, context=None):
        return self.call_at(self.now + delay, callback, *args, context=context)

    def call_at_as(self, owner, when, callback, *args):
        """As `call_at`, for what another owner will do."""
        return self.call_at(when, callback, *args, context=_context_of(owner))

    def create_task(self, coroutine, *, name=None, context=None):
        # Tasks are called after their owners, so that those of an owner can be found.
        if context is not None and _owner not in context:
            context.run(_owner.set, self.owner)
        owner = self.owner if context is None else context[_owner]
        return super().create_task(coroutine, name=name or owner.name, context=context)

    def tasks_of(self, owner):
        """The tasks of an owner that have not ended."""
        return [task for task in asyncio.all_tasks(self) if task.get_name() == owner.name]

    def create_task_as(self, owner, coroutine):
        """As `create_task`, for another owner, and in an empty context."""
        return self.create_task(coroutine, context=_context_of(owner))

    def _timer_handle_cancelled(self, handle):
        self._cancelled_timers += 1
        if self._cancelled_timers > 1000 and 2 * self._cancelled_timers > len(self._scheduled):
            self._scheduled = [each for each in self._scheduled if not each[2]._cancelled]
            heapq.heapify(self._scheduled)
            self._cancelled_timers = 0

    def run_in_executor(self, executor, function, *args):
        """Calls a function, as a thread would, some time later and all at once."""
        outcome = self.create_future()
        self.call_later(EXECUTOR_SECONDS, _call, outcome, function, args)
        return outcome

    async def connect_accepted_socket(self, protocol_factory, sock):
        """Hands over an accepted connection, which is its own transport, to a protocol."""
        protocol = protocol_factory()
        sock.begin(protocol)
        return sock, protocol

    # The turns

    def _run_once(self):
        ready, scheduled = self._ready, self._scheduled
        while scheduled and scheduled[0][2]._cancelled:
            heapq.heappop(scheduled)
            self._cancelled_timers -= 1
        if not ready:
            if not scheduled:
                raise Deadlock
            self.now = max(self.now, scheduled[0][0])
        while scheduled and scheduled[0][0] <= self.now:
            ready.append(heapq.heappop(scheduled)[2])
        batch = list(ready)
        ready.clear()
        if len(batch) > 1:
            self._order.shuffle(batch)
        self.turns += 1
        for handle in batch:
            if handle._cancelled:
                continue
            owner = handle.owner
            if not owner.alive:
                continue
            if owner.held_up is not None:
                owner.held_up.append(handle)
                continue
            self.now += STEP_SECONDS
            self.owner = owner
            handle._run()
        self.owner = self.world

    def hold_up(self, owner, seconds):
        """Lets an owner stand still, as a process does that gets no processor."""
        if owner.held_up is None:
            owner.held_up = []
            self.call_at_as(self.world, self.now + seconds, self._let_go, owner)

    def _let_go(self, owner):
        held, owner.held_up = owner.held_up, None
        self._ready.extend(held)

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        pass


def _context_of(owner):
    context = contextvars.Context()
    context.run(_owner.set, owner)
    return context


def _call(outcome, function, args):
    if outcome.cancelled():
        # A thread does not notice that nobody waits for it.
        with contextlib.suppress(Exception):
            function(*args)
        return
    try:
        result = function(*args)
    except Exception as error:
        outcome.set_exception(error)
    else:
        if not outcome.cancelled():
            outcome.set_result(result)
