"""The hosted matches: the life of a request, from the match state to the log and back."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext, suppress
from contextvars import Context, copy_context
from functools import lru_cache, partial
from typing import TypeAlias

import wire
from croupier.v1.error_pb2 import ErrorReason
from croupier.v1.game_pb2 import MatchAction, ThenUnless
from engine.errors import ActionError, RulesFault
from service.common.errors import log_failure, match_damaged, match_not_found
from service.common.event_loop import LongWork
from service.hosting.clocks import Clock
from service.hosting.creation import (
    NewMatch,
    Wanted,
    asks_for,
    limited_header,
    modelled_header,
    new_header,
    rematch_header,
    rematch_id,
)
from service.hosting.delayed import Delayed
from service.hosting.entries import Action, Commit, Decline, Idle, Join, Reply
from service.hosting.history import code_of
from service.hosting.leases import correct_due, leased_status
from service.hosting.match_cache import MAX_CACHED, MatchCache, Watch, Watches
from service.hosting.match_state import KINDS, MatchState
from service.hosting.offers import due_entry
from service.hosting.records import writing_record
from service.hosting.seats import Caller
from service.hosting.views import show_all
from service.observability import tracing
from service.observability.metrics import Metrics
from service.store import (
    ANOTHER_LOG,
    Entry,
    Head,
    Header,
    IdleMatch,
    ListedMatch,
    Listener,
    MatchStatus,
    Query,
    Seated,
    Store,
)
from service.store.chain import Damaged
from wire.errors import Refusal, within

_log = logging.getLogger(__name__)

SNAPSHOT_EVERY = 64  # Versions.
MIN_REREAD_SECONDS, MAX_REREAD_SECONDS = 1.0, 30.0
# With these a match is refused that is there.
NOT_SHOWN = (ErrorReason.ERROR_REASON_MATCH_DAMAGED, ErrorReason.ERROR_REASON_RULES_CHANGED)

# The context in which matches of some headers are created; it raises Refusal for one too many.
Admit: TypeAlias = Callable[[Sequence[Header]], AbstractAsyncContextManager[object]]

# Writes the response to a request from the state right after it.
Write: TypeAlias = Callable[[MatchState], bytes]

# What a caller's request makes of a state at a time; raises Refusal.
Ask: TypeAlias = Callable[[MatchState, int, Caller], Reply | Commit]


class Matches:
    """All matches of a store.

    In-memory state is derived from the log and is never ahead of it: an action is applied to a copy
    and committed to the log, and only then do others see it. The locks spare useless work; that an
    action is applied at most once rests on the store's append alone.
    """

    def __init__(
        self,
        store: Store,
        metrics: Metrics,
        clock: Clock | None = None,
        max_default_actions: int = 0,
        long_work: LongWork | None = None,
    ) -> None:
        """`max_default_actions` is the limit of new matches, in a row for a seat; 0 for none."""
        self._max_default_actions = max_default_actions
        self._store = store
        self._metrics = metrics
        self.tasks = metrics.tasks
        self._clock = clock or Clock()
        self._cache = MatchCache()
        wire.of_each("its files cannot be read", lambda game: code_of(game.id))
        self._long_work = long_work or LongWork()
        self.delayed = Delayed(self._clock, self._long_work)
        metrics.add_match_cache(self._cache.__len__)
        self._lock = lru_cache(MAX_CACHED)(lambda match_id: asyncio.Lock())
        self._watches = Watches()
        # The watched matches that are being read, and what the store has told of them since then.
        self._told: dict[str, int] = {}
        self.presence = store.presence
        self._end_listening = (
            store.listen(Listener(self._hear, self._watches.watched, self._known_head)),
            store.presence.listen(
                lambda place: self._watches.nudge(place.match_id, 1 - place.seat)
            ),
        )
        self.closing = False
        # Called after each entry and each match that this server has committed, with the match and
        # with the status that was written to the log.
        self.commit_listener: Callable[[MatchState, MatchStatus], None] = lambda state, status: None

    # Creating matches

    async def create(self, asked: NewMatch, admit: Admit = nullcontext) -> MatchState:
        """As `create_all`."""
        return (await self.create_all([asked], admit))[0]

    async def create_all(
        self, asked: Sequence[NewMatch], admit: Admit = nullcontext
    ) -> list[MatchState]:
        """Deals matches, or lets them wait for invited seats and for entropy: all or none.

        Each with an `id_source` is created once, however often and wherever it is asked for.
        `admit` is entered for the headers of those that do not exist yet. Raises Refusal for a
        ruleset that breaks a rule, and if the same `id_source` has made another kind of match.
        """
        now, wanted = self._clock.now(), []
        for each in asked:
            with within(each.path):
                header = new_header(each, now)
            wanted.append(Wanted(header, each.players, each.path, each.id_source is not None))
        states = await self._create_once(wanted, admit, check=True)
        return [states[each.header.match_id] for each in wanted]

    async def rematch(
        self,
        state: MatchState,
        seat: int,
        key_name: str = "",
        creator: str = "",
        admit: Admit = nullcontext,
        player: str = "",
    ) -> MatchState:
        """The one match that follows a match that is over, the seats exchanged.

        `seat` asks for it. If its seat in the rematch is an invited one, it joins. Raises Refusal.
        """
        if not state.over:
            raise Refusal(ErrorReason.ERROR_REASON_MATCH_NOT_OVER, "the match is not over yet")
        if state.seats.missing:
            raise Refusal(
                ErrorReason.ERROR_REASON_SEAT_NOT_JOINED,
                f"seat {state.seats.missing[0]} was never joined, so nobody could play the rematch",
            )
        header = rematch_header(state, creator, self._clock.now(), self._max_default_actions)
        players: Sequence[Seated] = ()
        if header.owner and not header.invited:
            players = await self._store.list_players(header.rematch_of)
        wanted = Wanted(header, tuple(each.exchanged() for each in players))
        [rematch] = (await self._create_once([wanted], admit)).values()
        if 1 - seat in rematch.header.invited:
            name = state.seats.display_names[seat]
            join = partial(
                Join.ask, key_name=key_name, display_name=name, request_id="", player=player
            )
            await self.carry_out(Caller(rematch.header.match_id, 1 - seat), join)
        return rematch

    async def decline_rematch(self, state: MatchState, seat: int) -> MatchState:
        """Ends the rematch that is offered after a match; returns it. Raises Refusal."""
        decliner = Caller(rematch_id(state.header), 1 - seat)
        if await self.find(decliner.match_id) is None:
            raise Refusal(ErrorReason.ERROR_REASON_REMATCH_NOT_OFFERED, "no rematch is offered")
        await self.carry_out(decliner, Decline.ask)
        return await self.load(decliner.match_id)

    async def _create_once(
        self, wanted: Sequence[Wanted], admit: Admit, *, check: bool = False
    ) -> dict[str, MatchState]:
        # The matches of these ids, whichever servers and requests have created them. `check` is
        # whether they must be of the same kind.
        before: list[Wanted] = []
        while True:
            found: dict[str, MatchState] = {}
            for each in wanted:
                state = await self.find(each.header.match_id) if each.once else None
                if state is None:
                    continue
                found[state.header.match_id] = state
                if check and not asks_for(each.header, state.header):
                    with within(each.path):
                        raise Refusal(
                            ErrorReason.ERROR_REASON_REQUEST_ID_REUSED,
                            "this request_id was used to create a match of another kind",
                        )
            missing = [each for each in wanted if each.header.match_id not in found]
            if missing and missing == before:
                # The log has something of one of them, and not the match.
                what = "it is not in the table matches"
                raise self.damaged(Damaged(missing[0].header.match_id, 0, what))
            before = missing
            created = await self._create(missing, admit) if missing else {}
            if created is not None:
                return found | created

    async def _create(self, wanted: Sequence[Wanted], admit: Admit) -> dict[str, MatchState] | None:
        # None if another request has created one of them meanwhile.
        headers = []
        for each in wanted:
            with within(each.path):
                header = limited_header(each.header, self._max_default_actions)
            headers.append(modelled_header(header).salted())
        async with admit(headers):
            created: dict[str, tuple[MatchState, MatchStatus]] = {}
            for header, each in zip(headers, wanted, strict=True):
                state = await self._long_work.finish(MatchState.beginning(header, new=True))
                status = leased_status(state)._replace(players=each.players)
                show_all(state)
                created[header.match_id] = state, status
                if len(wanted) > 1:
                    await asyncio.sleep(0)  # Others get in between.
            creating = self._store.create_all(
                [(each.header, status) for each, status in created.values()]
            )
            try:
                await tracing.commit(creating)
            except ValueError:
                return None
        for state, status in created.values():
            match_id = state.header.match_id
            self.tasks.attempt("committed", self._created, state, status, about=match_id)
        return {match_id: state for match_id, (state, _) in created.items()}

    def _created(self, state: MatchState, status: MatchStatus) -> None:
        self._cache.put(state)
        self._watches.publish(state)
        self.commit_listener(state, status)
        self._metrics.matches.labels(state.header.game, "created").inc()

    # Listing and deleting matches

    async def count_live(self, creator: str) -> int:
        """How many matches of a creator are not over."""
        return await self._store.count_live(creator)

    async def list_matches(self, query: Query, limit: int) -> Sequence[ListedMatch]:
        """At most `limit` of the matches that fit a query, the newest first."""
        return await self._store.list_matches(query, limit)

    async def delete_ended(self, before: int, limit: int) -> int:
        """Deletes at most `limit` matches that ended before a time; returns how many it deleted."""
        deleted = await self._store.delete_ended(before, limit)
        for match_id in deleted:
            self._lose(match_id, match_not_found(match_id))
        # Also those that another server has deleted.
        self._cache.drop_ended(before)
        return len(deleted)

    # Ending idle matches

    async def list_idle(
        self, before: int, after: IdleMatch | None, limit: int
    ) -> Sequence[IdleMatch]:
        """At most `limit` matches that wait without a clock since before a time; as in `Store`."""
        return await self._store.list_idle(before, after, limit)

    async def end_idle(self, match_id: str, before: int) -> bool:
        """Ends a match that has waited without a clock since before a time; returns if it did."""
        async with self._lock(match_id):
            # Not cached: it would take the place of a match that is played.
            state = await self._read(match_id)
            if not state.can_be_idle or state.time >= before:
                return False
            after = state.after(Idle.end(state, self._next_time(state)))
            return await self._commit(state, after, self._idle_ended)

    def _idle_ended(self, after: MatchState, status: MatchStatus) -> None:
        self._cache.drop(after.header.match_id)
        self._watches.publish(after)
        self._metrics.matches.labels(after.game.id, "idle").inc()
        self.commit_listener(after, status)

    # Reading matches

    async def load(self, match_id: str, *, used: bool = True) -> MatchState:
        """A match as the log has it now; raises Refusal if there is none.

        `used` says whether a call is the reason, for the cache.
        """
        known = self._known(match_id)
        self._metrics.looked_up(known is not None)
        state = await self._read(match_id)
        if state is not known:
            self._cache.put(state, used=used)
        self._watches.publish(state)
        return state

    async def _read(self, match_id: str) -> MatchState:
        # As `load`: what is known of a match is believed only if the log has it, and no more.
        try:
            with suppress(Damaged):
                return await self._read_once(match_id)
            # What is read in parts may not fit together, where it is deleted meanwhile.
            self._forget(match_id)
            return await self._read_once(match_id)
        except Damaged as damage:
            raise self._lose(match_id, self.damaged(damage)) from None
        except Refusal as refusal:
            if refusal.reason in NOT_SHOWN:
                self._lose(match_id, refusal)
            raise

    async def _read_once(self, match_id: str) -> MatchState:
        state = self._known(match_id)
        if state is not None:
            later = await self._store.read(match_id, state.head)
            if later is not None:
                state = await self._long_work.finish(state.replaying(later.entries))
                return state.with_head(later.head)
            self._forget(match_id)
        stored = await self._store.load(match_id)
        if stored is None and self._known(match_id) is not None:
            return await self._read_once(match_id)  # It was created meanwhile, as rematches are.
        if stored is None:
            raise self._lose(match_id, match_not_found(match_id))
        state = await self._long_work.finish(MatchState.loading(stored))
        correct_due(self._store, self.tasks, state, stored, self._clock.now())
        return state

    def damaged(self, damage: Damaged) -> Refusal:
        """Tells the operator of a damaged match; returns the refusal of calls that need it."""
        self._metrics.damaged_matches.inc()
        _log.error("%s", damage)
        return match_damaged(damage.match_id, damage.version)

    def _forget(self, match_id: str) -> None:
        self._cache.drop(match_id)
        self._watches.forget(match_id)

    def _lose(self, match_id: str, why: Refusal) -> Refusal:
        # Those who had a match that the log does not have, or that cannot be shown any more, are
        # told, with what this returns.
        self._forget(match_id)
        self._watches.lose(match_id, why)
        return why

    async def find(self, match_id: str, *, shown: bool = False) -> MatchState | None:
        """As `load`, but None if there is no such match; with `shown`, none that can be shown."""
        try:
            return await self.load(match_id)
        except Refusal as refusal:
            missing = ErrorReason.ERROR_REASON_MATCH_NOT_FOUND
            if refusal.reason == missing or (shown and refusal.reason in NOT_SHOWN):
                return None
            raise

    def _known(self, match_id: str) -> MatchState | None:
        # Those who watch a match have its state in memory anyway, however many others are cached.
        return self._cache.get(match_id) or self._watches.known(match_id)

    def _known_head(self, match_id: str) -> Head | None:
        state = self._known(match_id)
        return None if state is None else state.head

    async def recall_events(self, state: MatchState, version: int) -> None:
        """Finds the events of a version of a match, if a snapshot has skipped them."""
        if state.knows_events(version):
            return
        async with self._lock(state.header.match_id):
            if not state.knows_events(version):
                await self._long_work.finish(state.recalling_events())

    async def record(self, state: MatchState) -> bytes:
        """The record of a match that is over, as a serialized MatchRecord."""
        return await self._long_work.finish(writing_record(state))

    @property
    def reads(self) -> bool:
        """As `Store.reads`."""
        return self._store.reads

    def watch(self, match_id: str) -> AbstractContextManager[Watch]:
        """A watch of a match, which need not exist; its waiting ends when the server shuts down."""
        return self._watches.watch(match_id)

    def _hear(self, match_id: str, version: int) -> None:
        if not self._is_news(match_id, version):
            return
        reads = match_id in self._told
        self._told[match_id] = max(version, self._told.get(match_id, -1))
        if not reads:
            # For all that watch, so it belongs to no call.
            self.tasks.finish(
                "watched match", self._read_told, match_id, about=match_id, context=Context()
            )

    async def _read_told(self, match_id: str) -> bool:
        # What is told once may come when it is not possible to read. Many matches may be watched,
        # so they are tried not all at once, and less and less often.
        seconds = MIN_REREAD_SECONDS
        while self._is_news(match_id, told := self._told[match_id]):
            self._told[match_id] = -1  # What is told from now on may come after what is read.
            try:
                await self.find(match_id)
                told = -1
            except Refusal:
                await asyncio.sleep(seconds * random.uniform(0.5, 1.0))
                seconds = min(2 * seconds, MAX_REREAD_SECONDS)
            finally:
                self._told[match_id] = max(told, self._told[match_id])
        del self._told[match_id]
        return True

    def _is_news(self, match_id: str, version: int) -> bool:
        # What this server has committed or read itself was handed to the watches then.
        known = self._known(match_id)
        newest = -1 if known is None else known.version
        return version > newest and match_id in self._watches.watched()

    def close(self) -> None:
        """Ends all watching."""
        self.closing = True
        for end in self._end_listening:
            end()
        self._watches.close()

    # Changing matches. A refused request changes nothing.

    async def submit(
        self,
        caller: Caller,
        expected_version: int,
        action: MatchAction,
        request_id: str,
        write: Write = lambda state: b"",
        etag: str = "",
        then: Sequence[MatchAction] = (),
        then_unless: ThenUnless = ThenUnless.THEN_UNLESS_UNSPECIFIED,
    ) -> bytes:
        """Decides for a seat; returns the response, as written. Raises Refusal.

        `etag` is that of the expected version; empty for any version of the number. `then` is what
        the seat decides ahead.
        """
        ask = partial(
            Action.ask,
            expected_version=expected_version,
            action=action,
            request_id=request_id,
            etag=etag,
            then=then,
            then_unless=then_unless,
        )
        return await self.carry_out(caller, ask, write)

    async def cancel_ahead(self, caller: Caller, write: Write) -> bytes:
        """Takes back what a seat has decided ahead; returns the response. Raises Refusal."""
        match_id = caller.match_id
        async with self._lock(match_id):
            state = await self.load(match_id)
            while True:
                state.seats.check_token(caller)
                after, head = state.with_ahead(caller.seat, b""), state.head
                if after is state:
                    return write(state)
                status = leased_status(after)
                if await self._store.replace_ahead(match_id, head, status.ahead, status.due):
                    self._cache.put(after)
                    self._watches.publish(after)
                    return write(after)
                state = await self._newer(state)

    async def settle(self, match_id: str) -> MatchState:
        """Adds what is due in a match now, apart from bots; returns it as the log then has it."""
        async with self._lock(match_id):
            state = await self.load(match_id, used=False)
            while (due := due_entry(state, self._next_time(state))) is not None:
                state = await self._commit_due(state, due)
            return state

    async def carry_out(self, caller: Caller, ask: Ask, write: Write = lambda state: b"") -> bytes:
        """Carries out a request, against as many states of the match as it takes.

        Returns the response, as written. Raises Refusal.
        """
        match_id = caller.match_id
        async with self._lock(match_id):
            state = self._known(match_id)
            if state is None:
                state = await self.load(match_id)
            else:
                self._metrics.looked_up(True)
            failed: RulesFault | None = None
            while True:
                at = self._next_time(state)
                due = due_entry(state, at)
                if due is not None:
                    # A time is up, or a seat has decided ahead, though no server has written it
                    # yet: that comes first.
                    try:
                        state = await self._commit_due(state, due)
                        continue
                    except RulesFault as fault:
                        log_failure("what is due", fault)
                        failed = fault
                try:
                    outcome = ask(state, at, caller)
                except ActionError as error:
                    # Only a resignation can come where the rules fail at what the clock demands.
                    raise failed or error from None
                except Refusal:
                    # The cached state may be behind what another server has written.
                    latest = await self.load(match_id)
                    if latest.head == state.head:
                        raise
                    state = latest
                    continue
                if isinstance(outcome, Reply):
                    # No log has said that the state is the latest; in a later one, the token of the
                    # caller may have been replaced.
                    latest = await self.load(match_id)
                    if latest.head == state.head:
                        return write(await self._answered(outcome))
                    state = latest
                    continue
                response = write(outcome.state)
                committing = self._commit(state, outcome.state, players=outcome.players)
                if await committing:
                    return response
                state = await self._newer(state)

    async def _answered(self, reply: Reply) -> MatchState:
        # The match with which a request is answered, with its events.
        state = await self._long_work.finish(reply.state.going_back(reply.version))
        await self._long_work.finish(state.recalling_events())
        return reply.then(state)

    async def _commit_due(self, state: MatchState, due: Entry) -> MatchState:
        # The match with what is due, or as another server has made it.
        after = state.after(due)
        return after if await self._commit(state, after) else await self._newer(state)

    async def _newer(self, state: MatchState) -> MatchState:
        # The match as the log has it, which takes nothing after a state: so it has come further.
        newer = await self.load(state.header.match_id)
        if newer.head == state.head:
            what = "the log takes no entry after it, and has none"
            raise self.damaged(Damaged(state.header.match_id, state.version, what))
        return newer

    def _commit(
        self,
        before: MatchState,
        after: MatchState,
        committed: Callable[[MatchState, MatchStatus], None] | None = None,
        players: tuple[Seated, ...] = (),
    ) -> Awaitable[bool]:
        # Adds the last entry of a state to the log; whether the log took it.
        if after.early_end is None:
            show_all(after)
        status = leased_status(after)._replace(players=players)
        committing = self._store.append(
            after.header.match_id,
            before.head,
            after.entry(after.version),
            status,
            # Also when the caller has gone: what is in the log must be seen. What follows from it,
            # such as the decision of a bot, belongs to this call, whichever call commits.
            partial(copy_context().run, committed or self._committed, after, status),
        )
        return tracing.commit(committing) if tracing.is_on() else committing

    def _committed(self, after: MatchState, status: MatchStatus) -> None:
        # First what others wait for.
        match_id, entry = after.header.match_id, after.entry(after.version)
        by_clock = KINDS[entry.kind].by_clock
        if (known := self._known(match_id)) is not None and known.lacks_names_of(after):
            self._forget(match_id)  # They were erased while this was committed.
            self._hear(match_id, ANOTHER_LOG)
        else:
            self._cache.put(after, used=not (by_clock or after.header.bots[entry.seat]))
            self._watches.publish(after)
        self.commit_listener(after, status)
        if by_clock:
            self._metrics.expiries.labels(after.game.id).inc()
        if after.over:
            outcome = "ended" if after.early_end is None else after.early_end.outcome
            self._metrics.matches.labels(after.game.id, outcome).inc()
        elif after.version % SNAPSHOT_EVERY == 0 and after.match is not None:
            self._store.save_snapshot(after.header.match_id, after.snapshot())

    def _next_time(self, state: MatchState) -> int:
        # The time of a match never goes back, though a clock can, and those of two servers differ.
        return max(self._clock.now(), state.time)
