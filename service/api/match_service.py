"""MatchService: requests about hosted matches, and their responses."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import (
    AbstractContextManager,
    nullcontext,
    suppress,
)
from functools import partial

from google.protobuf.timestamp_pb2 import Timestamp

import wire
from croupier.v1 import match_pb2, match_pb2_grpc
from croupier.v1.error_pb2 import ErrorReason
from engine.game import SPECTATOR
from service.admission.admission import Admission
from service.admission.budgets import Budget
from service.api.authentication import Authenticator, Tokens, key_name
from service.api.match_creation import MatchCreation
from service.api.paging import invalid_page_token, read_page_token, write_page_token
from service.common.call import Call
from service.common.errors import as_refusal, shutting_down, version_in_future
from service.hosting.clocks import Clock
from service.hosting.creation import rematch_id
from service.hosting.delayed import Untold
from service.hosting.entries import Abort, Entropy, EntropyHash, EntryKind, Join, Resignation, Token
from service.hosting.erasing import BOTH, FIRST, Erasing
from service.hosting.feed import PAGE as FEED_PAGE
from service.hosting.match_cache import SetBack, Watch
from service.hosting.match_state import MatchState
from service.hosting.matches import Ask, Matches
from service.hosting.offers import AnswerOffer, MakeOffer, Resume
from service.hosting.seats import Caller, check_display_name, check_seat
from service.hosting.views import (
    list_item,
    serialize_events,
    serialize_view,
    write_invitation,
    write_match,
    write_rematch,
)
from service.observability.metrics import Metrics
from service.store import ListedMatch, Query
from service.store.chain import Damaged
from service.store.presence import OtherSeat, Place
from wire.errors import Refusal, invalid_field
from wire.fields import ALL, Fields, read_mask

PAGE_SIZE = 50
MAX_TIME = 2**53  # Milliseconds since 1970.
MAX_PAGE_SIZE = 1000
WRITTEN_AT_ONCE = 50

_OVER = {
    match_pb2.MATCH_STATE_UNSPECIFIED: None,
    match_pb2.MATCH_STATE_RUNNING: False,
    match_pb2.MATCH_STATE_OVER: True,
}
MAX_WAIT_SECONDS = 60.0
# How long before its deadline a call that waits is answered; at most a quarter of its time.
ANSWER_SECONDS = 0.25


def read_page(
    request: match_pb2.ListMatchesRequest, owner: str = "", player: str = ""
) -> tuple[Query, int]:
    """The query and the page size; raises Refusal for a page_token of another list."""
    since, until = (
        _read_time(getattr(request, field)) if request.HasField(field) else None
        for field in ("created_since", "created_before")
    )
    game, over = request.game.removeprefix("games/"), _OVER[request.state]
    query = Query(game, over, owner=owner, player=player, since=since, until=until)
    size = min(request.page_size or PAGE_SIZE, MAX_PAGE_SIZE)
    if not request.page_token:
        return query, size
    return query._replace(before=_read_place(request.page_token, _filters(query))), size


def _read_place(page_token: str, filters: object) -> tuple[int, str]:
    # When a match was created, and its id.
    try:
        created, match_id = read_page_token(page_token, filters)
        place = (int(created), match_id)
    except ValueError:
        raise invalid_page_token() from None
    if not -(2**63) <= place[0] < 2**63 or not match_id.isalnum():
        raise invalid_page_token()
    return place


def _read_time(time: Timestamp) -> int:
    # Rounded up, as matches are created in whole milliseconds; within what a log can compare.
    return min(max(1000 * time.seconds - (-time.nanos // 1_000_000), 0), MAX_TIME)


def page_token(query: Query, last: ListedMatch, following: ListedMatch) -> str:
    """The token of the page that comes after a match, and begins with another."""
    place = last.created, last.match_id
    if last.damaged and not following.damaged:
        # Its place may be another one than it has; that of the next one is told by its neighbour.
        place = following.created, f"{following.match_id}z"
    return _write_place(_filters(query), *place)


def _write_place(filters: object, created: object, match_id: str) -> str:
    # What has changed in the log may be nothing that could be read again.
    if not isinstance(created, int):
        created = -(2**63) if created is None else 2**63 - 1  # As databases order them.
    start = re.match("[a-z0-9]*", match_id)
    return write_page_token(filters, created, (start and start[0]) or "0")


def _filters(query: Query) -> object:
    return tuple(query._replace(before=None))


class MatchService(match_pb2_grpc.MatchServiceServicer):
    """Hosts matches."""

    def __init__(
        self,
        matches: Matches,
        tokens: Tokens,
        authenticator: Authenticator,
        creation: MatchCreation,
        metrics: Metrics,
        clock: Clock,
        admission: Admission,
        erasing: Erasing,
        tell_presence: bool = True,
    ) -> None:
        self._creation = creation
        self._admission = admission
        self._erasing = erasing
        self._matches = matches
        self._tokens = tokens
        self._authenticator = authenticator
        self._tell_presence = tell_presence
        self._metrics = metrics
        self._clock = clock

    async def CreateMatch(
        self, request: match_pb2.CreateMatchRequest, call: Call
    ) -> match_pb2.CreateMatchResponse:
        return await self._creation.create(request, call)

    async def BatchCreateMatches(
        self, request: match_pb2.BatchCreateMatchesRequest, call: Call
    ) -> match_pb2.BatchCreateMatchesResponse:
        created = await self._creation.create_all(request.requests, call)
        return match_pb2.BatchCreateMatchesResponse(matches=created)

    async def JoinMatch(
        self, request: match_pb2.JoinMatchRequest, call: Call
    ) -> match_pb2.JoinMatchResponse:
        joiner = self._tokens.read_invitation(request.invitation)
        call.match = joiner.match_id
        name = request.display_name
        check_display_name(name, "display_name")
        join_id = self._tokens.join_id(request.request_id)
        join = partial(
            Join.ask,
            key_name=key_name(call),
            display_name=name,
            request_id=join_id,
            player=self._tokens.player(call),
        )
        await self._matches.carry_out(joiner, join)
        state = await self._matches.load(joiner.match_id)
        return match_pb2.JoinMatchResponse(
            name=f"matches/{joiner.match_id}",
            seat_token=self._tokens.seat_token(joiner),
            spectator_token=self._tokens.make(Caller(joiner.match_id, SPECTATOR)),
            secret_hash=state.header.secret_hash,
        )

    async def GetInvitation(
        self, request: match_pb2.GetInvitationRequest, call: Call
    ) -> match_pb2.GetInvitationResponse:
        invited = self._tokens.read_invitation(request.invitation)
        call.match = invited.match_id
        return write_invitation(await self._matches.load(invited.match_id), invited.seat)

    async def ReplaceSeatToken(
        self, request: match_pb2.ReplaceSeatTokenRequest, call: Call
    ) -> match_pb2.ReplaceSeatTokenResponse:
        caller = await self._authenticator.admit(call, request.name)
        check_seat(caller)
        request_id = self._tokens.replacement_id(request.request_id)
        await self._matches.carry_out(caller, partial(Token.ask, request_id=request_id))
        replaced = caller._replace(generation=caller.generation + 1)
        return match_pb2.ReplaceSeatTokenResponse(seat_token=self._tokens.seat_token(replaced))

    async def GetMatch(
        self, request: match_pb2.GetMatchRequest, call: Call
    ) -> match_pb2.GetMatchResponse:
        state = await self._authenticator.read(call, request.name)
        match = write_match(list_item(state), state.result, state.origin)
        return match_pb2.GetMatchResponse(hosted_match=match)

    async def GetView(self, request: match_pb2.GetViewRequest, call: Call) -> bytes:
        fields = read_mask(request.read_mask, match_pb2.GetViewResponse)
        wanted = request.wait_for_version
        # Watched before it is read, so that no change falls between.
        with self._watch(request.name) if wanted else nullcontext() as watched:
            caller, state = await self._authenticator.enter(call, request.name)
            if watched is not None and state.version < wanted:
                watch = self._authenticator.delay(caller, state, watched)
                with (
                    self._admission.hold(call, Budget.STREAMS),
                    self._metrics.watchers.track_inprogress(),
                    suppress(TimeoutError, SetBack),
                ):
                    async with asyncio.timeout(_max_wait(call)):
                        while state.version < wanted and not (state.over or self._matches.closing):
                            state = await watch.newer(state)
                            state.seats.check_token(caller)
                state = watch.newest(state)
        response = match_pb2.GetViewResponse(timed_out=state.version < wanted and not state.over)
        response.server_time.FromMilliseconds(self._clock.now())
        if state.over and (fields.all or "rematch" in fields):
            offer = write_rematch(await self._find_rematch(caller, state))
            if offer.name:
                response.rematch.CopyFrom(offer)
        fields.prune(response)
        return _write_view(state, caller.seat, fields) + response.SerializeToString()

    async def SubmitAction(self, request: match_pb2.SubmitActionRequest, call: Call) -> bytes:
        caller = await self._authenticator.admit(call, request.name)
        check_seat(caller)
        # The call itself was counted. Each decision ahead costs what a call with it would.
        if request.then_actions:
            self._admission.charge(call, Budget.CALLS, len(request.then_actions))
        fields = read_mask(request.read_mask, match_pb2.SubmitActionResponse)

        def write(state: MatchState) -> bytes:
            response = _write_view(state, caller.seat, fields)
            if fields.all or "events" in fields:
                response += serialize_events(state, state.version, caller.seat)
            return response

        return await self._matches.submit(
            caller,
            request.expected_version,
            request.action,
            request.request_id,
            write,
            request.etag,
            request.then_actions,
            request.then_unless,
        )

    async def CancelDecisionsAhead(
        self, request: match_pb2.CancelDecisionsAheadRequest, call: Call
    ) -> bytes:
        caller = await self._authenticator.admit(call, request.name)
        check_seat(caller)
        return await self._matches.cancel_ahead(caller, partial(_write_view, viewer=caller.seat))

    async def WatchMatch(
        self, request: match_pb2.WatchMatchRequest, call: Call
    ) -> AsyncIterator[bytes]:
        fields = read_mask(request.read_mask, match_pb2.WatchMatchResponse)
        # Watched before it is read, so that no change falls between.
        with self._watch(request.name) as watched:
            caller, state = await self._authenticator.enter(call, request.name)
            watch = self._authenticator.delay(caller, state, watched)
            version = request.after_version if request.HasField("after_version") else -1
            if version > state.version:
                raise version_in_future(state.version)
            if request.etag and version >= 0 and request.etag != state.etag(version):
                raise SetBack(state)
            sent = None if version < 0 else version
            skip_own, viewer = request.skip_own_actions, caller.seat
            interval = request.heartbeat_interval.ToNanoseconds() / 1e9 or None
            beat = interval is not None  # Whether nothing was sent for so long.
            beside = _beside(state, viewer)  # As the caller knows it.
            watch.seat = None if viewer == SPECTATOR else viewer
            with (
                self._metrics.watchers.track_inprogress(),
                self._attend(request, caller, state) as other_seat,
            ):
                while not self._matches.closing:
                    state.seats.check_token(caller)
                    if version < state.version and not isinstance(state, Untold):
                        # Written only when it can be sent, so that a slow reader costs no memory.
                        version += 1
                        if skip_own and _is_own(state, version, viewer):
                            beat = interval is not None  # Else several of them are silence.
                        else:
                            if not state.knows_events(version):
                                await self._matches.recall_events(state, version)
                            yield _write_change(state, version, viewer, fields)
                        sent, beside = version, _beside(state, viewer)
                        # The view comes with the newest version, so that must be the newest there
                        # is.
                        state = watch.next(state)
                        continue
                    if state.over and not request.follow_rematch:
                        return
                    # Only the log can say that nothing is newer.
                    if beat and self._matches.reads:
                        state = watch.refreshed(state)
                        known, beside = beside, _beside(state, viewer)
                        changed = beside != known
                        view = _write_changed_view(state, viewer, fields) if changed else b""
                        yield _write_heartbeat(max(version, 0), other_seat()) + view
                    if state.over:
                        break
                    newer = await watch.newer(state, interval)
                    # Names were erased where a newer state is of the same version.
                    beat = newer.version == state.version and interval is not None
                    state = newer
                else:
                    raise shutting_down(sent)
                async for response in self._follow_rematch(caller, state, interval, other_seat):
                    yield response
        if self._matches.closing:
            raise shutting_down(sent)

    def _attend(
        self, request: match_pb2.WatchMatchRequest, caller: Caller, state: MatchState
    ) -> AbstractContextManager[OtherSeat]:
        # Seats of people tell each other, and whoever hides is told nothing.
        hides = request.hide_presence or not self._tell_presence
        if hides or caller.seat == SPECTATOR or any(state.header.bots):
            return nullcontext(lambda: match_pb2.SEAT_PRESENCE_UNSPECIFIED)
        return self._matches.presence.attend(Place(caller.match_id, caller.seat))

    async def _follow_rematch(
        self, caller: Caller, state: MatchState, interval: float | None, other_seat: OtherSeat
    ) -> AsyncIterator[bytes]:
        # What becomes of the rematch, until it has begun or was declined.
        match_id, offer = rematch_id(state.header), match_pb2.RematchOffer()
        with self._matches.watch(match_id) as watched:
            watch = self._authenticator.delay(caller, state, watched)
            rematch = await self._find_rematch(caller, state)
            while not self._matches.closing:
                if (changed := write_rematch(rematch)) != offer:
                    offer = changed
                    yield match_pb2.WatchMatchResponse(
                        version=state.version, rematch=offer
                    ).SerializeToString()
                    if offer.state != match_pb2.REMATCH_STATE_OFFERED:
                        return
                known = rematch
                if rematch is None:
                    rematch = await watch.any(interval)
                else:
                    rematch = await watch.newer(rematch, interval)
                if rematch is known and interval is not None and self._matches.reads:
                    yield _write_heartbeat(state.version, other_seat())

    async def _find_rematch(self, caller: Caller, state: MatchState) -> MatchState | None:
        # As far as the holder of a token of the match before may know it; whatever is wrong with it
        # must not take that match along.
        rematch = await self._matches.find(rematch_id(state.header), shown=True)
        if rematch is not None:
            rematch = await self._authenticator.shown(caller, rematch)
        return None if isinstance(rematch, Untold) else rematch

    def _watch(self, match: str) -> AbstractContextManager[Watch]:
        return self._matches.watch(match.removeprefix("matches/"))

    async def ResignMatch(self, request: match_pb2.ResignMatchRequest, call: Call) -> bytes:
        return await self._decide(request.name, call, Resignation.ask)

    async def AbortMatch(self, request: match_pb2.AbortMatchRequest, call: Call) -> bytes:
        return await self._decide(request.name, call, Abort.ask)

    async def MakeOffer(self, request: match_pb2.MakeOfferRequest, call: Call) -> bytes:
        return await self._decide(request.name, call, partial(MakeOffer.ask, offered=request.kind))

    async def AnswerOffer(self, request: match_pb2.AnswerOfferRequest, call: Call) -> bytes:
        answer = partial(
            AnswerOffer.ask,
            offer_version=request.offer_version,
            agreed=request.agree,
            etag=request.etag,
        )
        return await self._decide(request.name, call, answer)

    async def ResumeMatch(self, request: match_pb2.ResumeMatchRequest, call: Call) -> bytes:
        return await self._decide(request.name, call, Resume.ask)

    async def _decide(self, match: str, call: Call, ask: Ask) -> bytes:
        # What a seat asks for that is answered with its view.
        caller = await self._authenticator.admit(call, match)
        check_seat(caller)
        write = partial(_write_view, viewer=caller.seat)
        return await self._matches.carry_out(caller, ask, write)

    async def GetRecord(self, request: match_pb2.GetRecordRequest, call: Call) -> bytes:
        state = await self._authenticator.read(call, request.name)
        if not state.over:
            raise Refusal(
                ErrorReason.ERROR_REASON_MATCH_NOT_OVER,
                "the record holds hidden cards: it is for matches that are over",
            )
        record = await self._matches.record(state)
        return wire.field(match_pb2.GetRecordResponse.RECORD_FIELD_NUMBER, record)

    async def ContributeEntropy(
        self, request: match_pb2.ContributeEntropyRequest, call: Call
    ) -> bytes:
        if request.HasField("entropy_hash"):
            contribute = partial(EntropyHash.ask, data=request.entropy_hash)
        else:
            contribute = partial(Entropy.ask, data=request.entropy)
        return await self._decide(request.name, call, contribute)

    async def Rematch(
        self, request: match_pb2.RematchRequest, call: Call
    ) -> match_pb2.RematchResponse:
        caller, state = await self._authenticator.enter(call, request.name)
        check_seat(caller)
        rematch = await self._matches.rematch(
            state,
            caller.seat,
            key_name(call),
            self._tokens.creator(call),
            partial(self._creation.admit, call),
            self._tokens.player(call),
        )
        match_id, seat = rematch.header.match_id, 1 - caller.seat
        return match_pb2.RematchResponse(
            name=f"matches/{match_id}",
            # The holder of a seat's token gets that of the other seat in the next match. So no one
            # holds both tokens who did not in the match before.
            seat_token=self._tokens.seat_token(Caller(match_id, seat)),
            spectator_token=self._tokens.make(Caller(match_id, SPECTATOR)),
            secret_hash=rematch.header.secret_hash,
        )

    async def DeclineRematch(
        self, request: match_pb2.DeclineRematchRequest, call: Call
    ) -> match_pb2.DeclineRematchResponse:
        caller, state = await self._authenticator.enter(call, request.name)
        check_seat(caller)
        rematch = await self._matches.decline_rematch(state, caller.seat)
        return match_pb2.DeclineRematchResponse(rematch=write_rematch(rematch))

    async def ListMatches(
        self, request: match_pb2.ListMatchesRequest, call: Call
    ) -> match_pb2.ListMatchesResponse:
        owner = player = ""
        if not self._authenticator.sends_operator_token(call):
            player = self._tokens.player(call)
            owner = "" if player else self._tokens.owner(call)
            if not (owner or player):
                self._authenticator.admit_operator(call)
        query, size = read_page(request, owner, player)
        # One match more than is shown tells whether another page follows.
        found = await self._matches.list_matches(query, size + 1)
        # The call itself was counted. What is read besides costs as much as of the feed.
        self._admission.charge(call, Budget.CALLS, len(found) // FEED_PAGE)
        token = page_token(query, *found[size - 1 : size + 1]) if len(found) > size else ""
        response = match_pb2.ListMatchesResponse(next_page_token=token)
        for place, listed in enumerate(found[:size]):
            if place % WRITTEN_AT_ONCE == 0:
                await asyncio.sleep(0)  # Others get in between.
            name = f"matches/{listed.match_id}"
            try:
                if listed.damaged:
                    what = "what lists tell of it was changed"
                    raise self._matches.damaged(Damaged(listed.match_id, listed.version, what))
                response.matches.append(write_match(listed))
            # A match that cannot be shown, whatever the reason is, must not take the others along.
            except Exception as failure:
                refusal = as_refusal(call.method, failure)
                response.matches.add(name=name)
                response.errors.add(name=name, reason=refusal.reason, message=str(refusal))
        return response

    async def EraseNames(
        self, request: match_pb2.EraseNamesRequest, call: Call
    ) -> match_pb2.EraseNamesResponse:
        if request.name:
            erased = await self._erase_in_match(request, call)
            return match_pb2.EraseNamesResponse(erased_matches=int(erased))
        if request.player_id and not key_name(call):
            raise invalid_field("player_id", "NO_KEY", "is for a caller with an API key only")
        player = self._tokens.player(call, request.player_id)
        if self._tokens.player(call) not in ("", player):
            rule = "must be the player with whom the call comes, if it comes with one"
            raise invalid_field("player_id", "OTHER_PLAYER", rule)
        if not player:
            rule = (
                "must be set, or player_id, unless the call comes with a player or a signed token"
            )
            raise invalid_field("name", "MISSING", rule)
        after = _read_place(request.page_token, player) if request.page_token else FIRST
        done = await self._erasing.of_player(player, after)
        # The call itself was counted. Each match that was changed costs what a call for it would.
        self._admission.charge(call, Budget.CALLS, done.matches)
        response = match_pb2.EraseNamesResponse(erased_matches=done.matches)
        for match_id, refusal in done.errors:
            name = f"matches/{match_id}"
            response.errors.add(name=name, reason=refusal.reason, message=str(refusal))
        if done.end is not None:
            response.next_page_token = _write_place(player, *done.end)
        return response

    async def _erase_in_match(self, request: match_pb2.EraseNamesRequest, call: Call) -> bool:
        for field in ("player_id", "page_token"):
            if getattr(request, field):
                raise invalid_field(field, "WITH_NAME", "is for all matches of a player")
        state = await self._authenticator.read(call, request.name)
        seats = BOTH
        if not self._authenticator.is_operator(call):
            caller = await self._authenticator.admit(call, request.name)
            check_seat(caller)
            seats = 1 << caller.seat
        return await self._erasing.in_match(state.header.match_id, seats)


# All responses with a view have it in a field of the same number, but that of WatchMatch.
_VIEW = match_pb2.SubmitActionResponse.VIEW_FIELD_NUMBER
_CHANGE_VERSION = match_pb2.WatchMatchResponse.VERSION_FIELD_NUMBER
_CHANGE_ETAG = match_pb2.WatchMatchResponse.ETAG_FIELD_NUMBER
_CHANGE_OWN_ACTION = match_pb2.WatchMatchResponse.OWN_ACTION_FIELD_NUMBER
_CHANGE_VIEW = match_pb2.WatchMatchResponse.VIEW_FIELD_NUMBER


def _write_heartbeat(version: int, other_seat: match_pb2.SeatPresence) -> bytes:
    # A response of WatchMatch that says that this is the newest version.
    response = match_pb2.WatchMatchResponse(version=version, up_to_date=True, other_seat=other_seat)
    return response.SerializeToString()


def _beside(state: MatchState, viewer: int) -> tuple[bytes, int]:
    # What changes in a view without a version: what was decided ahead, and names that were erased.
    ahead = b"" if viewer == SPECTATOR else state.ahead[viewer]
    return ahead, state.header.erased_seats


def _write_view(state: MatchState, viewer: int, fields: Fields = ALL) -> bytes:
    # The field `view` of a response.
    if not fields.all and "view" not in fields:
        return b""
    return wire.field(_VIEW, serialize_view(state, viewer, fields["view"]))


def _write_change(state: MatchState, version: int, viewer: int, fields: Fields) -> bytes:
    # A response of WatchMatch. The view comes with the newest version.
    whole = fields.all
    response = b""
    if version and (whole or "version" in fields):
        response = wire.number_field(_CHANGE_VERSION, version)
    if whole or "events" in fields:
        response += serialize_events(state, version, viewer)
    if version == state.version:
        response += _write_changed_view(state, viewer, fields)
    if whole or "etag" in fields:
        response += wire.field(_CHANGE_ETAG, state.etag(version).encode())
    if (whole or "own_action" in fields) and _is_own(state, version, viewer):
        response += wire.number_field(_CHANGE_OWN_ACTION, 1)
    return response


def _write_changed_view(state: MatchState, viewer: int, fields: Fields) -> bytes:
    if not fields.all and "view" not in fields:
        return b""
    return wire.field(_CHANGE_VIEW, serialize_view(state, viewer, fields["view"]))


def _is_own(state: MatchState, version: int, seat: int) -> bool:
    # Whether a version is an action that a request of the seat has made.
    entry = state.entry(version) if version else None
    own = entry is not None and (entry.kind, entry.seat) == (EntryKind.ACTION, seat)
    return own and bool(state.entry(version).request_id)


def _max_wait(call: Call) -> float:
    # The seconds that a call may wait so that it is answered before its deadline.
    left = call.time_remaining()
    if left is None:
        return MAX_WAIT_SECONDS
    return min(MAX_WAIT_SECONDS, left - min(ANSWER_SECONDS, left / 4))
