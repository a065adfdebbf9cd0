"""A world: servers on one log, their clients, and the story of a run."""

import asyncio
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
from tests.simulation.troubles import Troubles

OPERATOR = "the-operator-of-a-simulated-world"


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
        self.live = 3 + matches // 2
        self.running = []  # Tables.
        self._rules = {}  # The versions of the rules of matches.
        self.sent = defaultdict(list)  # What clients have sent, by the name of the match.
        self.lost = set()  # The names of the matches of which the log has lost actions.
        self.called = set()  # The methods that somebody has called.
        self.unreadable = set()  # The ids of those that no server can read.
        self.troubles = Troubles(self)
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
                self.data, random.Random(f"disk/{self.seed}"), self.troubles.lose_power
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
        troubles = self.troubles.come(end)
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
        if record.levelno >= logging.ERROR and not world.troubles.explains(text):
            world.loop.failures.append(f"{world.loop.owner} logs: {text}")
