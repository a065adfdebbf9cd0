"""What CreateMatch and BatchCreateMatches ask for: read, admitted and answered."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import wire
from croupier.v1 import match_pb2
from croupier.v1.error_pb2 import ErrorReason
from engine.game import SPECTATOR
from service.admission.admission import Admission
from service.admission.budgets import Budget
from service.api.authentication import Authenticator, Tokens, key_name
from service.common.call import Call
from service.common.event_loop import LongWork
from service.hosting.creation import NewMatch
from service.hosting.match_state import MatchState
from service.hosting.matches import Matches
from service.hosting.played_on import Start, StartError, drawing_on
from service.hosting.records import RecordError, replaying_record
from service.hosting.seats import Caller, check_display_name
from service.puzzles.library import Library
from service.store import Header, Seated
from wire.errors import Refusal, invalid_field, within

_OPEN = match_pb2.SeatConfig(open=match_pb2.OpenSeat())


class MatchCreation:
    """Creates matches for callers."""

    def __init__(
        self,
        matches: Matches,
        library: Library,
        tokens: Tokens,
        authenticator: Authenticator,
        allow_seeds: bool,
        admission: Admission,
        long_work: LongWork | None = None,
    ) -> None:
        self._long_work = long_work or LongWork()
        self._admission = admission
        self._matches = matches
        self._library = library
        self._tokens = tokens
        self._authenticator = authenticator
        self._allow_seeds = allow_seeds

    async def create(
        self, request: match_pb2.CreateMatchRequest, call: Call
    ) -> match_pb2.CreateMatchResponse:
        """Creates a match; raises Refusal."""
        asked = await self._read(request, call)
        state = await self._matches.create(asked, partial(self.admit, call))
        call.match = state.header.match_id
        return self._answer(state)

    async def create_all(
        self, requests: Sequence[match_pb2.CreateMatchRequest], call: Call
    ) -> list[match_pb2.CreateMatchResponse]:
        """Creates matches, all or none; raises Refusal."""
        # The call itself was counted. Each match costs what a call for it would.
        self._admission.charge(call, Budget.CALLS, len(requests) - 1)
        asked: list[NewMatch] = []
        ids = [request.request_id.lower() for request in requests]
        for number, request in enumerate(requests):
            path = f"requests[{number}]"
            with within(path):
                if ids[number] and ids[number] in ids[:number]:
                    raise invalid_field("request_id", "USED_TWICE", "is that of an earlier one")
                asked.append((await self._read(request, call))._replace(path=path))
            await asyncio.sleep(0)  # Others get in between.
        states = await self._matches.create_all(asked, partial(self.admit, call))
        return [self._answer(state) for state in states]

    async def _read(self, request: match_pb2.CreateMatchRequest, call: Call) -> NewMatch:
        seed = request.seed if request.HasField("seed") else None
        if seed is not None and not self._allow_seeds:
            raise Refusal(
                ErrorReason.ERROR_REASON_SEEDS_NOT_ALLOWED,
                "this server takes no seeds: it was not started with --allow-seeds",
            )
        bots = tuple(int(config.bot.strength) for config in request.seats) or (0, 0)
        invited = tuple(
            seat for seat, config in enumerate(request.seats) if config.HasField("invited")
        )
        if request.entropy_from_seats and (seed is not None or all(bots)):
            rule = "needs an open or invited seat, and excludes a seed"
            raise invalid_field("entropy_from_seats", "ENTROPY_IMPOSSIBLE", rule)
        for seat, config in enumerate(request.seats):
            path = f"seats[{seat}].display_name"
            check_display_name(config.display_name, path)
            for field in ("display_name", "player_id"):
                if getattr(config, field) and not config.HasField("open"):
                    path = f"seats[{seat}].{field}"
                    raise invalid_field(path, "NOT_OPEN", "is for an open seat only")
            if config.player_id and not key_name(call):
                path = f"seats[{seat}].player_id"
                raise invalid_field(path, "NO_KEY", "is for a caller with an API key only")
        self._admission.check_restriction(call, "create_match")
        start = None
        if request.HasField("start_from"):
            start = await self._read_start(request)
            # Alone, nobody else is dealt what a player may have made up.
            alone = any(bots)
            if not (alone or start.logged or self._authenticator.sends_operator_token(call)):
                rule = (
                    "must lead back to a deal that this server holds and nobody has chosen by a "
                    "seed: give a seat to a bot, or let the operator create the match"
                )
                path = f"start_from.{request.start_from.WhichOneof('source')}"
                raise invalid_field(path, "NOT_LOGGED", rule)
        return NewMatch(
            ruleset=request.ruleset,
            bots=bots,
            seed=seed,
            entropy_from_seats=request.entropy_from_seats,
            time_control=request.time_control if request.HasField("time_control") else None,
            id_source=self._tokens.id_source(request.request_id) if request.request_id else None,
            creator=self._tokens.creator(call),
            invited=invited,
            key_name=key_name(call),
            display_names=tuple(config.display_name for config in request.seats) or ("", ""),
            hint_policy=request.hint_policy,
            start=start,
            spectator_delay=int(request.spectator_delay.ToMilliseconds()),
            forbidden_offers=bytes(sorted(request.forbidden_offers)),
            owner=self._tokens.owner(call),
            players=self._players(request, call),
        )

    def _players(self, request: match_pb2.CreateMatchRequest, call: Call) -> tuple[Seated, ...]:
        held: Counter[str] = Counter()
        for seat, each in enumerate(request.seats or [_OPEN, _OPEN]):
            if each.HasField("open"):
                held[self._tokens.player(call, each.player_id)] |= 1 << seat
        del held[""]
        return tuple(Seated(*each) for each in sorted(held.items()))

    def _answer(self, state: MatchState) -> match_pb2.CreateMatchResponse:
        header = state.header
        match_id, invited = header.match_id, header.invited
        return match_pb2.CreateMatchResponse(
            name=f"matches/{match_id}",
            seat_tokens=[
                self._tokens.seat_token(Caller(match_id, seat))
                for seat, bot in enumerate(header.bots)
                if not bot and seat not in invited
            ],
            spectator_token=self._tokens.make(Caller(match_id, SPECTATOR)),
            secret_hash=header.secret_hash,
            invitations=[
                match_pb2.SeatInvitation(seat=seat, invitation=self._tokens.invite(match_id, seat))
                for seat in invited
            ],
        )

    async def _read_start(self, request: match_pb2.CreateMatchRequest) -> Start:
        source = request.start_from
        if source.WhichOneof("source") == "match_token":
            caller = self._tokens.read_field(source.match_token, "start_from.match_token")
            state = await self._authenticator.load(caller)
            if not state.over:
                raise Refusal(
                    ErrorReason.ERROR_REASON_MATCH_NOT_OVER,
                    "another match can begin only at a moment of a match that is over",
                )
            if source.version > state.version:
                raise _no_start(f"must be at most {state.version}, that of the end")
            state = await self._long_work.finish(state.going_back(source.version))
            logged = True
        elif source.WhichOneof("source") == "puzzle_name":
            packed = await self._library.find(source.puzzle_name)
            state, logged = (await self._library.setting(packed)).state, False
        else:
            state = await self._replay(source.record, source.version)
            logged = False
        if state.match is None or state.over or not state.match.position.deciders:
            raise _no_start("must be one in which a seat owes a decision")
        asked = wire.read_ruleset(request.ruleset, "ruleset")
        if wire.write_ruleset(asked) != wire.write_ruleset(state.game):
            rule = "must be that of the match to play on from"
            raise invalid_field("ruleset", "OTHER_RULESET", rule)
        if request.entropy_from_seats and not await self._long_work.finish(
            drawing_on(state.dealt().position)
        ):
            rule = "excludes a start_from after which nothing is drawn"
            raise invalid_field("entropy_from_seats", "ENTROPY_IMPOSSIBLE", rule)
        try:
            start = state.start_here(logged=logged)
            held = None if logged else await self._held(state)
            if held is not None and held.start_here() == start:
                start = held.start_here(logged=True)
            return start
        except StartError as error:
            raise _no_start(str(error)) from None

    async def _held(self, state: MatchState) -> MatchState | None:
        # The match of a record that was sent, as the log has it at this version; None if it is not
        # there, cannot be shown, or is not over.
        held = await self._matches.find(state.header.match_id, shown=True)
        if held is None or not held.over or held.version < state.version:
            return None
        held = await self._long_work.finish(held.going_back(state.version))
        return held if held.match is not None else None

    async def _replay(self, record: match_pb2.MatchRecord, version: int) -> MatchState:
        try:
            return await self._long_work.finish(replaying_record(record, version))
        except RecordError as error:
            field = f"start_from.record.{error.field}".removesuffix(".")
            raise invalid_field(field, "NOT_A_RECORD", str(error)) from None

    @asynccontextmanager
    async def admit(self, call: Call, headers: Sequence[Header]) -> AsyncIterator[None]:
        """While matches that do not exist yet are created; raises Refusal."""
        size = sum(len(header.ruleset) + len(header.start) for header in headers)
        count = partial(self._matches.count_live, headers[0].creator)
        async with self._admission.adding(call, Budget.LIVE_MATCHES, count, len(headers)):
            # Last, since what was spent does not come back.
            self._admission.spend(call, Budget.MATCHES, len(headers))
            self._admission.spend(call, Budget.RULESET_BYTES, size)
            yield


def _no_start(rule: str) -> Refusal:
    return invalid_field("start_from.version", "NOT_PLAYABLE", rule)
