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

A paused search has been started and needs memory. Therefore started searches may have a number of
threads at most, the *room*, which is another one for each class of searches by their expected
time: so long ones never keep short ones from starting. An owner's first search may take the whole
room, further ones a part of it.

This module knows neither threads nor the event loop; `service/searching/pool.py` does.
"""

import heapq
import math
from bisect import insort
from collections.abc import Hashable, Iterable, Iterator
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


# A search can use 256 MiB for each thread, of which the tiny ones use a hundredth, and the short
# ones up to a third.
SIZE_CLASSES = (SizeClass(0.1, 64, 4), SizeClass(1.0, 32, 4), SizeClass(math.inf, 4, 2))


class Stage(Enum):
    """The state of a search in the queue."""

    WAITING = auto()
    RUNNING = auto()
    PAUSED = auto()


class Place:
    """The place of one search in the queue."""

    __slots__ = (
        "account",
        "chunk",
        "cost",
        "got",
        "number",
        "owner",
        "rank",
        "since",
        "size",
        "stage",
        "taken",
        "threads",
        "until",
    )

    def __init__(self, owner: Hashable, threads: int, seconds: float, rank: int = 0) -> None:
        """`seconds` is how long the search is expected to take."""
        self.owner = owner
        self.rank = rank
        self.threads = threads
        self.size = next(i for i, one in enumerate(SIZE_CLASSES) if seconds <= one.max_seconds)
        self.cost = seconds * threads  # In thread-seconds, as all that follows.
        self.stage = Stage.WAITING
        self.number = 0  # By arrival.
        self.got = 0.0  # In the chunks before the current one.
        self.account: _Account | None = None
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


_Ordered: TypeAlias = tuple[tuple[float, int], Place]


class Changes(NamedTuple):
    """The changes to make now: searches to pause, and searches to start or resume."""

    pause: list[Place]
    go_on: list[Place]


class _Account:
    """The time that an owner has got."""

    __slots__ = ("known", "owner", "paused", "rank", "started", "tag", "waiting")

    def __init__(self, rank: int, owner: Hashable, tag: float) -> None:
        self.rank = rank
        self.owner = owner
        self.tag = tag
        self.known = 0  # Searches that are waiting, running or paused.
        self.started = 0
        # In their order; the waiting ones by their size class.
        self.waiting: tuple[list[_Ordered], ...] = tuple([] for _ in SIZE_CLASSES)
        self.paused: list[_Ordered] = []

    def line_of(self, place: Place) -> "list[_Ordered]":
        """The list that a search is on which does not run."""
        return self.waiting[place.size] if place.stage is Stage.WAITING else self.paused


# A search that may run: its rank, the tag with which its chunk would end, its number, itself, and
# its account unless it runs.
_Candidate: TypeAlias = tuple[int, float, int, Place, _Account | None]


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
        self._used_room: dict[tuple[int, int], int] = {}  # By rank and size class.
        self._is_short = False  # Of threads: whether a search that could be granted was not.

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
            account = self._idle.pop(key, None) or _Account(*key, tag=0.0)
            self._accounts[key] = account
            self._active[place.rank] = self._active.get(place.rank, 0) + 1
        self._arrivals += 1
        place.number = self._arrivals
        place.account = account
        account.known += 1
        self._waiting += 1
        insort(account.line_of(place), (place.order, place))
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
        assert account is not None
        if place.stage is Stage.RUNNING:
            self._settle(place, now)
            self._end_chunk(place, MIN_CHARGE)
        else:
            account.line_of(place).remove((place.order, place))
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
        place.account = None
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
        if not self._is_short:
            return None
        return min(
            (place.since + place.chunk / place.threads for place in self._running), default=None
        )

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
        assert account is not None
        account.line_of(place).remove((place.order, place))
        if place.stage is Stage.WAITING:
            account.started += 1
            self._started += 1
            self._waiting -= 1
            used = self._used_room.get((place.rank, place.size), 0)
            self._used_room[place.rank, place.size] = used + place.threads
        place.stage = Stage.RUNNING
        self._running.add(place)
        place.chunk = place.next_chunk
        account.tag = place.until = self._tag(account) + place.chunk
        place.since = now
        place.taken = 0.0

    def _pause(self, place: Place) -> None:
        account = place.account
        assert account is not None
        self._end_chunk(place)
        place.stage = Stage.PAUSED
        insort(account.paused, (place.order, place))

    def _end_chunk(self, place: Place, least: float = 0.0) -> None:
        # The chunk was paid for by its estimate.
        assert place.account is not None
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
        choice = _Choice(self.threads, self.max_started, self._used_room)
        choice.offer_running(self._running)
        least = {rank: time - CREDIT_SECONDS for rank, time in self._virtual.items()}
        for account in self._accounts.values():
            choice.offer_next(account, max(account.tag, least.get(account.rank, 0.0)))
        chosen, self._is_short = choice.choose()
        return chosen


class _Choice:
    """One choice of the searches that run, by their tags, as far as there are threads."""

    def __init__(
        self, threads: int, max_started: int | None, used_room: dict[tuple[int, int], int]
    ) -> None:
        self._threads = threads
        self._max_started = max_started
        # As it would be after this choice.
        self._used_room = dict(used_room)
        self._started: dict[_Account, int] = {}
        self._offers: dict[_Account, Iterator[Place]] = {}
        self._offered: set[Place] = set()
        self._heap: list[_Candidate] = []
        self._rooms = [(one.room(threads, False), one.room(threads, True)) for one in SIZE_CLASSES]

    def offer_running(self, running: Iterable[Place]) -> None:
        """Offers the searches that run already."""
        self._heap += [(place.rank, place.until, place.number, place, None) for place in running]
        heapq.heapify(self._heap)

    def offer_next(self, account: _Account, tag: float) -> None:
        """Offers the next search of an account with a tag, if it has one that may run."""
        offers = self._offers.get(account)
        place = None
        if offers is None:
            if not account.started:  # Almost all accounts, if there are many.
                place = self._first_of_new(account)
            if place is None:
                offers = self._offers[account] = self._list_offers(account)
        if offers is not None:
            place = next(offers, None)
        if place is not None:
            self._offered.add(place)
            tag += place.next_chunk
            heapq.heappush(self._heap, (account.rank, tag, place.number, place, account))

    def _first_of_new(self, account: _Account) -> Place | None:
        # The cheapest search of an account without a started one, if there is room.
        for waiting in account.waiting:
            if waiting:
                place = waiting[0][1]
                if place not in self._offered and self._may_run(account, place):
                    return place
                return None
        return None

    def choose(self) -> tuple[set[Place], bool]:
        """The searches to run, and whether threads were too few for all that may run."""
        chosen: set[Place] = set()
        free = self._threads
        is_short = False
        while self._heap:
            _, tag, _, place, account = heapq.heappop(self._heap)
            if place.threads > free:
                # Another search of the same owner must not overtake it.
                is_short = True
                if not free:
                    break
                continue
            if account is None:
                chosen.add(place)
                free -= place.threads
                continue
            # Searches of others may have taken the room meanwhile.
            if self._may_run(account, place):
                chosen.add(place)
                free -= place.threads
                if place.stage is Stage.WAITING:
                    self._started[account] = self._started.get(account, 0) + 1
                    kind = (place.rank, place.size)
                    self._used_room[kind] = self._used_room.get(kind, 0) + place.threads
            else:
                tag -= place.next_chunk
            self.offer_next(account, tag)
        return chosen, is_short

    def _list_offers(self, account: _Account) -> Iterator[Place]:
        # The searches of an account that may run, in their order; asked for as needed.
        heads = [0] * len(account.waiting)
        paused = 0
        while True:
            first: _Ordered | None = None
            at = -1
            if paused < len(account.paused):
                first = account.paused[paused]
            for size, waiting in enumerate(account.waiting):
                while heads[size] < len(waiting) and waiting[heads[size]][1] in self._offered:
                    heads[size] += 1
                if heads[size] == len(waiting):
                    continue
                candidate = waiting[heads[size]]
                if first is not None and candidate > first:
                    continue
                if self._may_run(account, candidate[1]):
                    first, at = candidate, size
            if first is None:
                return
            if at < 0:
                paused += 1
            else:
                heads[at] += 1
            yield first[1]

    def _may_run(self, account: _Account, place: Place) -> bool:
        # Whether the search has been started, or there is room to start it.
        if place.stage is not Stage.WAITING:
            return True
        own = account.started + self._started.get(account, 0)
        if self._max_started is not None and own >= self._max_started:
            return False
        used = self._used_room.get((place.rank, place.size), 0)
        return used + place.threads <= self._rooms[place.size][not own]
