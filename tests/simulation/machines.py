"""The machines of a world: each has a server, which stops, dies and starts again, and a clock."""

import asyncio
import math

from service.hosting.clocks import Clock
from service.running.server import Options, Server
from tests.simulation import web
from tests.simulation.course import course_of
from tests.simulation.loop import EPOCH, Owner

GRACE_SECONDS = 5.0
LEASE_SECONDS = 10.0  # In which every lease has ended that nobody renews.
TICK_MILLISECONDS = 1000  # Of clocks that are equal for so long.
IDLE_SECONDS = 60.0  # After which all that nobody uses any more is given back.

_graves = []  # Tasks of dead processes: if they were collected, they would run to their ends.


class SimulatedClock(Clock):
    """The clock of one machine, which is wrong by some milliseconds and drifts.

    Its time goes on by so many milliseconds at once.
    """

    def __init__(self, loop, error, drift, tick):
        self._loop, self.error, self._drift, self.tick = loop, error, drift, tick

    def now(self):
        return self.at(self._loop.look())

    def at(self, seconds):
        """What it shows at a moment of the world."""
        time = int(1000 * (EPOCH + seconds * (1 + self._drift))) + self.error
        return time - time % self.tick


class Machine:
    """A machine with a server, which stops, dies and starts again."""

    def __init__(self, world, number):
        self.world = world
        self.name = f"server-{number}"
        self.host = f"10.0.0.{number}"
        self.address = f"{self.host}:50051"
        self.server = None
        self.owner = None
        self.up = False
        self.runs = 0
        self.retains = None  # For how many seconds it has what is over; None: for ever.
        # From when on it has the newer release.
        self.newer_at = math.inf if "upgrades" in world.faults else 0.0
        rng = world.rng
        drifts = "clocks" in world.faults and not world.ticks
        self.clock = SimulatedClock(
            world.loop,
            rng.choice((-400, -20, 0, 30, 700)) if drifts else 0,
            rng.choice((-1e-5, 0.0, 2e-5)) if drifts else 0.0,
            TICK_MILLISECONDS if world.ticks else 1,
        )

    @property
    def old(self):
        """Whether its server knows only the rules of the release before."""
        return math.isinf(self.newer_at)

    async def start(self):
        """Starts a server, which answers when this returns."""
        world = self.world
        while True:
            self.runs += 1
            self.owner = Owner(f"{self.name}/{self.runs}")
            self.owner.old = self.old
            store = world.url if world.store == "postgresql" else "sqlite"
            options = Options(
                host=self.host,
                port=50051,
                web=web.options_of(self.host),
                allow_seeds=True,
                search_threads=1,
                search_at="search:1",
                token_key_file=world.key_file,
                store=store,
                data=world.data,
                operator_token_file=world.operator_file,
                callers_file=world.callers_file,
                retain_finished=self.retains,
                end_idle=world.end_idle,
            )
            try:
                starting = world.loop.create_task_as(self.owner, self._boot(options))
                await asyncio.wait([starting], timeout=60)
                if not starting.done():
                    world.fail(f"{self.name} does not start within a minute")
                starting.result()
            except OSError as error:
                world.tell(f"{self.name} cannot start: {error}")
                self._bury()
                await asyncio.sleep(2)
                continue
            self.up = True
            world.tell(f"{self.name} serves")
            return

    async def _boot(self, options):
        self.server = Server(options, clock=self.clock)
        await self.server.start()

    def kill(self, *, power=False):
        """The process dies at once, or with `power` its machine does."""
        world = self.world
        self.up = False
        world.tell(f"{self.name} {'loses its power' if power else 'is killed'}")
        addresses = (self.address, web.address_of(self.host))
        for connection in world.network.open_connections():
            if connection.address in addresses:
                connection.half_open() if power else connection.cut()
        for address in addresses:
            world.network.listeners.pop(address, None)
        self._bury(power=power)

    def _bury(self, *, power=False):
        self.owner.alive, self.owner.died_at = False, self.world.now
        world = self.world
        for task in world.loop.tasks_of(self.owner):
            task._log_destroy_pending = False
            _graves.append(task)
        if world.store == "postgresql":
            for session in list(world.database.sessions.values()):
                if session._owner is self.owner:
                    session.terminate()
        elif self.server is not None and self.server._store._anchor is not None:
            world.disk.after_crash(self.server._store, power=power)
        elif self.server is not None and self.server._store._lock is not None:
            self.server._store._lock.close()

    async def stop(self):
        """Shuts the server down in order; nothing of it may be left."""
        world = self.world
        self.up = False
        world.tell(f"{self.name} is stopped")
        stopping = world.loop.create_task_as(self.owner, self.server.stop(GRACE_SECONDS))
        await asyncio.wait([stopping], timeout=120)
        if not stopping.done():
            world.fail(f"{self.name} does not stop within two minutes")
        stopping.result()
        self._check_released()
        await self.check_idle()
        self.owner.alive = False

    def _check_released(self):
        # What a bot owes is due at once when the only server has stopped.
        # The leases of one that was killed are not its own, and last a little longer.
        world, now, troubles = self.world, self.clock.now(), self.world.troubles
        since = world.now - LEASE_SECONDS
        names = [name for _, end, name in troubles.past if end > since]
        names += [name for _, name in troubles.present]
        if len(world.machines) > 1 or {*names} - {"stops"}:
            return
        for match_id, due in world.due().items():
            if due > now and match_id not in world.unreadable:
                header, course = (stored := world.stored(match_id)).header, course_of(stored)
                owes = any(header.bots[seat] for seat in course.deciders)
                if owes and not world.search.bots.has_failed(match_id):
                    world.fail(f"{self.name} has stopped, and keeps {match_id} for {due - now} ms")

    async def check_idle(self):
        """Fails if something is not given back in a while that nobody uses any more."""
        world = self.world
        # A call may wait for a database that does not answer: as long as it may be silent.
        until = max(world.now + IDLE_SECONDS, world.troubles.silent_until)
        while left := next(self._left(), ""):
            if world.now > until:
                world.fail(f"{self.name} {left}")
            await asyncio.sleep(1)

    def _left(self):
        server = self.server
        tasks = [each for each in self.world.loop.tasks_of(self.owner) if not each.done()]
        if tasks and not self.up:
            names = sorted(each.get_coro().__qualname__ for each in tasks)
            yield f"has stopped, but goes on with {', '.join(names)}"
        if running := server._calls._running:
            yield f"counts {running} calls, but none run"
        if watched := server.matches._watches.watched():
            yield f"keeps watches of {len(watched)} matches"
        accounts = server._admission._ledger._accounts
        if held := {str(who): +each.held for who, each in accounts.items() if +each.held}:
            yield f"still counts for its callers: {held}"
        if open_connections := server._web.connections:
            yield f"counts {open_connections} connections of browsers"
        cache = server.matches._cache
        if cache._entries != sum(state.version for state in cache._states.values()):
            yield f"miscounts the entries in its cache: {cache._entries}"
        if server._admission._refusals_waiting:
            yield "counts refusals that nobody waits for"
