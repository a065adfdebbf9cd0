"""FeedService: what changes in many matches, and the views of many seats."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable

import wire
from croupier.v1 import feed_pb2, feed_pb2_grpc, game_pb2
from croupier.v1.error_pb2 import ErrorReason
from service.admission.admission import Admission
from service.admission.budgets import Budget
from service.api.authentication import Authenticator, Tokens
from service.common.call import Call
from service.common.errors import as_refusal, shutting_down
from service.hosting.feed import Feed
from service.hosting.matches import Matches
from service.hosting.views import serialize_view
from service.observability.metrics import Metrics
from service.store import Position, Update
from service.store.chain import Damaged
from wire.errors import Refusal, invalid_field
from wire.fields import read_mask

VIEWS_AT_ONCE = 8
_UPDATES = feed_pb2.WatchMatchesResponse.UPDATES_FIELD_NUMBER
_RESULTS = feed_pb2.BatchGetViewsResponse.RESULTS_FIELD_NUMBER
_VIEW = feed_pb2.ViewResult.VIEW_FIELD_NUMBER

_CURSOR_FIELD = feed_pb2.WatchMatchesResponse.CURSOR_FIELD_NUMBER
_CURSOR = re.compile(r"([0-9a-fA-F-]{1,60})\.([0-9]{1,19})")


class FeedService(feed_pb2_grpc.FeedServiceServicer):
    """Tells of many matches at once."""

    def __init__(
        self,
        feed: Feed,
        matches: Matches,
        tokens: Tokens,
        authenticator: Authenticator,
        admission: Admission,
        metrics: Metrics,
    ) -> None:
        self._feed = feed
        self._matches = matches
        self._tokens = tokens
        self._authenticator = authenticator
        self._admission = admission
        self._metrics = metrics

    async def WatchMatches(
        self, request: feed_pb2.WatchMatchesRequest, call: Call
    ) -> AsyncIterator[bytes]:
        owner = self._owner(call)
        interval = request.heartbeat_interval.ToNanoseconds() / 1e9 or None
        with self._metrics.watchers.track_inprogress(), self._feed.following():
            listed: dict[str, int] = {}  # The versions that were told of what runs.
            if request.cursor:
                position = _read_cursor(request.cursor)
            else:
                # Its end first, so that no change falls between.
                position = await self._feed.end()
                after: tuple[int, str] | None = (0, "")
                while after is not None:
                    running, after = await self._feed.list_running(owner, after)
                    listed.update((each.match_id, each.version) for each in running)
                    cursor = "" if after is not None else _write_cursor(position)
                    running = [each for each in self._whole(running) if _is_of(each, owner)]
                    yield _write(running, request.filter, cursor)
                    if after is not None:
                        await self._pay_for_part(call)
            loop = asyncio.get_running_loop()
            sent = loop.time()
            while not self._feed.closing:
                left = None if interval is None else max(0.0, sent + interval - loop.time())
                found = await self._feed.after(position, left)
                position = Position(found.epoch, found.end)
                # Of each match the last, which is the newest.
                newest = {
                    each.match_id: each
                    for each in self._whole(found.updates)
                    if _is_of(each, owner) and _is_new(each, listed)
                }
                response = _write(newest.values(), request.filter, _write_cursor(position))
                if newest or (interval is not None and loop.time() >= sent + interval):
                    if newest or self._matches.reads:
                        yield response
                    sent = loop.time()
                if found.more:
                    await self._pay_for_part(call)
        raise shutting_down()

    async def _pay_for_part(self, call: Call) -> None:
        # A part of a list, or of the log for who is far behind, costs as much as a call.
        self._admission.charge(call, Budget.CALLS, 1.0)
        await self._admission.wait_for(call, Budget.CALLS)

    def _whole(self, updates: Iterable[Update]) -> list[Update]:
        # Without those that are not what was written: the operator is told.
        whole = []
        for each in updates:
            if each.damaged:
                what = "what the feed tells of it was changed"
                self._matches.damaged(Damaged(each.match_id, each.version, what))
            else:
                whole.append(each)
        return whole

    def _owner(self, call: Call) -> str | None:
        # Whose matches a call may follow; None for those of all.
        if self._authenticator.sends_operator_token(call):
            return None
        owner = self._tokens.owner(call)
        if not owner:
            raise Refusal(
                ErrorReason.ERROR_REASON_KEY_REQUIRED,
                "only a caller with an API key or a signed token (JWT) has matches of its own; the "
                "operator's token shows all matches",
            )
        return owner

    async def BatchGetViews(self, request: feed_pb2.BatchGetViewsRequest, call: Call) -> bytes:
        fields = read_mask(request.read_mask, game_pb2.View)
        # The call itself was counted. More than a caller has left is a debt, so that a batch may be
        # larger than what it has for a second.
        self._admission.charge(call, Budget.CALLS, len(request.tokens) - 1)
        results = []
        for place, token in enumerate(request.tokens):
            if place % VIEWS_AT_ONCE == 0:
                await asyncio.sleep(0)  # Others get in between: of what is cached, nothing waits.
            try:
                caller = self._tokens.read_field(token, f"tokens[{place}]")
                state = await self._authenticator.load(caller)
                result = wire.field(_VIEW, serialize_view(state, caller.seat, fields))
            # A match that cannot be shown, whatever the reason is, must not take the others along.
            except Exception as failure:
                refusal = as_refusal(call.method, failure)
                error = feed_pb2.ViewError(reason=refusal.reason, message=str(refusal))
                result = feed_pb2.ViewResult(error=error).SerializeToString()
            results.append(wire.field(_RESULTS, result))
        return b"".join(results)


def _is_of(update: Update, owner: str | None) -> bool:
    return owner is None or update.owner == owner


def _is_new(update: Update, listed: dict[str, int]) -> bool:
    # What the feed has kept since before a match was listed may be older than what was told.
    if update.version < listed.get(update.match_id, 0):
        return False
    listed.pop(update.match_id, None)
    return True


def _read_cursor(cursor: str) -> Position:
    found = _CURSOR.fullmatch(cursor)
    if found is None or int(found[2]) >= 2**63:
        raise invalid_field("cursor", "NO_CURSOR", "must be the cursor of a response")
    return Position(found[1], int(found[2]))


def _write_cursor(position: Position) -> str:
    return f"{position.epoch}.{position.number}"


def _write(updates: Iterable[Update], chosen: int, cursor: str) -> bytes:
    # A response. Updates are written around what the log has of them, and not parsed.
    written = [
        wire.field(_UPDATES, _write_update(each))
        for each in updates
        if chosen == feed_pb2.UPDATE_FILTER_UNSPECIFIED or _is_chosen(each, chosen)
    ]
    if cursor:
        written.append(wire.field(_CURSOR_FIELD, cursor.encode()))
    return b"".join(written)


def _write_update(update: Update) -> bytes:
    named = feed_pb2.MatchUpdate(name=f"matches/{update.match_id}", version=update.version)
    named.update_time.FromMilliseconds(update.at)
    return named.SerializeToString() + update.feed


def _is_chosen(update: Update, chosen: int) -> bool:
    told = feed_pb2.MatchUpdate.FromString(update.feed)
    if chosen == feed_pb2.UPDATE_FILTER_DUE:
        return bool(told.due_seats)
    return told.HasField("result")
