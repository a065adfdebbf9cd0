"""The fair queue: which searches of a pool run now, which are paused, and which wait.

Each search has an *owner*, who pays for it: a principal, or the match of a bot. Owners share the
threads of the pool fairly, whatever they ask for. This is weighted fair queueing with the bids of
A. Demers, S. Keshav and S. Shenker, "Analysis and Simulation of a Fair Queueing Algorithm" (1989),
on searches instead of packets, as P. Goyal, X. Guo and H. Vin, "A Hierarchical CPU Scheduler for
Multimedia Operating Systems" (1996), do it for threads whose length is not known before:

- A search is served in *chunks* of at most CHUNK_SECONDS. An owner's *tag* rises by what its chunks
  take, in thread-seconds, so a search with many threads pays for them. A chunk is paid for when it
  is granted, by its estimate; when it ends, by what it took.
- The *virtual time* rises by what an owner gets who has its fair share. An owner who has got less
  than others lags behind it, by CREDIT_SECONDS at most: so a rare search is served
  at once, and nobody saves up.
- The chunk that would end with the lowest tag goes first, which prefers cheap searches among equal
  owners. A search whose chunk has a higher tag than one that waits is paused.
- A lower rank goes before all higher ones.

A paused search has been started and keeps what it has. Therefore started searches may have a number
of threads at most, the *room*, which is another one for each class of searches by their expected
time: so long ones never keep short ones from starting. An owner's first search may take the whole
room, further ones a part of it. What else a search needs it asks for when its turn comes; if it
gets nothing, it waits and asks again.

This module knows neither threads nor the event loop; `service/searching/pool.py` does.
"""

import heapq
import math
from bisect import insort
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

CHUNK_SECONDS = 0.05  # Times the threads of a search: the longest chunk.
MIN_CHUNK = 0.005
CREDIT_SECONDS = 0.5
MIN_CHARGE = 0.002  # Thread-seconds of a chunk, even if the search ended at once.
MAX_IDLE_ACCOUNTS = 1024


class SizeClass(NamedTuple):
    """Searches that are expected to take about as long, and the room for them."""

    max_seconds: float
    # Threads, for an owner's first search: the larger of a number and of a multiple of the pool's
    # threads. For its further searches there is a quarter, but at least the pool's threads.
    min_room: int
    room_times: int

    def room(self, threads: int, is_first: bool) -> int:
        """The room in a pool with so many threads."""
        whole = max(self.min_room, self.room_times * threads)
        return whole if is_first else max(whole // 4, threads)


SIZE_CLASSES = (SizeClass(0.1, 64, 4), SizeClass(1.0, 32, 4), SizeClass(math.inf, 4, 2))


class Stage(Enum):
    """The state of a search in the queue."""

    WAITING = auto()
    RUNNING = auto()
    PAUSED = auto()


class Place:
    """The place of one search in the queue."""

    def __init__(
        self,
        owner: Hashable,
        threads: int,
        seconds: float,
        rank: int = 0,
        admit: Callable[[], bool] = lambda: True,
    ) -> None:
        """`seconds` is how long the search is expected to take.

        `admit` gets what it needs to start; False if it cannot have it now.
        """
        self.admit = admit
        self.owner = owner
        self.rank = rank
        self.threads = threads
        self.size = next(i for i, one in enumerate(SIZE_CLASSES) if seconds <= one.max_seconds)
        self.cost = seconds * threads  # In thread-seconds, as all that follows.
        self.stage = Stage.WAITING
        self.number = 0  # By arrival.
        self.got = 0.0  # In the chunks before the current one.
        self.account: _Account  # Since it was added.
        self.chunk = 0.0
        self.until = 0.0  # The tag with which the chunk ends.
        self.since = 0.0  # When the chunk began.
        self.taken = 0.0  # Of the chunk, as far as it has been settled.

    @property
    def left(self) -> float:
        """The seconds that it is expected to take yet; once it has taken those, as many again."""
        return self.cost - self.got if self.got < self.cost else self.got

    @property
    def order(self) -> tuple[float, int]:
        """Its order among the searches of its owner: the shortest remaining time first."""
        return self.left, self.number

    @property
    def next_chunk(self) -> float:
        """The thread-seconds of its next chunk."""
        return min(max(self.left, MIN_CHUNK), CHUNK_SECONDS * self.threads)


class Changes(NamedTuple):
    """The changes to make now: searches to pause, and searches to start or resume."""

    pause: list[Place]
    go_on: list[Place]


class _Account:
    """The time that an owner has got."""

    def __init__(self, rank: int, owner: Hashable) -> None:
        self.rank = rank
        self.owner = owner
        self.tag = 0.0
        self.known = 0  # Searches that are waiting, running or paused.
        self.started = 0
        # Those that are waiting or paused, in their order.
        self.line: list[tuple[tuple[float, int], Place]] = []


# A search that may run: its rank, the tag with which its chunk would end, its number, itself, and,
# unless it runs, the searches of its account that may run after it.
_Candidate: TypeAlias = tuple[int, float, int, Place, Iterator[Place] | None]


class FairQueue:
    """Which of the searches of one pool run. Times are seconds of any one monotonic clock."""

    def __init__(self, threads: int, max_started: int | None = None) -> None:
        """`threads` can run at a time, and `max_started` searches of an owner can be started."""
        self.threads = threads
        self.max_started = max_started
        self._accounts: dict[tuple[int, Hashable], _Account] = {}
        self._idle: dict[tuple[int, Hashable], _Account] = {}
        self._running: set[Place] = set()
        self._arrivals = 0
        self._waiting = 0
        self._started = 0
        self._virtual: dict[int, float] = {}  # By rank.
        self._active: dict[int, int] = {}  # By rank: the accounts that have searches.
        self._used_room: Counter[tuple[int, int]] = Counter()  # By rank and size class.
        # By size class: for further searches of an owner, and for its first.
        self._rooms = [(one.room(threads, False), one.room(threads, True)) for one in SIZE_CLASSES]
        self._is_short = False  # Of threads: whether a search that could be granted was not.
        # The lowest rank of a search whose turn had come and that was not admitted.
        self.unmet: int | None = None
        self._asks_again = 0.0  # When it does so.

    @property
    def running(self) -> int:
        """How many searches run."""
        return len(self._running)

    @property
    def paused(self) -> int:
        """How many searches are paused."""
        return self._started - len(self._running)

    @property
    def waiting(self) -> int:
        """How many searches have not been started."""
        return self._waiting

    @property
    def free(self) -> int:
        """How many threads are free."""
        return self.threads - sum(place.threads for place in self._running)

    def waiting_of(self, owner: Hashable, rank: int = 0) -> int:
        """How many searches of an owner have not been started."""
        account = self._accounts.get((rank, owner))
        return account.known - account.started if account else 0

    @property
    def max_threads(self) -> int:
        """How many threads of started searches there can be, of one rank."""
        return sum(size.room(self.threads, True) for size in SIZE_CLASSES)

    def add(self, place: Place) -> bool:
        """Adds a search, which waits; returns whether to schedule now, lest it wait too long."""
        key = (place.rank, place.owner)
        account = self._accounts.get(key)
        if account is None:
            account = self._idle.pop(key, None) or _Account(*key)
            self._accounts[key] = account
            self._active[place.rank] = self._active.get(place.rank, 0) + 1
        self._arrivals += 1
        place.number = self._arrivals
        place.account = account
        account.known += 1
        self._waiting += 1
        insort(account.line, (place.order, place))
        if self.free >= place.threads:
            return True
        self._is_short = True
        offer = (place.rank, self._tag(account) + place.next_chunk)
        return any((running.rank, running.until) > offer for running in self._running)

    def remove(self, place: Place, now: float, used: float = 0.0) -> float:
        """Removes a search, which has ended or whose caller has left; returns what it has taken.

        `used` is the processor time of its first thread. What exceeds the time for which it ran is
        paid for too: a paused search whose time is up writes its answer all the same.
        """
        account = place.account
        if place.stage is Stage.RUNNING:
            self._settle(place, now)
            self._end_chunk(place, MIN_CHARGE)
        else:
            account.line.remove((place.order, place))
        if place.stage is not Stage.WAITING:
            account.started -= 1
            self._started -= 1
            self._used_room[place.rank, place.size] -= place.threads
            extra = max(0.0, used - place.got / place.threads)
            account.tag += extra
            place.got += extra
        else:
            self._waiting -= 1
        account.known -= 1
        if not account.known:
            self._put_aside(account)
        return place.got

    def schedule(self, now: float) -> Changes:
        """Decides which searches run from now on."""
        before = list(self._running)
        for place in before:
            self._settle(place, now)
            if place.taken >= place.chunk:
                self._pause(place)
        chosen = self._choose()
        self._asks_again = now + CHUNK_SECONDS
        for place in before:
            if place.stage is Stage.RUNNING and place not in chosen:
                self._pause(place)
        go_on = []
        for place in chosen:
            if place.stage is not Stage.RUNNING:
                if place not in before:
                    go_on.append(place)
                self._grant(place, now)
        return Changes([place for place in before if place.stage is Stage.PAUSED], go_on)

    def next_change(self) -> float | None:
        """When to schedule again if nothing happens before; None: it need not be."""
        at = [] if self.unmet is None else [self._asks_again]
        if self._is_short:
            at += [place.since + place.chunk / place.threads for place in self._running]
        return min(at, default=None)

    # Accounts

    def _tag(self, account: _Account) -> float:
        return max(account.tag, self._virtual.get(account.rank, 0.0) - CREDIT_SECONDS)

    def _settle(self, place: Place, now: float) -> None:
        # Accounts for what a running search has taken of its chunk so far.
        taken = max(0.0, now - place.since) * place.threads
        share = (taken - place.taken) / self._active[place.rank]
        self._virtual[place.rank] = self._virtual.get(place.rank, 0.0) + share
        place.taken = taken

    def _grant(self, place: Place, now: float) -> None:
        account = place.account
        account.line.remove((place.order, place))
        if place.stage is Stage.WAITING:
            account.started += 1
            self._started += 1
            self._waiting -= 1
            self._used_room[place.rank, place.size] += place.threads
        place.stage = Stage.RUNNING
        self._running.add(place)
        place.chunk = place.next_chunk
        account.tag = place.until = self._tag(account) + place.chunk
        place.since = now
        place.taken = 0.0

    def _pause(self, place: Place) -> None:
        account = place.account
        self._end_chunk(place)
        place.stage = Stage.PAUSED
        insort(account.line, (place.order, place))

    def _end_chunk(self, place: Place, least: float = 0.0) -> None:
        # The chunk was paid for by its estimate.
        place.account.tag += max(place.taken, least) - place.chunk
        place.got += place.taken
        self._running.discard(place)

    def _put_aside(self, account: _Account) -> None:
        # An account is kept for as long as it has got more than one that begins.
        key = (account.rank, account.owner)
        del self._accounts[key]
        self._active[account.rank] -= 1
        self._idle[key] = account
        if len(self._idle) <= MAX_IDLE_ACCOUNTS:
            return
        kept = [each for each in self._idle.values() if each.tag > self._tag_of_new(each.rank)]
        kept.sort(key=lambda each: self._tag_of_new(each.rank) - each.tag)
        self._idle = {(each.rank, each.owner): each for each in kept[: MAX_IDLE_ACCOUNTS // 2]}

    def _tag_of_new(self, rank: int) -> float:
        return max(0.0, self._virtual.get(rank, 0.0) - CREDIT_SECONDS)

    def _choose(self) -> set[Place]:
        choice = _Choice(self._running, self._rooms, self._used_room, self.max_started)
        for account in self._accounts.values():
            choice.offer_next(choice.offers_of(account), self._tag(account))
        chosen, self._is_short = choice.choose(self.threads)
        self.unmet = choice.unmet
        return chosen


class _Choice:
    """One choice of the searches that run, by their tags, as far as there are threads."""

    def __init__(
        self,
        running: Iterable[Place],
        rooms: Sequence[tuple[int, int]],
        used_room: Counter[tuple[int, int]],
        max_started: int | None,
    ) -> None:
        self._rooms = rooms
        self._max_started = max_started
        self.unmet: int | None = None  # The lowest rank of a search that was not admitted.
        # As they would be after this choice.
        self._used_room = Counter(used_room)
        self._started: Counter[_Account] = Counter()
        self._heap: list[_Candidate] = [
            (place.rank, place.until, place.number, place, None) for place in running
        ]
        heapq.heapify(self._heap)

    def offers_of(self, account: _Account) -> Iterator[Place]:
        """The searches of an account that may run, in their order; asked for as needed."""
        full: set[int] = set()  # The size classes in which one waits for room.
        for _, place in account.line:
            if place.stage is Stage.WAITING and (place.size in full or not self._may_run(place)):
                full.add(place.size)
            else:
                yield place

    def offer_next(self, offers: Iterator[Place], tag: float) -> None:
        """Offers the next search of an account with a tag, if it has one that may run."""
        place = next(offers, None)
        if place is not None:
            tag += place.next_chunk
            heapq.heappush(self._heap, (place.rank, tag, place.number, place, offers))

    def choose(self, free: int) -> tuple[set[Place], bool]:
        """The searches to run, and whether threads were too few for all that may run."""
        chosen: set[Place] = set()
        is_short = False
        while self._heap:
            _, tag, _, place, offers = heapq.heappop(self._heap)
            if place.threads > free:
                # Another search of the same owner must not overtake it.
                is_short = True
                if not free:
                    break
                continue
            # Searches of others may have taken the room meanwhile.
            if self._may_run(place) and self._admits(place):
                chosen.add(place)
                free -= place.threads
                if place.stage is Stage.WAITING:
                    self._started[place.account] += 1
                    self._used_room[place.rank, place.size] += place.threads
            else:
                tag -= place.next_chunk
            if offers is not None:
                self.offer_next(offers, tag)
        return chosen, is_short

    def _admits(self, place: Place) -> bool:
        if place.stage is not Stage.WAITING or place.admit():
            return True
        if self.unmet is None:  # Lower ranks come first.
            self.unmet = place.rank
        return False

    def _may_run(self, place: Place) -> bool:
        # Whether the search has been started, or there is room to start it.
        if place.stage is not Stage.WAITING:
            return True
        account = place.account
        own = account.started + self._started[account]
        if self._max_started is not None and own >= self._max_started:
            return False
        used = self._used_room[place.rank, place.size]
        return used + place.threads <= self._rooms[place.size][not own]
