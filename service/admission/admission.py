"""Admission: who pays for each call, and what it uses of whose budgets (`budgets.py` has them)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING

from croupier.v1.error_pb2 import ErrorReason
from service.admission.budgets import Budget, BudgetExhausted, BudgetLimits, Held, Ledger
from service.admission.callers_file import Callers, Jwt
from service.admission.identification import Identification
from service.common.call import Call, Kind, Principal
from service.observability.metrics import Metrics
from wire.errors import Refusal

if TYPE_CHECKING:
    from service.admission.signed_tokens import SignedTokens

CALL_BYTES = 30_000  # Of a call that waits or is not read, besides its request and its response.
HANDSHAKE_MILLISECONDS = 1.0  # Of a processor, for a handshake of TLS.
MAX_WAITING_BYTES = 20_000_000  # Of all refusals that wait; more come at once.


class Admission:
    """The callers of a server: who they are, and how much of their budgets is left."""

    def __init__(self, callers: Callers, metrics: Metrics) -> None:
        """Raises ValueError if a package is missing that the callers need."""
        self._tasks = metrics.tasks
        self._signed_tokens = self._make_signed_tokens(callers.jwt)
        self.identification = Identification(callers, self._signed_tokens)
        self._callers = callers
        self._ledger = Ledger(_limits(callers), metrics)
        self._refusals_waiting = 0  # Bytes.
        # Of calls that add to what is counted: what is set when each has ended, in their order.
        # It comes with how much they add.
        self._adding: dict[tuple[Principal, Budget], list[tuple[asyncio.Event, int]]] = {}
        self._closing = asyncio.Event()

    async def open(self) -> None:
        """Reads the keys of signed tokens; raises OSError or ValueError."""
        if self._signed_tokens is not None:
            await self._signed_tokens.open()

    async def replace(self, callers: Callers) -> None:
        """Knows other callers from now on; what is used of budgets stays used.

        Raises OSError or ValueError, and has changed nothing then.
        """
        signed_tokens = self._signed_tokens
        if callers.jwt != self._callers.jwt:
            signed_tokens = self._make_signed_tokens(callers.jwt)
            if signed_tokens is not None:
                await signed_tokens.open()
            if self._signed_tokens is not None:
                self._signed_tokens.close()
        self._callers, self._signed_tokens = callers, signed_tokens
        self.identification.know(callers, signed_tokens)
        self._ledger.limit_by(_limits(callers))

    def _make_signed_tokens(self, configured: Jwt | None) -> "SignedTokens | None":
        if configured is None:
            return None
        try:
            from service.admission.signed_tokens import SignedTokens
        except ModuleNotFoundError as missing:
            needs = f"signed tokens need {missing.name}: install croupier-server[jwt]"
            raise ValueError(needs) from None
        return SignedTokens(configured, self._tasks)

    def close(self) -> None:
        """Ends what runs in the background; refusals come at once from now on."""
        self._closing.set()
        if self._signed_tokens is not None:
            self._signed_tokens.close()

    def admit(self, call: Call) -> None:
        """Identifies the caller of a call, and counts the call; raises Refusal."""
        try:
            call.principal, call.payers = self.identification.identify(call)
        except Refusal:
            # Keys are guessed at the expense of the address.
            self.admit_address(call)
            raise
        call.admitted_by = self._callers
        self._ledger.spend(call.payers, Budget.CALLS)
        self._ledger.check(call.payers, Budget.PROCESSOR)

    def readmit(self, call: Call) -> None:
        """Identifies the caller of an admitted call again if the callers were replaced since.

        Raises Refusal if its key or the issuer of its signed token is not known any more.
        """
        before = call.admitted_by
        if before is self._callers:
            return
        call.admitted_by = self._callers
        kind = call.principal.kind
        # A token that has only expired since then ends no call.
        if kind in (Kind.KEY, Kind.PLAYER) or (
            kind is Kind.SUBJECT and before.jwt != self._callers.jwt
        ):
            call.principal, call.payers = self.identification.identify(call)
            if kind is Kind.SUBJECT and call.principal.kind is not kind:
                raise Refusal(
                    ErrorReason.ERROR_REASON_KEY_INVALID,
                    "this server takes no signed tokens any more",
                )

    def admit_address(self, call: Call) -> None:
        """Counts what is no call, such as a file, as one of its address; raises Refusal."""
        call.payers = self.identification.address_payers(call)
        self._ledger.spend(call.payers, Budget.CALLS)
        self._ledger.check(call.payers, Budget.PROCESSOR)

    async def wait_to_refuse(self, refusal: BudgetExhausted, request: int) -> None:
        """Returns when it is time for a refusal: at once if the caller had few of them.

        A caller that goes on calling has to wait for its refusals, and fills no more than its own
        streams. `request` is the number of bytes that stay in memory meanwhile.
        """
        delay = self._ledger.refusal_delay(refusal.payer)
        size = CALL_BYTES + request
        if not delay or self._refusals_waiting + size > MAX_WAITING_BYTES:
            return
        self._refusals_waiting += size
        try:
            await self._pass(delay)
        finally:
            self._refusals_waiting -= size

    async def wait_for(self, call: Call, budget: Budget) -> None:
        """Returns when something is left of a budget that is charged afterwards."""
        delay = self._ledger.delay(call.payers, budget)
        if delay > 0:
            await self._pass(delay)

    async def _pass(self, seconds: float) -> None:
        # Waits for some seconds, unless the server stops.
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    def check_restriction(self, call: Call, what: str) -> None:
        """Raises Refusal if the operator restricts this to keys and the caller has none."""
        self.identification.check_restriction(what, call.principal)

    def spend(self, call: Call, budget: Budget, amount: float = 1.0) -> None:
        """Uses an amount of a budget; raises Refusal if too little is left."""
        self._ledger.spend(call.payers, budget, amount)

    def check(self, call: Call, budget: Budget) -> None:
        """Raises Refusal if nothing is left of a budget that is charged afterwards."""
        self._ledger.check(call.payers, budget)

    def charge(self, call: Call, budget: Budget, amount: float) -> None:
        """Uses an amount of a budget that may be more than is left."""
        self._ledger.charge(call.payers, budget, amount)

    def share(self, call: Call, budget: Budget, amount: float) -> float:
        """The share of a budget that an amount is; 0.0 if the budget is unlimited."""
        return self._ledger.share(call.payers, budget, amount)

    @asynccontextmanager
    async def adding(
        self, call: Call, budget: Budget, count: Callable[[], Awaitable[int]], amount: int = 1
    ) -> AsyncIterator[None]:
        """While the principal adds to what it has, counted by `count`; raises Refusal."""
        principal = call.principal
        if principal not in call.payers or not self._ledger.limits(principal, budget):
            yield
            return
        added = asyncio.Event(), amount
        adding = self._adding.setdefault((principal, budget), [])
        earlier = list(adding)
        adding.append(added)
        try:
            with self._ledger.hold([principal], budget):
                # What earlier calls add may be counted already, or come to nothing. Where that
                # matters, they are waited for: each waits for earlier ones alone, so one goes on.
                while earlier := [each for each in earlier if not each[0].is_set()]:
                    most = await count() + sum(more for _, more in earlier)
                    if self._ledger.has_room(principal, budget, most, amount):
                        break
                    for event, _ in earlier:
                        await event.wait()
                else:
                    self._ledger.check_count(principal, budget, await count(), amount)
                yield
        finally:
            added[0].set()
            adding.remove(added)
            if not adding:
                del self._adding[principal, budget]

    def holding_bytes(self, call: Call) -> Held:
        """What holds the bytes of a call that was admitted."""
        return self._ledger.holding(call.payers, Budget.BYTES)

    def holding_connection(self, peer: str, most: int) -> tuple[Held, Held]:
        """What holds a connection of browsers and its bytes, by its address alone.

        `peer` is as in a Call. An address may hold `most` connections, and a trusted proxy all.
        """
        payers = self.identification.peer_payers(peer)
        return (
            self._ledger.holding(payers, Budget.WEB_CONNECTIONS, most),
            self._ledger.holding(payers, Budget.BYTES),
        )

    def delay_handshake(self, peer: str, most: float) -> float:
        """In how many seconds a connection of a peer may begin its handshake of TLS.

        It is counted if that is less than `most`.
        """
        payers = self.identification.peer_payers(peer)
        delay = self._ledger.delay(payers, Budget.PROCESSOR)
        if delay < most:
            self._ledger.charge(payers, Budget.PROCESSOR, HANDSHAKE_MILLISECONDS)
        return delay

    def hold(self, call: Call, budget: Budget) -> AbstractContextManager[None]:
        """Uses one of a budget until the block ends; raises Refusal when it is entered."""
        return self._ledger.hold(call.payers, budget)


def _limits(callers: Callers) -> Callable[[Principal], BudgetLimits]:
    keys = {key.name: key.limits for key in callers.keys.values()}

    def limits(principal: Principal) -> BudgetLimits:
        if principal.kind is Kind.KEY:
            # A call of a key that was revoked ends, and gives back what it holds.
            return keys.get(principal.name, {})
        return callers.address if principal.kind is Kind.ADDRESS else callers.person

    return limits
