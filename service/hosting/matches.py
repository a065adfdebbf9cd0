"""The hosted matches: the life of one action, from the request to the log and back."""

import asyncio
import base64
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache, partial

from croupier.v1.clock_pb2 import TimeControl
from croupier.v1.error_pb2 import ErrorReason
from croupier.v1.game_pb2 import Action, Ruleset
from engine.errors import ActionError
from service import wire
from service.clock import Clock
from service.errors import Refusal
from service.hosting.caller import Caller
from service.hosting.match_state import MatchState
from service.metrics import Metrics
from service.store import Entry, EntryKind, Header, Listed, MatchStatus, Query, Store

MATCHES_KEPT = 1024  # In memory; the others are computed from the log again.
SNAPSHOT_EVERY = 64  # Versions.
_ID_BYTES = 16
TAKEN_OVER_AFTER = 5_000  # Milliseconds; by then a server that can act has acted, or said so.


class Matches:
    """All matches of a store.

    What is kept in memory is computed from the log and only ever ahead of nothing: an action is
    applied to a copy and committed to the log, and only then is it seen. The locks spare useless
    work; that an action is applied at most once rests on the store's append alone.
    """

    def __init__(self, store: Store, metrics: Metrics, clock: Clock | None = None) -> None:
        self._store = store
        self._metrics = metrics
        self._clock = clock or Clock()
        self._kept: OrderedDict[str, MatchState] = OrderedDict()
        self._lock = lru_cache(MATCHES_KEPT)(lambda match_id: asyncio.Lock())
        self._waiting: set[asyncio.Future[None]] = set()
        self.closing = False
        # Called with each match that this server has created or added to, and what was agreed.
        self.on_commit: Callable[[MatchState, MatchStatus], None] = lambda state, status: None

    async def create(
        self,
        ruleset: Ruleset,
        bots: tuple[int, ...],
        seed: int | None,
        entropy_from_seats: bool = False,
        time_control: TimeControl | None = None,
        named_by: bytes | None = None,
    ) -> MatchState:
        """Deals a match, or lets it wait for the entropy of its seats.

        One that is named by something is the same whenever it is asked for, and whoever is asked.
        Raises Refusal for a ruleset that breaks a rule, and if that match was asked for otherwise.
        """
        game = wire.read_ruleset(ruleset, "ruleset")
        match_id = _write_id(named_by or secrets.token_bytes(_ID_BYTES))
        secret = secrets.token_bytes(32)
        chance_id = match_id
        if seed is not None:
            secret = hashlib.sha256(b"croupier/seed/v1\0" + seed.to_bytes(8, "big")).digest()
            chance_id = ""
        header = Header(
            match_id=match_id,
            game=game.id,
            ruleset=ruleset.SerializeToString(deterministic=True),
            rules_version=game.rules_version,
            secret=secret,
            chance_id=chance_id,
            bots=bots,
            created=self._clock.now(),
            entropy_from_seats=entropy_from_seats,
            time_control=_write_time_control(time_control),
        )
        if named_by is None:
            return await self._create(header)
        state = await self._create_once(header)
        if not _asks_for(header, state.header):
            raise Refusal(
                ErrorReason.ERROR_REASON_REQUEST_ID_REUSED,
                "this request_id was used for a match that was asked for otherwise",
            )
        return state

    async def _create(self, header: Header) -> MatchState:
        state = MatchState(header)
        status = scheduled_status(state)
        await self._store.create(header, status)
        self._metrics.match(header.game, "created")
        self._keep(state)
        self.on_commit(state, status)
        return state

    async def _create_once(self, header: Header) -> MatchState:
        # The match of this id, whoever has created it.
        try:
            return await self.load(header.match_id)
        except Refusal as refusal:
            if refusal.reason != ErrorReason.ERROR_REASON_MATCH_NOT_FOUND:
                raise
        try:
            return await self._create(header)
        except ValueError:
            # Another has asked meanwhile.
            return await self.load(header.match_id)

    async def rematch(self, state: MatchState) -> MatchState:
        """The one match that follows a match that is over, the seats exchanged."""
        if not state.over:
            raise Refusal(ErrorReason.ERROR_REASON_MATCH_NOT_OVER, "the match is not over yet")
        header = state.header
        # Its id follows from that of the match, so that whoever asks, wherever, means the same one.
        what = f"croupier/rematch/v1\0{header.match_id}\0".encode() + header.secret
        match_id = _write_id(hashlib.sha256(what).digest())
        again = header._replace(
            match_id=match_id,
            rules_version=state.game.rules_version,
            secret=secrets.token_bytes(32),
            chance_id=match_id,
            bots=header.bots[::-1],
            created=self._clock.now(),
        )
        return await self._create_once(again)

    async def find(self, query: Query, most: int) -> Sequence[Listed]:
        """The matches that are asked for, those that were created last first, at most so many."""
        return await self._store.find(query, most)

    async def forget(self, before: int, most: int) -> int:
        """Deletes matches that ended before then, at most so many; how many it were."""
        forgotten = await self._store.forget(before, most)
        # Also those that another server has deleted.
        for match_id, state in list(self._kept.items()):
            if state.over and state.time < before:
                del self._kept[match_id]
        return len(forgotten)

    async def load(self, match_id: str) -> MatchState:
        """A match as the log has it now; raises Refusal if there is none."""
        state = self._kept.get(match_id)
        if state is None:
            stored = await self._store.load(match_id)
            if stored is None:
                raise Refusal(
                    ErrorReason.ERROR_REASON_MATCH_NOT_FOUND,
                    "there is no such match",
                    metadata={"match": f"matches/{match_id}"},
                )
            state = MatchState.load(stored)
            self._keep(state)
            return state
        entries = await self._store.read(match_id, state.version)
        if entries:
            state = state.after(*entries)
            self._keep(state)
        return state

    async def submit(
        self, caller: Caller, expected_version: int, action: Action, request_id: str
    ) -> bytes:
        """Decides for a seat; returns its view right after. Raises Refusal, and nothing changed."""

        def decide(state: MatchState, at: int) -> bytes | MatchState:
            return self._decide(state, at, caller.seat, expected_version, action, request_id)

        return await self._carry_out(caller, decide)

    def _decide(
        self,
        state: MatchState,
        at: int,
        seat: int,
        expected_version: int,
        action: Action,
        request_id: str,
    ) -> bytes | MatchState:
        wire.check_game(state.game, action, "action")
        entry = Entry(
            EntryKind.ACTION,
            seat,
            at,
            wire.canonical_action(state.game, action),
            expected_version,
            request_id,
        )
        repeated = state.version_of(seat, request_id)
        if repeated is not None:
            return self._answer_again(state, repeated, entry)
        check_running(state)
        if state.is_stale(seat, expected_version):
            raise Refusal(
                ErrorReason.ERROR_REASON_STALE_VERSION,
                f"the match is at version {state.version}",
                metadata={"current_version": str(state.version)},
            )
        check_decides(state, seat)
        try:
            return state.after(entry)
        except ActionError as error:
            raise wire.illegal_action(error, action, "action") from None

    def _answer_again(self, state: MatchState, version: int, entry: Entry) -> bytes:
        # When it was sent does not matter.
        if state.entry(version)._replace(at=entry.at) != entry:
            raise Refusal(
                ErrorReason.ERROR_REASON_REQUEST_ID_REUSED,
                "this request_id was used for another action or another version",
            )
        return state.at(version).view(entry.seat)

    async def contribute(self, caller: Caller, kind: EntryKind, data: bytes) -> bytes:
        """Adds a seat's contribution to the chance of the match; returns its view after it."""

        def decide(state: MatchState, at: int) -> bytes | MatchState:
            entry = Entry(kind, caller.seat, at, data)
            # When it was made does not matter.
            if any(each._replace(at=entry.at) == entry for each in state.entries):
                return state.view(caller.seat)
            check_running(state)
            return state.after(entry)

        return await self._carry_out(caller, decide)

    async def resign(self, caller: Caller) -> bytes:
        """Gives a match up; returns the seat's view at the end.

        Raises Refusal if it is over, unless that is because this seat has given it up.
        """

        def decide(state: MatchState, at: int) -> bytes | MatchState:
            if state.resigned == caller.seat:
                return state.view(caller.seat)
            check_running(state)
            return state.after(Entry(EntryKind.RESIGNATION, caller.seat, at))

        return await self._carry_out(caller, decide)

    async def _carry_out(
        self, caller: Caller, decide: Callable[[MatchState, int], bytes | MatchState]
    ) -> bytes:
        # `decide` says what a match becomes at a time, or what to answer at once.
        match_id = caller.match_id
        async with self._lock(match_id):
            state = self._kept.get(match_id) or await self.load(match_id)
            while True:
                at = self._time_after(state)
                expiry = state.expiry(at)
                try:
                    # What comes at a deadline or later comes after it, also if nobody has said so.
                    decided = state.after(expiry) if expiry else decide(state, at)
                except Refusal:
                    # What is kept may be behind what another server has written.
                    latest = await self.load(match_id)
                    if latest.version == state.version:
                        raise
                    state = latest
                    continue
                if isinstance(decided, bytes):
                    return decided
                appending = self._commit(decided)
                answer = decided.view(caller.seat)  # Put together while the log is written.
                if not await appending:
                    state = await self._load_after(state)
                elif expiry:
                    state = decided
                else:
                    return answer

    async def expire(self, match_id: str) -> MatchState:
        """The match after what its clocks say now, as the log has it then."""
        async with self._lock(match_id):
            state = await self.load(match_id)
            while (expiry := state.expiry(self._time_after(state))) is not None:
                after = state.after(expiry)
                state = after if await self._commit(after) else await self._load_after(state)
            return state

    async def _load_after(self, refused: MatchState) -> MatchState:
        # The match as the log has it, which has refused an entry.
        match_id = refused.header.match_id
        state = await self.load(match_id)
        if state.version == refused.version:
            # The log was set back: a standby that took the place of the database did not have all.
            self._kept.pop(match_id, None)
            state = await self.load(match_id)
        return state

    async def changed(self, match_id: str, version: int) -> None:
        """Returns when a match may be past a version, or the server shuts down."""
        if self.closing:
            return
        change = asyncio.ensure_future(self._store.wait(match_id, version))
        self._waiting.add(change)
        try:
            await change
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self.closing or (task and task.cancelling()):
                raise
        finally:
            self._waiting.discard(change)

    def close(self) -> None:
        """Ends all waiting for changes."""
        self.closing = True
        for change in self._waiting:
            change.cancel()

    def _commit(self, after: MatchState) -> Awaitable[bool]:
        status = scheduled_status(after)
        return self._store.append(
            after.header.match_id,
            after.version - 1,
            after.entry(after.version),
            status,
            # Whether the caller stays or not, what is in the log is seen.
            partial(self._committed, after, status),
        )

    def _committed(self, after: MatchState, status: MatchStatus) -> None:
        if after.entry(after.version).kind == EntryKind.EXPIRY:
            self._metrics.expiry(after.game.id)
        if after.over:
            resigned = "resigned" if after.resigned is not None else "ended"
            self._metrics.match(after.game.id, "expired" if after.forfeited else resigned)
        elif after.version % SNAPSHOT_EVERY == 0:
            self._store.keep(after.header.match_id, after.snapshot())
        self._keep(after)
        self.on_commit(after, status)

    def _keep(self, state: MatchState) -> None:
        match_id = state.header.match_id
        kept = self._kept.get(match_id)
        if kept is None or kept.version < state.version:
            self._kept[match_id] = state
        self._kept.move_to_end(match_id)
        if len(self._kept) > MATCHES_KEPT:
            self._kept.popitem(last=False)

    def _time_after(self, state: MatchState) -> int:
        # Clocks can be set back, and those of two servers differ; the time of a match only goes on.
        return max(self._clock.now(), state.time)


def _write_id(data: bytes) -> str:
    return base64.b32encode(data[:_ID_BYTES]).decode().rstrip("=").lower()


def _asks_for(asked: Header, found: Header) -> bool:
    # Whether a match is what was asked for; when, and under which version of the rules, does not
    # matter. What its secret is, the caller says by a seed or not at all.
    chosen = asked if asked.seeded else asked._replace(secret=found.secret)
    return found == chosen._replace(created=found.created, rules_version=found.rules_version)


def _write_time_control(time_control: TimeControl | None) -> bytes:
    return b"" if time_control is None else time_control.SerializeToString(deterministic=True)


def scheduled_status(state: MatchState) -> MatchStatus:
    """What goes into the agenda with the last entry of a match.

    Whoever writes the entry lets its bots decide, at once; the others if it does not.
    """
    status = state.status
    if status.due is None or state.bot_due is None:
        return status
    due = status.due + TAKEN_OVER_AFTER
    return status._replace(due=due if state.deadline is None else min(due, state.deadline))


def check_running(state: MatchState) -> None:
    """Raises Refusal if a match is over."""
    if state.over:
        raise Refusal(ErrorReason.ERROR_REASON_MATCH_OVER, "the match is over")


def check_decides(state: MatchState, seat: int) -> None:
    """Raises Refusal unless a seat owes a decision."""
    if seat not in state.deciders:
        raise Refusal(ErrorReason.ERROR_REASON_NOT_TO_DECIDE, f"seat {seat} owes no decision now")
