"""A world: servers on one log, their clients, what goes wrong, and the story of a run."""

import asyncio
import errno
import hashlib
import logging
import math
import os
import random
import tempfile
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path

from service.store import sqlite_tables
from tests.simulation import (
    FAULTS,
    MEMORY,
    STORES,
    damaging,
    postgresql,
    postgresql_connections,
    replaced,
    restoring,
    searching,
    sqlite,
    story,
)
from tests.simulation import network as networks
from tests.simulation.answers import Answers
from tests.simulation.bots import LONG_SECONDS
from tests.simulation.callers import CALLERS, MISERLY
from tests.simulation.clients import GAMES, JUDGES, KEYS
from tests.simulation.course import etag_at
from tests.simulation.inhabitants import KINDS, WEIGHTS, Inhabitants
from tests.simulation.loop import EPOCH, SimulatedLoop
from tests.simulation.machines import Machine
from tests.support import faulty_disk

OPERATOR = "the-operator-of-a-simulated-world"
UNUSED_SECONDS = 300.0  # So long a server keeps a connection to its database that it does not use.
# Words in lines of the log that follow from what goes wrong on purpose.
EXPLAINED = ("the log", "store", "database", "disk", "search server", "connection")
MEAN_PAUSE = 150.0  # Seconds between two troubles of a kind,
PERIOD, STORM = 900.0, 450.0  # which come in storms of so many seconds.
# In the calm after a storm some come alone, from so many seconds on, and again a little later.
ALONE = (("stops", 640.0), ("database", 770.0))
ALONE_TIMES, ALONE_SECONDS = 3, 40.0


class Violation(Exception):
    """The product has broken a promise."""


class World:
    """Everything of one run."""

    def __init__(self, seed, *, hours=1.0, matches=8, faults=None, store=None, pace=6.0):
        """Runs for some simulated hours with so many matches at a time, at the speed of people.

        What goes wrong is as `faults` say; None: all of them, in some worlds only two, or none.
        """
        self.death = None  # That of some background work.
        self.seed, self.hours, self.matches, self.pace = seed, hours, matches, pace
        swarm = random.Random(f"faults/{seed}")
        # Where few kinds of faults come, what each of them does is seldom excused by another.
        # Where none come, nothing is.
        some = swarm.sample(FAULTS, swarm.choice((0, 2, 2, len(FAULTS), len(FAULTS))))
        self.faults = frozenset(some if faults is None else faults)
        self.few = len(self.faults) <= len(FAULTS) // 2
        self.rng = random.Random(f"world/{seed}")
        drawn = self.rng.choice(STORES)  # Also if it is given, so that the rest is the same.
        self.store = store or drawn
        self.loop = SimulatedLoop(seed)
        self.story, self.counts = [], Counter()
        self.violations = []
        self.calm_since = 0.0
        self.silent_until = 0.0  # Servers may have connections to the database that are dead.
        self.troubled = []  # When something went wrong on purpose: begins, ends and names.
        self.present = []  # What goes wrong now: begins and names.
        self.live = 3 + matches // 2
        self.running = []  # Tables.
        self._rules = {}  # The versions of the rules of matches.
        self.sent = defaultdict(list)  # What clients have sent, by the name of the match.
        self.lost = set()  # The names of the matches of which the log has lost actions.
        self.called = set()  # The methods that somebody has called.
        self.unreadable = set()  # The ids of those that no server can read.
        self.outages = []  # When the log took nothing: begins and ends.
        self._tune(random.Random(f"tuning/{seed}"))
        self._records = _Records(self)

    epoch, operator_token = EPOCH, OPERATOR

    @property
    def skew(self):
        """The seconds by which two clocks may differ, of servers or that of the world."""
        clocks = [each.clock for each in self.machines]
        errors = [0, *(each.error for each in clocks)]
        ticks = max(each.tick for each in clocks)
        return 0.01 + (max(errors) - min(errors) + ticks) / 1000 + 4e-5 * self.now

    def _tune(self, rng):
        # What a server does seldom, it does often in some worlds.
        self.end_idle = rng.choice((300.0, 300.0, 30.0))  # Seconds.
        self.snapshot_every = rng.choice((64, 8))  # Versions.
        self.max_cached = rng.choice((1024, 1024, 3))  # Matches.
        # Whether the database commits before its standby has it.
        may_forget = self.store == "postgresql" and "losses" in self.faults
        self.forgets = rng.random() < (1.0 if self.few else 0.6) and may_forget
        # Whether all clocks are equal, and stand still for so long that what takes the place of
        # what was lost is of the same time.
        self.ticks = self.forgets and rng.random() < 0.5
        # Half of the worlds have few kinds of matches, so that what is rare where all are mixed
        # comes often in some (A. Groce et al., "Swarm Testing", 2012).
        self.kinds, self.games = KINDS, tuple(zip(GAMES, WEIGHTS, strict=True))
        if rng.random() < 0.5:
            self.kinds = rng.sample(KINDS, 2)
            self.games = rng.sample(self.games, rng.choice((1, 2)))
        self.clocked = rng.choice((0.6, 0.6, 1.0))  # The share of matches with clocks.
        self.fast = rng.choice((0.15, 0.15, 0.6))  # Of these, the share that is played fast.
        self.hasty = rng.choice((0.05, 0.05, 0.25))  # The share of decisions that are sent twice.
        self.slow_bots = rng.choice((1, 1, 10))  # How many times as often their searches are long.
        # Callers who begin to follow the feed again and again, where it loses no notifications.
        self.glancing = rng.choice((0, 0, 4))
        self.page = rng.choice((500, 500, 3))  # Of the feed.
        # Matches of a release to come, which no server can read, and which it must pass over.
        self.foreign = rng.choice((0, 3))
        self.batch = self.foreign or self.page  # Of a sweep, so that one may have nothing else.
        self.leaving, self.long_search = 0.6, LONG_SECONDS
        if rng.random() < 0.4:
            # Many have left, and their clocks run out while bots think.
            self.kinds, self.leaving = ("absent", "absent", "bot"), 0.9
            self.long_search = (20.0, 40.0)
            self.slow_bots, self.snapshot_every = 10, 3

    @property
    def troubling(self):
        """How many things go wrong on purpose now."""
        return len(self.present)

    def quiet_times(self, besides=()):
        """The times in which nothing went wrong but this, each with its begin and its end."""
        begin, quiet = 60.0, []
        present = ((first, math.inf, name) for first, name in self.present)
        for first, last, name in sorted((*self.troubled, *present)):
            if name not in besides:
                quiet.append((begin, first))
                begin = max(begin, last + 120.0)  # One trouble may end within another.
        return [*quiet, (begin, self.now)]

    def mended_after(self, due, end):
        """When an outage of the log was over in which something was due, if it came alone."""
        known = ("database", "stops")
        for begin, mended in self.outages:
            others = (each for each in self.troubled if each[2] in known and each[0] != begin)
            if (
                begin <= due <= mended
                and any(first <= begin and end <= last for first, last in self.quiet_times(known))
                and not any(first < end and begin < last + 30.0 for first, last, _ in others)
            ):
                return mended
        return None

    def is_well(self, seconds):
        """Whether nothing has gone wrong for some seconds."""
        return not self.present and self.now - self.calm_since > seconds

    def answers(self, seconds):
        """Whether servers have answered for some seconds: all was well, or the log took nothing."""
        if self.now < self.silent_until:
            return False
        if self.is_well(60.0 + seconds):
            return True
        since = self.log.failing_since
        alone = self.troubling == 1 and since is not None and self.calm_since < since - 60.0
        return alone and self.now - since > seconds + 1.0

    def explains(self, text):
        """Whether what goes wrong on purpose explains a line of the log."""
        dying = self.death is not None and self.death.explains(text)
        if dying or damaging.WHAT in [name for _, name in self.present]:
            return True
        if "SearchFailure" in text or ("Timeout" in text and self.now < self.silent_until):
            return True
        return not self.is_well(120.0) and any(word in text.lower() for word in EXPLAINED)

    @property
    def log(self):
        """What is below the log: the database or the disk."""
        return self.database if self.store == "postgresql" else self.disk

    def stored(self, match_id):
        """All that the log has of a match, if it has it, but for a snapshot."""
        if self.store == "postgresql":
            known = match_id in self.database.primary.matches
            return self.database.stored(match_id) if known else None
        stored = sqlite_tables.read_match(self.disk.reading(), match_id)
        return stored and stored._replace(snapshot=None)

    def etag_at(self, table, version):
        """What tells a version of a match from others, as the log has it; None if it does not."""
        return etag_at(self.stored(table.name.removeprefix("matches/")), version)

    def all_stored(self):
        """The same of all matches that servers can read."""
        if self.store == "postgresql":
            ids = list(self.database.primary.matches)
        else:
            ids = [row[0] for row in self._query("SELECT match_id FROM matches ORDER BY created")]
        return [self.stored(match_id) for match_id in ids if match_id not in self.unreadable]

    @property
    def upgrading(self):
        """Whether servers of two releases may be there."""
        return "upgrades" in self.faults

    def machines_with(self, newer, since=math.inf):
        """The machines, or those alone that had the newer release at a time (now)."""
        until = min(since, self.now)
        return [each for each in self.machines if not newer or each.newer_at <= until]

    def has_newer_rules(self, name):
        """Whether a match is of rules that servers of the release before do not know."""
        match_id = name.removeprefix("matches/")
        if match_id not in self._rules:
            self._rules[match_id] = self.stored(match_id).header.rules_version
        return self._rules[match_id] > 1

    def due(self):
        """When matches are due, in milliseconds since 1970, by the ids of those that are."""
        if self.store == "postgresql":
            return self.database.primary.due
        return dict(self._query("SELECT match_id, due FROM heads WHERE due IS NOT NULL"))

    def positions(self, match_id):
        """The position of each version of a match in the feed."""
        if self.store == "postgresql":
            return [position for position, _ in self.database.primary.feed[match_id]]
        version_0 = self._query("SELECT feed_position FROM matches WHERE match_id = ?", match_id)
        sql = "SELECT feed_position FROM entries WHERE match_id = ? ORDER BY version"
        return [position for (position,) in version_0 + self._query(sql, match_id)]

    def ended_at(self, match_id):
        """When a match was over, as the log lists it; None while it runs."""
        if self.store == "postgresql":
            ended = self.database.primary.ended.get(match_id)
        else:
            [(ended,)] = self._query("SELECT ended FROM matches WHERE match_id = ?", match_id)
        return None if ended is None else ended / 1000 - EPOCH

    def _query(self, sql, *values):
        return self.disk.reading().execute(sql, values).fetchall()

    @property
    def now(self):
        """The seconds since the beginning."""
        return self.loop.now

    def tell(self, text):
        """Adds a line to the story."""
        self.story.append(f"{self.now:12.6f} {text}")

    def fail(self, text):
        """Notes a violation, and ends the run."""
        self.tell(f"VIOLATION: {text}")
        raise Violation(text)

    def run(self):
        """Runs it; returns the violations."""
        with tempfile.TemporaryDirectory(prefix="croupier-world-", dir=MEMORY) as folder:
            self.directory = Path(folder)
            self.data = Path(os.environ.get("FAULTY_DISK_DATA", self.directory / "data"))
            self._write_files()
            self.noted = Answers(self)
            replaced.begin(self.loop, self.seed)
            replaced.tune(self.snapshot_every, self.max_cached, self.page, self.batch)
            asyncio.set_event_loop(self.loop)
            logging.getLogger("service").addHandler(self._records)
            try:
                self.loop.run_until_complete(self._live())
                if self.death is not None:
                    self.violations += self.death.missed(self.story)
            except Violation as violation:
                self.violations.append(str(violation))
            finally:
                self.violations += self.loop.failures[:3]
                self.story += story.entries_named(self, " ".join(self.violations))
                logging.getLogger("service").removeHandler(self._records)
                asyncio.set_event_loop(None)
                replaced.end()
                sqlite.forget()
        return self.violations

    def _write_files(self):
        self.key_file = self.directory / "key"
        self.key_file.write_bytes(hashlib.sha256(b"tokens").digest())
        self.operator_file = self.directory / "operator"
        self.operator_file.write_text(OPERATOR)
        self.callers_file = self.directory / "callers.toml"
        digests = {name: hashlib.sha256(key.encode()).hexdigest() for name, key in KEYS.items()}
        self.callers_file.write_text(CALLERS.format(**digests, live=self.live, miserly=MISERLY))

    async def _live(self):
        self.network = networks.Network(self.loop, self.seed)
        networks.SimulatedListener.network = self.network
        self.network.cut_off, self.network.refused = (partial(each, self) for each in JUDGES)
        searching.SimulatedSearchServers.state = self.search = searching.SearchState(self)
        self.url = "postgresql://simulated/croupier"
        if self.store == "postgresql":
            self.database = postgresql.Database(self.loop, self.seed)
            if self.database.deaf:
                self.glancing = 0
            postgresql_connections.database = self.database
        else:
            self.disk = sqlite.Disk(
                self.data, random.Random(f"disk/{self.seed}"), self._power_is_gone
            )
            sqlite.SimulatedWriter.disk = self.disk
        servers = 2 if self.store == "postgresql" else 1
        self.machines = [Machine(self, number + 1) for number in range(servers)]
        self.tell(f"the log is in {self.store}; {', '.join(sorted(self.faults)) or 'no faults'}")
        await asyncio.gather(*(machine.start() for machine in self.machines))
        inhabitants = Inhabitants(self)
        self.unreadable = await inhabitants.come_from_the_future(self.foreign)
        end = 3600 * self.hours
        living = self.loop.create_task(inhabitants.live(end))
        troubles = [self.loop.create_task(each) for each in self._troubles(end)]
        waiting = [living, *troubles]
        while not living.done():
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in list(waiting):
                if task.done():
                    waiting.remove(task)
                    task.result()
        for task in troubles:
            task.cancel()
        await asyncio.sleep(60)
        await inhabitants.judge()
        if self.store == "sqlite":
            await damaging.damage(inhabitants)
            await restoring.restore(inhabitants)
        for machine in self.machines:
            await machine.check_idle()
        await asyncio.gather(*(machine.stop() for machine in self.machines))

    def _power_is_gone(self):
        # In the middle of a write: what comes after is told later, when the writer has returned.
        machine = self.machines[0]
        if machine.up:
            machine.kill(power=True)
            self._lost_power = True

    # What goes wrong

    def _troubles(self, end):
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
            if name in self.faults and (self.forgets or name != "losses"):
                rng = random.Random(f"{name}/{self.seed}")
                # Some kinds are rare, so that what others do lasts; a few kinds come often.
                pause = MEAN_PAUSE * rng.choice((0.7, 1, 1, 10)) * (0.3 if self.few else 1)
                yield self._now_and_then(calm, name, trouble, pause, rng)
        yield self._come_alone(calm, random.Random(f"alone/{self.seed}"))

    async def _come_alone(self, until, rng):
        # So that nothing else excuses what follows.
        for begin in range(0, int(until), int(PERIOD)):
            for name, after in ALONE:
                at = begin + after
                if at > until or name not in self.faults:
                    continue
                trouble = self._stop if name == "stops" else self._fill
                for number in range(ALONE_TIMES):
                    await asyncio.sleep(max(0.0, at + number * ALONE_SECONDS - self.now))
                    await self._go_wrong(name, trouble, rng)

    async def _now_and_then(self, until, name, trouble, pause, rng):
        while True:
            at = self.now + rng.expovariate(1 / pause)
            if at % PERIOD > STORM:  # So long all is well, and what is late is late.
                at += PERIOD - at % PERIOD
            if at > until:
                return
            await asyncio.sleep(at - self.now)
            await self._go_wrong(name, trouble, rng)

    async def _go_wrong(self, name, trouble, rng):
        began = self.now
        self.present.append((began, name))
        await trouble(rng)
        self.present.remove((began, name))
        self.calm_since = self.now
        self.troubled.append((began, self.now, name))

    async def _choose_machine(self, rng):
        # Often when a bot thinks there, so that another server must take its turn over.
        machine = rng.choice(self.machines)
        for _ in range(rng.choice((0, 100))):
            if self.search.bots.think_at(machine.owner):
                break
            await asyncio.sleep(0.1)
        return machine

    async def _kill(self, rng):
        machine = await self._choose_machine(rng)
        if machine.up:
            self.counts["kills"] += 1
            machine.kill(power=self.store == "sqlite" and rng.random() < 0.5)
            await asyncio.sleep(rng.expovariate(1 / 5))
            await machine.start()

    async def _stop(self, rng):
        machine = await self._choose_machine(rng)
        if machine.up:
            self.counts["stops"] += 1
            await machine.stop()
            await asyncio.sleep(rng.expovariate(1 / 5))
            await machine.start()

    async def _upgrade(self, rng):
        # One in each storm, so that there are calm times with two releases.
        newest = max((each.newer_at for each in self.machines if not each.old), default=-STORM)
        machine = rng.choice([each for each in self.machines if each.old] or [None])
        if machine is not None and machine.up and self.now > newest + STORM:
            self.counts["upgrades"] += 1
            await machine.stop()
            machine.newer_at = self.now
            self.tell(f"{machine.name} has the newer release")
            await machine.start()

    async def _pause(self, rng):
        machine = rng.choice(self.machines)
        seconds = rng.expovariate(1 / 4)
        if machine.up and rng.random() < 0.4:
            await self._starve(machine, rng)
        elif machine.up:
            self.counts["pauses"] += 1
            self.tell(f"{machine.name} stands still for {seconds:.1f} s")
            self.loop.hold_up(machine.owner, seconds)
            await asyncio.sleep(seconds + 1)

    async def _starve(self, machine, rng):
        self.counts["pauses"] += 1
        self.tell(f"{machine.name} gets a processor now and then")
        until = self.now + 30.0
        while machine.up and self.now < until:
            self.loop.hold_up(machine.owner, rng.expovariate(1 / 0.3))
            await asyncio.sleep(rng.expovariate(1 / 0.5))
        await asyncio.sleep(2)

    async def _cut(self, rng):
        connections = self.network.open_connections()
        share = rng.choice((0.1, 0.5, 1.0))
        half_open = rng.random() < 0.3
        self.counts["cuts"] += 1
        self.tell(f"{share:.0%} of the connections {'fall silent' if half_open else 'are cut'}")
        for connection in connections:
            if rng.random() < share:
                connection.half_open() if half_open else connection.cut()
        await asyncio.sleep(0)

    async def _trouble_database(self, rng):
        self.counts["faults of the store"] += 1
        if self.store == "sqlite":
            await self._trouble_disk(rng)
            return
        database = self.database
        what = rng.choice(("fail-over", "lost", "half open", "answers", "full", "deaf", "slow"))
        self.tell(f"the database: {what}")
        if what == "fail-over":
            await self._fail_over(rng)
        elif what == "lost":
            database.lose_connections(rng.choice((0.5, 1.0)))
        elif what == "half open":
            database.half_open(rng.choice((0.3, 1.0)))
            await asyncio.sleep(30)
            self.silent_until = self.now + UNUSED_SECONDS + 20.0
        elif what == "answers":
            database.loses_answers = 0.1
            await asyncio.sleep(20)
            database.loses_answers = 0.0
            self.silent_until = self.now + UNUSED_SECONDS + 20.0
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
        database = self.database
        seconds = rng.expovariate(1 / (0.1 if standby and self.ticks else 3))
        database.fail_over(seconds, rng.choice((0.0, 0.3)), standby)
        await asyncio.sleep(10)
        for session in list(database.sessions.values()):
            if session.standby:
                session.lose()

    async def _lose(self, rng):
        standby = await self._fall_behind(rng)
        if standby is not None:
            self.tell("the database: fail-over to a standby that lacks actions")
            await self._fail_over(rng, standby)
        self.database.latency = self.database.usual

    async def _fall_behind(self, rng):
        # A standby that lacks some of the last actions. If the database is slow, what a server
        # writes after an action may come when another server has taken over.
        self.database.latency = rng.choice((self.database.usual, 0.3))
        for _ in range(60 if self.ticks else 30):
            if self.ticks:
                await asyncio.sleep(1.0 - self.now % 1.0)
            standby = self.database.primary.copy()
            await asyncio.sleep(rng.expovariate(5.0 if self.ticks else 1.0))
            lost = self.database.lost_with(standby)
            if lost:
                self.counts["losses"] += 1
                self.tell(f"the standby lacks actions of {', '.join(sorted(lost))}")
                for table in self.running:
                    if table.name.removeprefix("matches/") in lost:
                        table.lose()
                return standby
        return None

    async def _fill(self, rng):
        # The log takes nothing, often at the moment when a clock runs out while a bot thinks.
        for _ in range(rng.choice((0, 60))):
            if self.search.bots.outlast_a_clock(0.5):
                break
            await asyncio.sleep(0.4)
        began, seconds = self.now, rng.expovariate(1 / 15)
        if self.store == "sqlite":
            self.disk.fail(*_NO_ROOM)
        else:
            self.database.failing_since = began
        await asyncio.sleep(seconds)
        if self.store == "sqlite":
            self.disk.mend()
        else:
            self.database.failing_since = None
        self.outages.append((began, self.now))

    async def _trouble_disk(self, rng):
        disk = self.disk
        what = rng.choice(("EIO", "ENOSPC", "sync", "power", "full"))
        self.tell(f"the disk: {what}")
        if what == "full":
            await self._fill(rng)
            return
        if what == "power":
            if not self.machines[0].up:
                return
            self._lost_power = False
            disk.doom(rng.randrange(8))
            for _ in range(60):
                await asyncio.sleep(1)
                if self._lost_power:
                    await self.machines[0].start()
                    return
            disk.mend()
            return
        calls = faulty_disk.SYNC if what == "sync" else faulty_disk.WRITE
        error = errno.ENOSPC if what == "ENOSPC" else errno.EIO
        times = rng.choice((1, 3, 1000))
        disk.fail(calls, faulty_disk.EVERY_FILE, error, faulty_disk.FAIL, rng.randrange(5), times)
        await asyncio.sleep(rng.expovariate(1 / 8))
        disk.mend()

    async def _trouble_searches(self, rng):
        search = self.search
        search.dead, search.dying, search.mean = rng.choice(
            ((0.5, 0.0, search.usual), (0.0, 0.5, search.usual), (0.2, 0.2, 1.5), (0.0, 0.1, 20.0))
        )
        self.tell(f"searches: {search.dead:.0%} find no server, {search.dying:.0%} lose theirs")
        await asyncio.sleep(60)
        search.dead, search.dying, search.mean = 0.0, 0.0, search.usual


_NO_ROOM = (faulty_disk.WRITE, faulty_disk.EVERY_FILE, errno.ENOSPC, faulty_disk.FAIL, 0, 10**6)


class _Records(logging.Handler):
    # The log of all servers: an error that nothing explains is a fault.

    def __init__(self, world):
        super().__init__(logging.WARNING)
        self._world = world

    def emit(self, record):
        world = self._world
        text = record.getMessage()
        if record.exc_info:
            text += f" {record.exc_info[1]!r}"
        world.tell(f"{world.loop.owner} logs: {text}")
        world.counts["lines of the log"] += 1
        if record.levelno >= logging.ERROR and not world.explains(text):
            world.loop.failures.append(f"{world.loop.owner} logs: {text}")
