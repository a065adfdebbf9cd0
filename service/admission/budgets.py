"""Counts what each principal uses of its budgets; callers_file.py has the amounts.

A budget over time is a token bucket: the principal may use all of it at once, and it refills evenly
over the budget's window. The bucket is kept as the time at which it will be full again (the generic
cell rate algorithm, ATM Forum Traffic Management Specification 4.0, section 4.4). Some costs are
known only afterwards, such as the seconds of a search, so a bucket can go into debt; that is why
this is no library of rate limits, which can only ask in advance.

A server counts for itself: behind n replicas a principal has up to n times its budgets.
"""

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum

from croupier.v1.error_pb2 import ErrorReason
from service.common.call import Kind, Principal
from service.observability.metrics import Metrics
from wire.errors import Refusal

MAX_IDLE_ACCOUNTS = 10_000
ROUNDING_SECONDS = 1e-6  # Sums of parts of a window are not exact.
RETRY_SECONDS = 1.0  # When to come back where something must end first.
MAX_RETRY_SECONDS = 86_400.0  # A budget can be so small that it never refills.
# A refusal costs a server about as much as a short call. So a principal is refused at once only a
# tenth as often as it may call; further calls beyond its budgets wait for their refusals.
REFUSED_FRACTION = 0.1
DEFAULT_CALLS = 500  # Of a principal whose calls are unlimited.
MAX_REFUSAL_SECONDS = 10.0


class Budget(StrEnum):
    """The resources that are limited, by their names in a callers file."""

    CALLS = "calls_per_second"
    MATCHES = "matches_per_hour"
    RULESET_BYTES = "ruleset_bytes_per_hour"
    SEARCH_SECONDS = "search_seconds_per_minute"
    SEARCH_RATE = "searches_per_second"
    LIVE_MATCHES = "live_matches"
    PROCESSOR = "processor_milliseconds_per_second"
    STREAMS = "streams"
    SEARCHES = "searches"
    REVIEWS = "reviews"
    WEB_CONNECTIONS = "web_connections"
    BYTES = "bytes"


# The seconds over which a budget refills. Of the other budgets, a use gives back when it ends.
WINDOWS: dict[Budget, float] = {
    Budget.CALLS: 1.0,
    Budget.MATCHES: 3600.0,
    Budget.RULESET_BYTES: 3600.0,
    Budget.SEARCH_SECONDS: 60.0,
    Budget.SEARCH_RATE: 1.0,
    Budget.PROCESSOR: 1.0,
}
# How much of a budget can be used at once, as the seconds in which as much refills: all of it, but
# for the processor, of which others wait for as much as one caller uses at once.
BURSTS: dict[Budget, float] = {**WINDOWS, Budget.PROCESSOR: 0.2}
DESCRIPTIONS: dict[Budget, str] = {
    Budget.CALLS: "calls per second",
    Budget.MATCHES: "new matches per hour",
    Budget.RULESET_BYTES: "bytes of rulesets per hour",
    Budget.SEARCH_SECONDS: "seconds of search per minute, for each thread",
    Budget.SEARCH_RATE: "searches per second",
    Budget.PROCESSOR: "milliseconds of processor time per second",
    Budget.LIVE_MATCHES: "matches that are not over",
    Budget.STREAMS: "streams and waiting calls at once",
    Budget.SEARCHES: "searches at once, waiting ones included",
    Budget.REVIEWS: "reviews, and replays of records, at once",
    Budget.WEB_CONNECTIONS: "connections of browsers with a call",
    Budget.BYTES: "bytes of requests and unread responses at once",
}

BudgetLimits = Mapping[Budget, float]  # A budget that is missing is unlimited.


class BudgetExhausted(Refusal):
    """A call that a principal's budget does not allow."""

    def __init__(self, payer: Principal, budget: Budget, limit: float, wait: float) -> None:
        """`wait` is the number of seconds after which to come back; 0.0: that would not help."""
        self.payer = payer
        allowed = f"at most {limit:g} {DESCRIPTIONS[budget]}"
        later = math.ceil(10 * wait) / 10  # "In 0.0 s" would be too early.
        used_up = f"this {payer.kind} has used up its budget: {allowed}; come back in {later} s"
        too_much = f"this call asks for more than this {payer.kind} may have: {allowed}"
        super().__init__(
            ErrorReason.ERROR_REASON_BUDGET_EXHAUSTED,
            used_up if wait else too_much,
            retry_seconds=wait,
            metadata={
                "budget": budget.value,
                "limit": f"{limit:g}",
                "principal": payer.kind.value,
            },
            quota=(str(payer), allowed),
        )


class Account:
    """The usage of one principal. Times are those of the ledger's clock."""

    __slots__ = ("full_at", "held", "refused_until")

    def __init__(self) -> None:
        # When the bucket of a budget will be full again; 0.0 if it was never used.
        self.full_at: defaultdict[Budget, float] = defaultdict(float)
        self.held: Counter[Budget] = Counter()  # How many are held now.
        self.refused_until = 0.0

    def idle(self, now: float) -> bool:
        """Whether nothing is used."""
        return (
            not any(self.held.values())
            and max(self.refused_until, *self.full_at.values(), 0.0) <= now
        )


class Held:
    """How much of a budget its payers hold for one call or connection: more or less, as it goes."""

    __slots__ = ("_amount", "_budget", "_ledger", "_most", "_payers")

    def __init__(
        self, ledger: "Ledger", payers: Sequence[Principal], budget: Budget, most: float
    ) -> None:
        self._ledger = ledger
        self._payers = payers
        self._budget = budget
        self._most = most
        self._amount = 0

    def set(self, amount: int) -> None:
        """Holds this amount from now on; raises Refusal, and changes nothing, if it is too much."""
        more = amount - self._amount
        if more and self._payers:
            self._ledger.hold_more(self._payers, self._budget, more, self._most, amount)
        self._amount = amount


class Ledger:
    """The usage of all principals, and what they may use."""

    def __init__(
        self,
        limits: Callable[[Principal], BudgetLimits],
        metrics: Metrics,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`limits` gives the budgets of a principal."""
        self._limits = limits
        self._metrics = metrics
        metrics.add_budgets(Budget, Kind)
        self._now = now
        self._accounts: defaultdict[Principal, Account] = defaultdict(Account)
        self._sweep_at = MAX_IDLE_ACCOUNTS

    def limit_by(self, limits: Callable[[Principal], BudgetLimits]) -> None:
        """Gives principals other budgets from now on; the amounts that are used stay used."""
        now, before, self._limits = self._now(), self._limits, limits
        for principal, account in self._accounts.items():
            old, new = before(principal), limits(principal)
            for budget, full_at in account.full_at.items():
                if full_at > now and old.get(budget) and new.get(budget):
                    account.full_at[budget] = now + (full_at - now) * old[budget] / new[budget]

    def _sweep(self, now: float) -> None:
        # Forgets accounts in which nothing is used. When few are idle, the next sweep is further
        # away, so that sweeping costs little for each new account.
        for principal in [each for each in self._accounts if self._accounts[each].idle(now)]:
            del self._accounts[principal]
        self._sweep_at = max(MAX_IDLE_ACCOUNTS, 2 * len(self._accounts))

    def spend(self, payers: Sequence[Principal], budget: Budget, amount: float = 1.0) -> None:
        """Uses an amount of a budget of all payers; raises Refusal if one has too little left."""
        if not payers:
            return
        now = self._now()
        if len(self._accounts) >= self._sweep_at:
            self._sweep(now)
        spent = []
        for payer in payers:
            limit = self._limits(payer).get(budget)
            if limit is None:
                continue
            window = WINDOWS[budget]
            account = self._accounts[payer]
            full_at = max(now, account.full_at[budget])
            refill = amount * window / limit if limit else math.inf
            full_at += refill
            ahead = full_at - now - BURSTS[budget]
            if ahead > ROUNDING_SECONDS:
                fits = refill <= BURSTS[budget] + ROUNDING_SECONDS
                self._refuse(payer, budget, limit, ahead if fits else 0.0)
            spent.append((account, full_at))
        for account, full_at in spent:
            account.full_at[budget] = full_at

    def check(self, payers: Sequence[Principal], budget: Budget) -> None:
        """Raises Refusal if a payer has nothing left of a budget that is charged afterwards."""
        now = self._now()
        for payer in payers:
            limit = self._limits(payer).get(budget)
            if limit is None:
                continue
            ahead = self._accounts[payer].full_at[budget] - now - BURSTS[budget]
            if ahead >= 0 or limit == 0:
                wait = max(ahead, min(RETRY_SECONDS, BURSTS[budget]))
                self._refuse(payer, budget, limit, wait if limit else 0.0)

    def delay(self, payers: Sequence[Principal], budget: Budget) -> float:
        """In how many seconds all payers have something left of such a budget, 0.0 if now."""
        now = self._now()
        delays = (
            self._accounts[payer].full_at[budget] - now - BURSTS[budget]
            for payer in payers
            if budget in self._limits(payer)
        )
        return max([0.0, *delays])

    def charge(self, payers: Sequence[Principal], budget: Budget, amount: float) -> None:
        """Uses an amount of a budget that may be more than is left."""
        now = self._now()
        for payer in payers:
            limit = self._limits(payer).get(budget)
            if limit:
                account = self._accounts[payer]
                full_at = max(now, account.full_at[budget])
                account.full_at[budget] = full_at + amount * WINDOWS[budget] / limit

    def share(self, payers: Sequence[Principal], budget: Budget, amount: float) -> float:
        """The largest share of a payer's budget that an amount is; 0.0 without such a budget."""
        limits = (self._limits(payer).get(budget) for payer in payers)
        return max([0.0, *(amount / limit for limit in limits if limit)])

    @contextmanager
    def hold(self, payers: Sequence[Principal], budget: Budget) -> Iterator[None]:
        """Uses one of a budget of all payers until the block ends; raises Refusal."""
        held = self.holding(payers, budget)
        held.set(1)
        try:
            yield
        finally:
            held.set(0)

    def holding(self, payers: Sequence[Principal], budget: Budget, most: float = math.inf) -> Held:
        """What holds nothing yet of a budget, of which no payer may hold more than `most`."""
        return Held(self, payers, budget, most)

    def hold_more(
        self, payers: Sequence[Principal], budget: Budget, more: int, most: float, amount: int
    ) -> None:
        """Adds to what all payers hold, or takes from it; raises Refusal if one has too little.

        `amount` is what the call then holds of it.
        """
        if len(self._accounts) >= self._sweep_at:
            self._sweep(self._now())
        # Also what is unlimited now is counted: it may be limited before it is given back.
        accounts = [self._accounts[payer] for payer in payers]
        for payer, account in zip(payers, accounts, strict=True):
            limit = self._limits(payer).get(budget) if more > 0 else None
            allowed = math.inf if limit is None else min(limit, most)
            if account.held[budget] + more > allowed:
                wait = RETRY_SECONDS if amount <= allowed else 0.0
                self._refuse(payer, budget, allowed, wait)
        for account in accounts:
            account.held[budget] += more

    def refusal_delay(self, payer: Principal) -> float:
        """Counts a refusal; returns in how many seconds it is due."""
        now = self._now()
        account = self._accounts[payer]
        due = max(now, account.refused_until)
        if due - now < MAX_REFUSAL_SECONDS:
            calls = self._limits(payer).get(Budget.CALLS, DEFAULT_CALLS)
            per_second = max(1.0, REFUSED_FRACTION * calls)
            account.refused_until = due + 1 / per_second
        return max(0.0, due - now - WINDOWS[Budget.CALLS])

    def check_count(self, payer: Principal, budget: Budget, count: int, amount: int = 1) -> None:
        """Raises Refusal if the budget of a payer that has so many does not allow more of them."""
        if not self.has_room(payer, budget, count, amount):
            wait = RETRY_SECONDS if self.has_room(payer, budget, 0, amount) else 0.0
            self._refuse(payer, budget, self._limits(payer)[budget], wait)

    def has_room(self, payer: Principal, budget: Budget, count: int, amount: int = 1) -> bool:
        """Whether the budget of a payer that has so many allows this amount of them more."""
        return count + amount <= self._limits(payer).get(budget, math.inf)

    def limits(self, payer: Principal, budget: Budget) -> bool:
        """Whether a payer has a limit of a budget."""
        return budget in self._limits(payer)

    def held(self, payer: Principal, budget: Budget) -> int:
        """How many of a budget a payer holds now."""
        return self._accounts[payer].held[budget]

    def _refuse(self, payer: Principal, budget: Budget, limit: float, wait: float) -> None:
        self._metrics.budget_refusals.labels(budget.value, payer.kind.value).inc()
        raise BudgetExhausted(payer, budget, limit, min(wait, MAX_RETRY_SECONDS))
