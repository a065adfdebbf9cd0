"""What goes wrong in a world on purpose: when it comes, what it does, and what it excuses."""

import asyncio
import errno
import math
import random

from tests.simulation import damaging
from tests.support import faulty_disk

UNUSED_SECONDS = 300.0  # So long a server keeps a connection to its database that it does not use.
# Words in lines of the log that follow from what goes wrong on purpose.
EXPLAINED = ("the log", "store", "database", "disk", "search server", "connection")
MEAN_PAUSE = 150.0  # Seconds between two troubles of a kind,
PERIOD, STORM = 900.0, 450.0  # which come in storms of so many seconds.
# In the calm after a storm some come alone, from so many seconds on, and again a little later.
ALONE = (("stops", 640.0), ("database", 770.0))
ALONE_TIMES, ALONE_SECONDS = 3, 40.0
_NO_ROOM = (faulty_disk.WRITE, faulty_disk.EVERY_FILE, errno.ENOSPC, faulty_disk.FAIL, 0, 10**6)


class Troubles:
    """What goes wrong in one world, and has gone wrong there."""

    def __init__(self, world):
        self.world = world
        self.calm_since = 0.0
        self.silent_until = 0.0  # Servers may have connections to the database that are dead.
        self.past = []  # When something went wrong: begins, ends and names.
        self.present = []  # What goes wrong now: begins and names.
        self.outages = []  # When the log took nothing: begins and ends.

    # What it excuses

    def quiet_times(self, besides=()):
        """The times in which nothing went wrong but this, each with its begin and its end."""
        begin, quiet = 60.0, []
        present = ((first, math.inf, name) for first, name in self.present)
        for first, last, name in sorted((*self.past, *present)):
            if name not in besides:
                quiet.append((begin, first))
                begin = max(begin, last + 120.0)  # One trouble may end within another.
        return [*quiet, (begin, self.world.now)]

    def mended_after(self, due, end):
        """When an outage of the log was over in which something was due, if it came alone."""
        known = ("database", "stops")
        for begin, mended in self.outages:
            others = (each for each in self.past if each[2] in known and each[0] != begin)
            if (
                begin <= due <= mended
                and any(first <= begin and end <= last for first, last in self.quiet_times(known))
                and not any(first < end and begin < last + 30.0 for first, last, _ in others)
            ):
                return mended
        return None

    def is_well(self, seconds):
        """Whether nothing has gone wrong for some seconds."""
        return not self.present and self.world.now - self.calm_since > seconds

    def answers(self, seconds):
        """Whether servers have answered for some seconds: all was well, or the log took nothing."""
        if self.world.now < self.silent_until:
            return False
        if self.is_well(60.0 + seconds):
            return True
        since = self.world.log.failing_since
        alone = len(self.present) == 1 and since is not None and self.calm_since < since - 60.0
        return alone and self.world.now - since > seconds + 1.0

    def explains(self, text):
        """Whether what goes wrong on purpose explains a line of the log."""
        dying = self.world.death is not None and self.world.death.explains(text)
        if dying or damaging.WHAT in [name for _, name in self.present]:
            return True
        if "SearchFailure" in text or ("Timeout" in text and self.world.now < self.silent_until):
            return True
        return not self.is_well(120.0) and any(word in text.lower() for word in EXPLAINED)

    # When it comes

    def come(self, end):
        """Lets all of it come until a time; returns the tasks."""
        return [self.world.loop.create_task(each) for each in self._all(end)]

    def _all(self, end):
        calm = end - min(600.0, end / 3)  # So that everything that is owed is there in the end.
        for name, trouble in (
            ("kills", self._kill),
            ("stops", self._stop),
            ("pauses", self._pause),
            ("cuts", self._cut),
            ("database", self._trouble_database),
            ("losses", self._lose),
            ("searches", self._trouble_searches),
            ("upgrades", self._upgrade),
        ):
            if name in self.world.faults and (self.world.forgets or name != "losses"):
                rng = random.Random(f"{name}/{self.world.seed}")
                # Some kinds are rare, so that what others do lasts; a few kinds come often.
                pause = MEAN_PAUSE * rng.choice((0.7, 1, 1, 10)) * (0.3 if self.world.few else 1)
                yield self._now_and_then(calm, name, trouble, pause, rng)
        yield self._come_alone(calm, random.Random(f"alone/{self.world.seed}"))

    async def _come_alone(self, until, rng):
        # So that nothing else excuses what follows.
        for begin in range(0, int(until), int(PERIOD)):
            for name, after in ALONE:
                at = begin + after
                if at > until or name not in self.world.faults:
                    continue
                trouble = self._stop if name == "stops" else self._fill
                for number in range(ALONE_TIMES):
                    await asyncio.sleep(max(0.0, at + number * ALONE_SECONDS - self.world.now))
                    await self._go_wrong(name, trouble, rng)

    async def _now_and_then(self, until, name, trouble, pause, rng):
        while True:
            at = self.world.now + rng.expovariate(1 / pause)
            if at % PERIOD > STORM:  # So long all is well, and what is late is late.
                at += PERIOD - at % PERIOD
            if at > until:
                return
            await asyncio.sleep(at - self.world.now)
            await self._go_wrong(name, trouble, rng)

    async def _go_wrong(self, name, trouble, rng):
        began = self.world.now
        self.present.append((began, name))
        await trouble(rng)
        self.present.remove((began, name))
        self.calm_since = self.world.now
        self.past.append((began, self.world.now, name))

    # What it does

    async def _choose_machine(self, rng):
        # Often when a bot thinks there, so that another server must take its turn over.
        machine = rng.choice(self.world.machines)
        for _ in range(rng.choice((0, 100))):
            if self.world.search.bots.think_at(machine.owner):
                break
            await asyncio.sleep(0.1)
        return machine

    async def _kill(self, rng):
        machine = await self._choose_machine(rng)
        if machine.up:
            self.world.counts["kills"] += 1
            machine.kill(power=self.world.store == "sqlite" and rng.random() < 0.5)
            await asyncio.sleep(rng.expovariate(1 / 5))
            await machine.start()

    async def _stop(self, rng):
        machine = await self._choose_machine(rng)
        if machine.up:
            self.world.counts["stops"] += 1
            await machine.stop()
            await asyncio.sleep(rng.expovariate(1 / 5))
            await machine.start()

    async def _upgrade(self, rng):
        # One in each storm, so that there are calm times with two releases.
        machines = self.world.machines
        newest = max((each.newer_at for each in machines if not each.old), default=-STORM)
        machine = rng.choice([each for each in machines if each.old] or [None])
        if machine is not None and machine.up and self.world.now > newest + STORM:
            self.world.counts["upgrades"] += 1
            await machine.stop()
            machine.newer_at = self.world.now
            self.world.tell(f"{machine.name} has the newer release")
            await machine.start()

    async def _pause(self, rng):
        machine = rng.choice(self.world.machines)
        seconds = rng.expovariate(1 / 4)
        if machine.up and rng.random() < 0.4:
            await self._starve(machine, rng)
        elif machine.up:
            self.world.counts["pauses"] += 1
            self.world.tell(f"{machine.name} stands still for {seconds:.1f} s")
            self.world.loop.hold_up(machine.owner, seconds)
            await asyncio.sleep(seconds + 1)

    async def _starve(self, machine, rng):
        self.world.counts["pauses"] += 1
        self.world.tell(f"{machine.name} gets a processor now and then")
        until = self.world.now + 30.0
        while machine.up and self.world.now < until:
            self.world.loop.hold_up(machine.owner, rng.expovariate(1 / 0.3))
            await asyncio.sleep(rng.expovariate(1 / 0.5))
        await asyncio.sleep(2)

    async def _cut(self, rng):
        connections = self.world.network.open_connections()
        share = rng.choice((0.1, 0.5, 1.0))
        half_open = rng.random() < 0.3
        self.world.counts["cuts"] += 1
        how = "fall silent" if half_open else "are cut"
        self.world.tell(f"{share:.0%} of the connections {how}")
        for connection in connections:
            if rng.random() < share:
                connection.half_open() if half_open else connection.cut()
        await asyncio.sleep(0)

    async def _trouble_database(self, rng):
        self.world.counts["faults of the store"] += 1
        if self.world.store == "sqlite":
            await self._trouble_disk(rng)
            return
        database = self.world.database
        what = rng.choice(("fail-over", "lost", "half open", "answers", "full", "deaf", "slow"))
        self.world.tell(f"the database: {what}")
        if what == "fail-over":
            await self._fail_over(rng)
        elif what == "lost":
            database.lose_connections(rng.choice((0.5, 1.0)))
        elif what == "half open":
            database.half_open(rng.choice((0.3, 1.0)))
            await asyncio.sleep(30)
            self.silent_until = self.world.now + UNUSED_SECONDS + 20.0
        elif what == "answers":
            database.loses_answers = 0.1
            await asyncio.sleep(20)
            database.loses_answers = 0.0
            self.silent_until = self.world.now + UNUSED_SECONDS + 20.0
        elif what == "full":
            await self._fill(rng)
        elif what == "deaf":
            database.loses_notifications = 0.7
            await asyncio.sleep(60)
            database.loses_notifications = database.deaf
        else:
            database.latency = 0.3
            await asyncio.sleep(40)
            database.latency = database.usual

    async def _fail_over(self, rng, standby=None):
        database = self.world.database
        seconds = rng.expovariate(1 / (0.1 if standby and self.world.ticks else 3))
        database.fail_over(seconds, rng.choice((0.0, 0.3)), standby)
        await asyncio.sleep(10)
        for session in list(database.sessions.values()):
            if session.standby:
                session.lose()

    async def _lose(self, rng):
        standby = await self._fall_behind(rng)
        if standby is not None:
            self.world.tell("the database: fail-over to a standby that lacks actions")
            await self._fail_over(rng, standby)
        self.world.database.latency = self.world.database.usual

    async def _fall_behind(self, rng):
        # A standby that lacks some of the last actions. If the database is slow, what a server
        # writes after an action may come when another server has taken over.
        self.world.database.latency = rng.choice((self.world.database.usual, 0.3))
        for _ in range(60 if self.world.ticks else 30):
            if self.world.ticks:
                await asyncio.sleep(1.0 - self.world.now % 1.0)
            standby = self.world.database.primary.copy()
            await asyncio.sleep(rng.expovariate(5.0 if self.world.ticks else 1.0))
            lost = self.world.database.lost_with(standby)
            if lost:
                self.world.counts["losses"] += 1
                self.world.tell(f"the standby lacks actions of {', '.join(sorted(lost))}")
                names = {f"matches/{each}" for each in lost}
                self.world.lost |= names  # Also those at which nobody sits any more.
                for table in self.world.running:
                    if table.name in names:
                        table.lose()
                return standby
        return None

    async def _fill(self, rng):
        # The log takes nothing, often at the moment when a clock runs out while a bot thinks.
        for _ in range(rng.choice((0, 60))):
            if self.world.search.bots.outlast_a_clock(0.5):
                break
            await asyncio.sleep(0.4)
        began, seconds = self.world.now, rng.expovariate(1 / 15)
        if self.world.store == "sqlite":
            self.world.disk.fail(*_NO_ROOM)
        else:
            self.world.database.failing_since = began
        await asyncio.sleep(seconds)
        if self.world.store == "sqlite":
            self.world.disk.mend()
        else:
            self.world.database.failing_since = None
        self.outages.append((began, self.world.now))

    async def _trouble_disk(self, rng):
        disk = self.world.disk
        what = rng.choice(("EIO", "ENOSPC", "sync", "power", "full"))
        self.world.tell(f"the disk: {what}")
        if what == "full":
            await self._fill(rng)
            return
        if what == "power":
            if not self.world.machines[0].up:
                return
            self._lost_power = False
            disk.doom(rng.randrange(8))
            for _ in range(60):
                await asyncio.sleep(1)
                if self._lost_power:
                    await self.world.machines[0].start()
                    return
            disk.mend()
            return
        calls = faulty_disk.SYNC if what == "sync" else faulty_disk.WRITE
        error = errno.ENOSPC if what == "ENOSPC" else errno.EIO
        times = rng.choice((1, 3, 1000))
        disk.fail(calls, faulty_disk.EVERY_FILE, error, faulty_disk.FAIL, rng.randrange(5), times)
        await asyncio.sleep(rng.expovariate(1 / 8))
        disk.mend()

    def lose_power(self):
        """The power is gone in the middle of a write."""
        # What comes after is told later, when the writer has returned.
        machine = self.world.machines[0]
        if machine.up:
            machine.kill(power=True)
            self._lost_power = True

    async def _trouble_searches(self, rng):
        search = self.world.search
        search.dead, search.dying, search.mean = rng.choice(
            ((0.5, 0.0, search.usual), (0.0, 0.5, search.usual), (0.2, 0.2, 1.5), (0.0, 0.1, 20.0))
        )
        told = f"{search.dead:.0%} find no server, {search.dying:.0%} lose theirs"
        self.world.tell(f"searches: {told}")
        await asyncio.sleep(60)
        search.dead, search.dying, search.mean = 0.0, 0.0, search.usual
