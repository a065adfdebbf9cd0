"""Deaths of background work: in each world one piece of work dies, by an error or without a word.

Every name of work has both deaths, some minutes after the world has begun. Nobody may suffer from
it, but for those who wait for this piece; and an operator is told of it.
"""

import asyncio
import random
import types

from service.common import tasks

WAYS = ("fails", "ends")
NAMES = tasks.NAMES
BEGIN, END = 50.0, 100.0  # When it dies, in seconds.
STEPS = (0, 0, 1, 2)  # After which spawned work dies, if it has not ended.


class PlantedDeath(Exception):
    """What work dies of."""


class Death:
    """The death of the first piece of work of a name that goes on, or begins, at some time."""

    def __init__(self, told):
        """`told` is the name of the work, and a way."""
        self.name, self._way = told.split("/")
        rng = random.Random(f"death/{told}")
        self._at, self._steps = rng.uniform(BEGIN, END), rng.choice(STEPS)
        self.died_at = None
        self._began_again = False
        self._waited = self._woken = None  # What work waits for, and what was cancelled to wake it.
        self._tasks, self._count = None, 0  # Whose work it was, and how much of it had failed.
        for method in (tasks.Tasks.keep, tasks.Tasks.spawn):
            setattr(tasks.Tasks, method.__name__, self._planted(method))

    def _planted(self, begin):
        def planted(owner, name, work, *args, **options):
            if name != self.name:
                return begin(owner, name, work, *args, **options)
            return begin(owner, name, self._dying, owner, begin.__name__, work, *args, **options)

        return planted

    async def _dying(self, owner, how, work, *args):
        loop, kept = asyncio.get_running_loop(), how == "keep"
        self._began_again |= self.died_at is not None
        if kept:
            loop.call_at(self._at, self._wake)
        return await self._drive(owner, work(*args), 0 if kept else self._steps, loop)

    def _wake(self):
        # What waits for ever dies all the same.
        if self._waited is not None and self._woken is None:
            self._woken = self._waited
            self._woken.cancel()

    @types.coroutine
    def _drive(self, owner, work, steps, loop):
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
                due = loop.time() > self._at and steps < 0 and self.died_at is None
                if due and (error is None or waited is self._woken):
                    self.died_at, self._tasks = loop.time(), owner
                    self._count = owner.failures()[self.name]
                    if self._way == "ends":
                        work.close()
                        return None
                    error = PlantedDeath("on purpose")
                waited = self._waited = work.send(value) if error is None else work.throw(error)
        except StopIteration as end:
            return end.value

    def explains(self, text):
        """Whether a line of the log follows from it."""
        ended = self.name in tasks.KEPT and text == f"{self.name} has ended"
        return self.died_at is not None and (ended or "PlantedDeath" in text)

    def missed(self, story):
        """What is missing, now that the world has ended."""
        if self.died_at is None:
            yield "it never begins"
            return
        kept = self.name in tasks.KEPT
        # A piece of work that ends without a word is as one that is done.
        if kept or self._way == "fails":
            if self._tasks.failures()[self.name] == self._count:
                yield "it is not counted"
            if not any(f"logs: {self.name}" in line for line in story):
                yield "it is not in the log"
        if not self._began_again:
            yield "it is not begun again"
        if self.name in self._tasks.down():
            yield "it is still down"
