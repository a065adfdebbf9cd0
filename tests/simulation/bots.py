"""Bots: how long they think, how their searches fail, and what is owed to their turns."""

import asyncio
import math
import random
from collections import defaultdict
from contextlib import contextmanager

import wire
from croupier.v1 import game_pb2, hint_pb2
from service.searching.options import BOT_STRENGTHS
from service.searching.pool import Limits
from service.searching.tasks import Kind
from tests.simulation import shown
from tests.simulation.course import course_of

LATE_SECONDS = 4.0  # After which a search must have begun, or a decision be made, all being well.
HANDED_OVER_SECONDS = 3.0  # The same where a server was stopped that searched,
TAKEN_OVER_SECONDS = 10.0  # and where it was killed, so that its lease must run out.
MIN_RETRY_SECONDS = 1.0  # After a failure; later as long as the decision is owed already.
CLOCK_SECONDS = 1.2  # By which a clock may be wrong, at most.
LONG, FAILING, BOTH = 0.02, 0.01, 0.005  # The shares of the searches.
LONG_SECONDS = (6.0, 15.0)
SKEW_MILLISECONDS = 50  # By which the clock of the other server may be ahead, for leases to hold.


class SearchFailure(Exception):
    """A fault of a search, such as one of its code: nobody but its bot is concerned."""


class Try:
    """A search for a decision of a bot."""

    def __init__(self, server, begin, task):
        self.server, self.begin = server, begin
        self.seat, self.task = task.search.view.seat, task
        self._end = None
        self.failed = False
        self.cut = False  # Whether its server has stopped.

    def ended(self, at):
        """Notes its end."""
        self._end = at

    @property
    def killed(self):
        """Whether its server died over it."""
        return self._end is None and self.server.died_at is not None

    @property
    def end(self):
        """When it ended; infinite while it runs."""
        return self._end or self.server.died_at or math.inf


class Bots:
    """The bots of a world, and their searches."""

    def __init__(self, world):
        self.world = world
        self._rng = random.Random(f"bots/{world.seed}")
        self._tries = defaultdict(list)  # By match.
        self._seeds = {}
        self.searched = defaultdict(list)  # The views, by match and version.
        self.long = self.doubled = 0  # Long searches, and those beside which another server's ran.

    async def think(self, task):
        """What a search of a bot takes beside its usual time; raises SearchFailure."""
        chance, long = self._rng.random(), LONG * self.world.slow_bots
        if chance < long + BOTH:
            await asyncio.sleep(self._rng.uniform(*self.world.long_search))
        if long < chance < long + BOTH + FAILING:
            raise SearchFailure("on purpose")

    @contextmanager
    def searching(self, task):
        """Notes a search, if it is one of a bot."""
        # A search server knows what it is sent, and nothing else.
        view, sent = task.view, shown.sent(task.search.view)
        right = shown.sent(game_pb2.View.FromString(wire.write_view(view.game, view)))
        cards = view.game.id
        if sent.seat != view.seat or getattr(sent, cards) != getattr(right, cards):
            self.world.loop.failures.append(f"a search for seat {view.seat} is sent another view")
        if task.requester.kind != Kind.BOT:
            yield
            return
        world, match_id = self.world, task.requester.owner
        self.searched[match_id, sent.version].append(task.search)
        view = task.search.view.SerializeToString(deterministic=True)
        if self._seeds.setdefault((match_id, view), task.search.seed) != task.search.seed:
            world.loop.failures.append(f"a bot of {match_id} decides with another seed than before")
        noted = Try(world.loop.owner, world.now, task)
        self._tries[match_id].append(noted)
        try:
            yield
        except asyncio.CancelledError:
            noted.cut = True
            raise
        except Exception:
            noted.failed = True
            raise
        finally:
            noted.ended(world.now)
            self._count(match_id, noted)

    def _count(self, match_id, noted):
        # One that lasts longer than a lease, while no other server has a reason to take it over.
        world = self.world
        if noted.end - noted.begin < LONG_SECONDS[0] or not world.troubles.is_well(60.0):
            return
        errors = {each.owner: each.clock.error for each in world.machines}
        mine = errors.pop(noted.server, None)
        if mine is None or not errors:
            return
        others = [
            each.begin
            for each in self._tries[match_id]
            if each.server is not noted.server and noted.begin <= each.begin < noted.end
        ]
        # Who writes an entry takes the lease, and searches too.
        until = min(others, default=noted.end)
        if any(noted.begin < at < until for at in world.database.times[match_id]):
            return
        if all(each - mine <= SKEW_MILLISECONDS for each in errors.values()):
            self.long += 1
            self.doubled += bool(others)

    def think_at(self, server):
        """Whether a bot thinks at a server."""
        tries = (each for match in self._tries.values() for each in match[-1:])
        return any(each.server is server and math.isinf(each.end) for each in tries)

    def outlast_a_clock(self, seconds):
        """Whether a bot thinks while the clock of the other seat is about to run out."""
        soon = 1000 * (self.world.epoch + self.world.now + seconds)
        return any(
            any(0 < soon - course.deadline(seat) < 1000 * seconds for seat in course.clocked())
            for match_id, tries in self._tries.items()
            if tries and math.isinf(tries[-1].end)
            for course in [course_of(self.world.stored(match_id))]
        )

    def has_failed(self, match_id):
        """Whether the last search of a match has failed, so that the next one comes later."""
        return any(each.failed for each in self._tries[match_id][-1:])

    def wrong(self, header):
        """What is wrong with the searches for a match of a header."""
        for each in self._tries.get(header.match_id, ()):
            strength, task = BOT_STRENGTHS.get(header.bots[each.seat]), each.task
            iterations = getattr(strength, "iterations", 0)
            right = strength and task._replace(
                search=hint_pb2.Search(
                    view=task.search.view, limits={"iterations": iterations}, seed=task.search.seed
                ),
                limits=Limits(iterations),
                details=False,
                deadline=math.inf,
                every=0.0,
                temperature=strength.temperature(task.view.game),
            )
            if task != right:
                yield f"a bot in seat {each.seat} searches as {task[0]}, {task[3:]} says"

    def late(self, match_id, since, at):
        """What was late in a turn that was due from one time on, and ended at another."""
        world = self.world
        newer = world.upgrading and world.has_newer_rules(match_id)
        tries = [each for each in self._tries[match_id] if since < each.end and each.begin < at]
        done, most, besides = since, LATE_SECONDS, ()
        for begin, each in [*((each.begin, each) for each in tries), (at, None)]:
            if begin - done > most and _within(world.troubles.quiet_times(besides), done, begin):
                what = "is searched for" if each else "is made"
                yield f"{what} {begin - done:.1f} s after it could be"
            if each is None:
                return
            done, most, besides = max(done, min(each.end, at)), LATE_SECONDS, ()
            several = len(world.machines_with(newer, since)) > 1
            if each.cut and several:
                most, besides = HANDED_OVER_SECONDS, ("stops", "upgrades")
            if each.killed and several:
                most, besides = TAKEN_OVER_SECONDS, ("kills",)
            # If something came while it searched, it is tried again at once.
            if each.failed and each.begin > since - CLOCK_SECONDS:
                most += max(MIN_RETRY_SECONDS, each.end - since)

    def judge(self):
        """Fails if servers do not spare each other their searches."""
        if self.doubled > max(2, self.long // 10):
            self.world.fail(
                f"of {self.long} long searches of bots, {self.doubled} were begun at another "
                "server too"
            )


def _within(times, begin, end):
    return any(first <= begin and end <= last for first, last in times)
