"""Deaths of background work: in each world one piece of work dies, by an error or without a word.

Every name of work has both deaths, some minutes after the world has begun. Nobody may suffer from
it, but for those who wait for this piece; and an operator is told of it.
"""

import asyncio
import random
import types
from contextlib import suppress

from service.common import tasks
from tests.simulation import STORES
from tests.simulation.network import LOST

WAYS = ("fails", "ends")
# That no world has; tests of real servers let it die.
ELSEWHERE = ("callback", "due time", "erased names", "log lines", "loop lag", "metrics port")
ELSEWHERE += ("search process", "signed tokens", "writer")
THREADS = ("store-reader", "search-bot")  # Those that wait for work.
NAMES = (*(name for name in tasks.NAMES if name not in ELSEWHERE), *THREADS)
IN_POSTGRESQL = ("commit", "notices", "notify", "read", "watched match")  # And in no other log.
IN_SQLITE = ("retention", "store-reader")
WAITED_FOR = "reports"  # By one call, which fails with it.
ADMITTING = "admitting"  # Of one connection, which is closed.
# Without which it does not begin.
FAULTS = {"lease": ["stops"], "search": ["searches"], "search-bot": ["searches"]}
WORLDS = 6  # That are tried until it begins.
NEVER = "it never begins"
BEGIN, END = 50.0, 100.0  # When it dies, in seconds.
STEPS = (0, 0, 1, 2)  # After which spawned work dies; what ends before lets the next die earlier.


def stores_of(name):
    """The logs with which there is work of a name."""
    if name in IN_POSTGRESQL:
        return ("postgresql",)
    return ("sqlite",) if name in IN_SQLITE else STORES


def drawn(world):
    """The death in a world in which nothing else goes wrong, or None."""
    rng = random.Random(f"death/{world.seed}")
    if world.faults or rng.random() < 0.4:
        return None
    names = [each for each in NAMES if each not in FAULTS and world.store in stores_of(each)]
    return Death(f"{rng.choice(names)}/{rng.choice(WAYS)}", may_live=True)


class PlantedDeath(Exception):
    """What work dies of."""


def _end(work, waited, loop):
    # As `close`, which does not reach an asynchronous generator that work waits for (Python 3.11):
    # what that waits for says so.
    if type(waited) is asyncio.Future:
        waited.__init__(loop=loop)
        waited.set_exception(GeneratorExit())
        with suppress(GeneratorExit, StopIteration):
            work.send(None)
    work.close()


class Death:
    """The death of the first piece of work of a name that goes on, or begins, at some time."""

    def __init__(self, told, *, may_live=False):
        """`told` is the name of the work, and a way; `may_live` says that it need not begin."""
        self._may_live = may_live
        self.name, self._way = told.split("/")
        rng = random.Random(f"death/{told}")
        self._at, self._steps = rng.uniform(BEGIN, END), rng.choice(STEPS)
        self.died_at = None
        self._how = ""
        self._began_again = False
        self._waited = self._woken = None  # What work waits for, and what was cancelled to wake it.
        self._tasks, self._count = None, 0  # Whose work it was, and how much of it had failed.
        for method in (tasks.Tasks.keep, tasks.Tasks.spawn, tasks.Tasks.finish):
            setattr(tasks.Tasks, method.__name__, self._planted(method))
        tasks.Tasks.attempt = self._planted_call(tasks.Tasks.attempt, lambda _, name, *__: name)
        prefix = "_thread_name_prefix"
        tasks.Threads.do = self._planted_call(
            tasks.Threads.do, lambda owner, *_: getattr(owner._executor, prefix)
        )

    def _planted(self, begin):
        def planted(owner, name, work, *args, **options):
            if name != self.name:
                return begin(owner, name, work, *args, **options)
            return begin(owner, name, self._dying, owner, begin.__name__, work, *args, **options)

        return planted

    def _planted_call(self, call, name_of):
        # As if the function, or the thread that calls it, came to an end before.
        def planted(owner, *args, **options):
            at = next(number for number, each in enumerate(args) if callable(each))
            if name_of(owner, *args) == self.name:
                self._began_again |= self.died_at is not None
                if self._is_due(asyncio.get_running_loop()):
                    self._die(asyncio.get_running_loop(), owner, call.__name__)
                    args = (*args[:at], self._fail)
            return call(owner, *args, **options)

        return planted

    def _fail(self):
        if self._way == "fails" or self.name in (*THREADS, ADMITTING):  # Which end so alone.
            raise PlantedDeath("on purpose")

    def _is_due(self, loop):
        return loop.time() > self._at and self.died_at is None

    def _die(self, loop, owner, how):
        self.died_at, self._how = loop.time(), how
        if isinstance(owner, tasks.Tasks):
            self._tasks, self._count = owner, owner.failures()[self.name]

    async def _dying(self, owner, how, work, *args):
        loop, kept = asyncio.get_running_loop(), how == "keep"
        self._began_again |= self.died_at is not None
        if kept:
            loop.call_at(self._at, self._wake)
        elif self._is_due(loop) and self._steps < 0:
            self._die(loop, owner, how)
            return self._fail()
        return await self._drive(owner, how, work(*args), 0 if kept else self._steps, loop)

    def _wake(self):
        # What waits for ever dies all the same.
        if self._waited is not None and self._woken is None:
            self._woken = self._waited
            self._woken.cancel()

    @types.coroutine
    def _drive(self, owner, how, work, steps, loop):
        # As `await work`, which dies in the place of what it has waited for.
        try:
            waited = self._waited = work.send(None)
            while True:
                error = None
                try:
                    value = yield waited
                except BaseException as raised:
                    error = raised
                steps -= 1
                due = self._is_due(loop) and steps < 0
                if due and (error is None or waited is self._woken):
                    self._die(loop, owner, how)
                    if self._way == "ends":
                        _end(work, waited, loop)
                        return None
                    error = PlantedDeath("on purpose")
                waited = self._waited = work.send(value) if error is None else work.throw(error)
        except StopIteration as end:
            if self._is_due(loop):
                self._steps -= 1
            return end.value

    def explains(self, text):
        """Whether a line of the log follows from it."""
        ended = text.startswith(self.name) and text.endswith(" has ended")
        told = self.name == WAITED_FOR and "TaskFailedError" in text
        return self.died_at is not None and (ended or told or "PlantedDeath" in text)

    def tells(self, error):
        """Whether who waits for it has this error."""
        told = {WAITED_FOR: error.code == "INTERNAL", ADMITTING: error.details == LOST}
        return self.died_at is not None and told.get(self.name, False)

    def missed(self, story):
        """What is missing, now that the world has ended."""
        if self.died_at is None:
            yield from () if self._may_live else (NEVER,)
            return
        if not self._began_again and self._how in ("keep", "finish"):
            yield "it is not begun again"
        # A piece of work that ends without a word is as one that is done.
        silent = self._way == "ends" and self._how not in ("keep", "finish")
        if silent or self._tasks is None:  # Whoever waits for a thread is told.
            return
        # What its code has caught itself is told, and counted, by another name.
        caught = any("PlantedDeath" in line for line in story)
        if self._tasks.failures()[self.name] == self._count and not caught:
            yield "it is not counted"
        if not (caught or any(f"logs: {self.name}" in line for line in story)):
            yield "it is not in the log"
        if self.name in self._tasks.down():
            yield "it is still down"
