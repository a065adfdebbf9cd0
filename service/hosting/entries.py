"""The kinds of entries: for each, who may make it, what it says, and what follows from it.

A new kind is a class here (or in `offers.py`, if seats agree by it), with its number, and a call of
`Matches.carry_out` where it is asked for. `ask` is a request for an entry: what it makes of a match
state, before anything is written.
"""

import hashlib
from collections.abc import Callable, Sequence
from enum import IntEnum, unique
from functools import partial
from itertools import islice, takewhile
from typing import Any, NamedTuple

import wire
from croupier.v1 import feed_pb2
from croupier.v1.error_pb2 import ErrorReason
from croupier.v1.game_pb2 import EndReason, MatchAction, ThenUnless
from engine.errors import ActionError
from engine.match import Match
from service.hosting.ahead import decided_ahead
from service.hosting.ends import EarlyEnd
from service.hosting.entropy import Contributions, not_owed
from service.hosting.history import REQUEST_END
from service.hosting.match_state import Kind, MatchState
from service.hosting.seats import MAX_GENERATION, Caller, Seats
from service.store import Entry, Seated, chain
from wire.errors import Refusal


@unique
class EntryKind(IntEnum):
    """The numbers of the kinds. They are in every log: none is ever used for anything else."""

    ACTION = 0
    RESIGNATION = 1
    EXPIRY = 2
    ENTROPY_HASH = 4
    ENTROPY = 5
    IDLE = 6
    JOIN = 7
    TOKEN = 8
    DECLINE = 9
    ABORT = 10
    OFFER = 12
    ANSWER = 13
    RESUME = 14


class Reply(NamedTuple):
    """The request changes nothing now."""

    state: MatchState
    version: int  # It is answered with the match as it was at this version,
    # and then with what no entry tells.
    then: Callable[[MatchState], MatchState] = lambda state: state


class Commit(NamedTuple):
    """The request adds an entry: the match with it, to be committed before it is answered."""

    state: MatchState
    players: tuple[Seated, ...] = ()  # Who has joined a seat by it, as in `MatchStatus`.


# Decisions


class Action(Kind, number=EntryKind.ACTION):
    """A seat has decided."""

    field = "action"
    change = feed_pb2.MATCH_CHANGE_DECIDED
    decides = True

    @staticmethod
    def ask(
        state: MatchState,
        at: int,
        caller: Caller,
        expected_version: int,
        action: MatchAction,
        request_id: str,
        etag: str,
        then: Sequence[MatchAction],
        then_unless: ThenUnless,
    ) -> Reply | Commit:
        """Decides for a seat at a time, and ahead; raises Refusal.

        A request that was carried out before is answered as it was then.
        """
        seat = caller.seat
        state.seats.check_token(caller)
        wire.check_game(state.game, action, "action")
        number, data = _read_action(state, action)
        ahead = decided_ahead(_read_then(state, then), then_unless)
        request = _write_request(request_id, ahead)
        entry = Entry(EntryKind.ACTION, seat, at, data, expected_version, request)
        repeated = state.version_of(seat, request_id)
        if repeated is not None:
            again = _reply_again(state, repeated, entry)
            return again._replace(then=partial(MatchState.with_ahead, seat=seat, ahead=ahead))
        state.check_running()
        stale = state.is_stale(seat, expected_version)
        if stale or (etag and etag != state.etag(expected_version)):
            raise Refusal(
                ErrorReason.ERROR_REASON_STALE_VERSION,
                f"the match is at version {state.version}",
                metadata={"current_version": str(state.version)},
            )
        state.check_decides(seat)
        try:
            if isinstance(number, ActionError):
                raise number
            state.check_clocks(entry)
            return Commit(state.with_action(entry, number).with_ahead(seat, ahead))
        except ActionError as error:
            raise wire.illegal_action(error, state.game, action, "action") from None

    @staticmethod
    def due(state: MatchState, at: int) -> Entry | None:
        """The entry that must come before any other if a seat that must decide has done so ahead.

        However late a server makes it, the seat does not lose on time by it. Nor does the clock of
        the other seat run before that seat can see the decision, while time of this one is left.
        """
        if state.ahead_due is None:
            return None
        seat, action = state.ahead_due
        at = at if state.deadline is None else min(at, state.deadline - 1)
        return Entry(EntryKind.ACTION, seat, at, action, state.version)

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        return state.with_action(entry, wire.parse_action(state.game, entry.action))

    def default_actions_after(self, counts: tuple[int, int], entry: Entry) -> tuple[int, int]:
        return _with_count(counts, entry.seat, 0) if counts[entry.seat] else counts

    def write(self, entry: Entry, message: Any) -> None:
        message.seat = entry.seat
        message.action.MergeFromString(entry.action)

    def read(self, state: MatchState, at: int, message: Any) -> Entry:
        wire.check_game(state.game, message.action, "action")
        action = wire.canonical_action(state.game, message.action)
        return Entry(self.number, message.seat, at, action, state.version)


def _read_action(state: MatchState, action: MatchAction) -> tuple[int | ActionError, bytes]:
    # The action and its canonical form. One that the game does not have is an error only if the
    # request passes all other checks; until then it stands for itself.
    data = action.SerializeToString(deterministic=True)
    try:
        number = wire.parse_action(state.game, data)
    except ActionError as error:
        return error, data
    return number, wire.serialize_action(state.game, number)


def _read_then(state: MatchState, then: Sequence[MatchAction]) -> list[bytes]:
    # Decisions ahead in canonical form. Which are legal is not known before they are due.
    read = []
    for number, action in enumerate(then):
        path = f"then_actions[{number}]"
        wire.check_game(state.game, action, path)
        found, data = _read_action(state, action)
        if isinstance(found, ActionError):
            raise wire.illegal_action(found, state.game, action, path)
        read.append(data)
    return read


def _write_request(request_id: str, ahead: bytes) -> str:
    # The id of a request in the log. What was decided ahead is not kept there, but it tells the
    # request from others.
    if not request_id or (not ahead and REQUEST_END not in request_id):
        return request_id
    return request_id + REQUEST_END + (hashlib.blake2b(ahead, digest_size=8).hexdigest())


def _reply_again(state: MatchState, version: int, entry: Entry) -> Reply:
    if not _is_repeated(state.entry(version), entry):
        raise Refusal(
            ErrorReason.ERROR_REASON_REQUEST_ID_REUSED,
            "this request_id was used for another action or another version",
        )
    return Reply(state, version)


def _is_repeated(made: Entry, asked: Entry) -> bool:
    # When it was asked for does not matter.
    return made._replace(at=asked.at, course=b"", digest=b"") == asked


class Expiry(Kind, number=EntryKind.EXPIRY):
    """The time of a seat was up: it forfeits or has abandoned the match, or an action is played."""

    field = "expiry"
    change = feed_pb2.MATCH_CHANGE_EXPIRED
    decides = by_clock = ends = True
    event = "time_expired"

    @staticmethod
    def due(state: MatchState, at: int) -> Entry | None:
        """The entry that must come before any other at a time, if the time of a seat is up."""
        expired = state.expired(at)
        if not expired or state.clocks is None:
            return None
        seat, action = expired[0], b""
        if not (state.clocks.control.forfeits or _may_abandon(state, seat)):
            action = wire.serialize_action(state.game, _default_action(state.dealt(), seat))
        return Entry(EntryKind.EXPIRY, seat, at, action, state.version)

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        # That the time is up was checked.
        assert state.clocks is not None
        forfeits = state.clocks.control.forfeits
        if bool(entry.action) == (forfeits or _may_abandon(state, entry.seat)):
            raise ActionError("action", "this is not what happens when time is up")
        if forfeits:
            losers = state.expired(entry.at)
            return state.with_end(entry, EarlyEnd(EndReason.END_REASON_TIME, losers, "expired"))
        if not entry.action:
            absent = _absent(state, entry.seat)
            end = EarlyEnd(EndReason.END_REASON_ABANDONED, absent, "abandoned")
            return state.with_end(entry, end)
        action = wire.parse_action(state.game, entry.action)
        if action != _default_action(state.dealt(), entry.seat):
            raise ActionError("action", "this is not what is played by default")
        return state.with_action(entry, action)

    def default_actions_after(self, counts: tuple[int, int], entry: Entry) -> tuple[int, int]:
        seat = entry.seat
        return _with_count(counts, seat, counts[seat] + 1) if entry.action else counts

    def write(self, entry: Entry, message: Any) -> None:
        message.seat = entry.seat
        if entry.action:
            message.action.MergeFromString(entry.action)

    def read(self, state: MatchState, at: int, message: Any) -> Entry:
        action = b""
        if message.HasField("action"):
            wire.check_game(state.game, message.action, "expiry.action")
            action = wire.canonical_action(state.game, message.action)
        return Entry(self.number, message.seat, at, action, state.version)

    def tell(self, state: MatchState, entry: Entry, message: Any) -> None:
        end = state.early_end
        forfeited = end is not None and end.reason == EndReason.END_REASON_TIME
        message.seats.extend(end.losers if end is not None and forfeited else (entry.seat,))


def _may_abandon(state: MatchState, seat: int) -> bool:
    # Whether the match ends as abandoned when the time of the seat is up once more.
    limit = 0 if state.clocks is None else state.clocks.control.max_default_actions
    return 0 < limit <= state.default_actions[seat]


def _absent(state: MatchState, seat: int) -> tuple[int, ...]:
    # The seats that have left, given that one has. Half as many default actions are enough for the
    # other seat, since the seats take turns of different lengths.
    other = 1 - seat
    if 2 * state.default_actions[other] >= state.default_actions[seat]:
        return 0, 1
    return (seat,)


def _default_action(match: Match, seat: int) -> int:
    # A fixed choice, such as the lowest action, would tell of the hand that it holds nothing lower.
    # One drawn with equal chances (but for 1 in 2**240: it is 256 bits modulo a few actions) tells
    # no more than what it is, and only the server can know it in advance.
    what = f"croupier/default-action/v1\0{match.match_id}\0{match.since[seat]}\0{seat}\0"
    drawn = int.from_bytes(hashlib.shake_256(what.encode() + match.secret).digest(32), "big")
    legal = match.legal(seat)
    return legal[drawn % len(legal)]


def _with_count(counts: tuple[int, int], seat: int, count: int) -> tuple[int, int]:
    return (count, counts[1]) if seat == 0 else (counts[0], count)


# Early ends


class Resignation(Kind, number=EntryKind.RESIGNATION):
    """A seat has given the match up."""

    field = "resignation"
    ends = True

    @staticmethod
    def ask(state: MatchState, at: int, caller: Caller) -> Reply | Commit:
        """Gives the match up for a seat at a time.

        Raises Refusal if it is over, unless that is because this seat has resigned.
        """
        state.seats.check_token(caller)
        resigned = Resignation.end(caller.seat)
        if state.early_end == resigned:
            return Reply(state, state.version)
        state.check_running()
        return Commit(state.after(Entry(EntryKind.RESIGNATION, caller.seat, at)))

    @staticmethod
    def end(seat: int) -> EarlyEnd:
        """The end that a seat brings."""
        return EarlyEnd(EndReason.END_REASON_RESIGNATION, (seat,), "resigned")

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        return state.with_end(entry, self.end(entry.seat))

    def wrong_seat(self, state: MatchState, seat: int) -> str:
        if state.header.bots[seat]:
            return "is the seat of a bot, which never resigns"
        return "is a seat that was not joined yet" if seat in state.seats.missing else ""


class Idle(Kind, number=EntryKind.IDLE):
    """The server has ended a match that waited without a clock: nothing had happened too long."""

    field = "idle_end"
    ends = True

    @staticmethod
    def end(state: MatchState, at: int) -> Entry:
        """The entry that ends a match at a time."""
        return Entry(EntryKind.IDLE, 0, at, expected_version=state.version)

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        if not state.can_be_idle:
            raise ActionError("at", "only a match that waits without a clock is idle")
        # A bot never owes a decision here. That the match waits for an invited seat, or for
        # entropy, cannot be held against a seat.
        return state.with_end(entry, EarlyEnd(EndReason.END_REASON_IDLE, state.deciders, "idle"))

    def write(self, entry: Entry, message: Any) -> None:
        message.SetInParent()

    def read(self, state: MatchState, at: int, message: Any) -> Entry:
        return self.end(state, at)


_DECLINED = EarlyEnd(EndReason.END_REASON_DECLINED, (), "declined")


class Decline(Kind, number=EntryKind.DECLINE):
    """A seat has declined a match that was not dealt yet."""

    field = event = "seat_declined"
    ends = True

    @staticmethod
    def ask(state: MatchState, at: int, caller: Caller) -> Reply | Commit:
        """Ends a match that waits for a seat at a time, before it is dealt; raises Refusal.

        The caller is the one that is offered the match, whose seat has no token yet.
        """
        if state.early_end == _DECLINED:
            return Reply(state, state.version)
        if state.over or not state.seats.missing:
            raise Refusal(
                ErrorReason.ERROR_REASON_REMATCH_NOT_OFFERED,
                "the offer is over" if state.over else "the rematch has begun",
            )
        return Commit(state.after(Entry(EntryKind.DECLINE, caller.seat, at)))

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        if not state.seats.missing or state.header.bots[entry.seat]:
            raise ActionError(
                "seat", "only a match that waits for a player can be declined, by a seat"
            )
        return state.with_end(entry, _DECLINED)


_ABORTED = EarlyEnd(EndReason.END_REASON_ABORTED, (), "aborted")


class Abort(Resignation, number=EntryKind.ABORT):
    """A seat has ended the match before both had decided: without a result."""

    field = event = "seat_aborted"
    ends = True

    @staticmethod
    def ask(state: MatchState, at: int, caller: Caller) -> Reply | Commit:
        """Ends a match without a result for a seat at a time; raises Refusal."""
        state.seats.check_token(caller)
        if state.early_end == _ABORTED:
            return Reply(state, state.version)
        state.check_running()
        if _both_decided(state):
            raise Refusal(
                ErrorReason.ERROR_REASON_BOTH_DECIDED,
                "both seats have decided: the match can be resigned, and not be aborted any more",
            )
        return Commit(state.after(Entry(EntryKind.ABORT, caller.seat, at)))

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        if _both_decided(state):
            raise ActionError("seat", "a match is aborted only before both seats have decided")
        return state.with_end(entry, _ABORTED)


def _both_decided(state: MatchState) -> bool:
    decided = {entry.seat for entry in state.decisions()}
    return len(decided) == 2


# Entropy


class _Contribution(Kind):
    # `field` is also the name of what it holds in its message.

    change = feed_pb2.MATCH_CHANGE_CONTRIBUTED

    @classmethod
    def ask(cls, state: MatchState, at: int, caller: Caller, data: bytes) -> Reply | Commit:
        """Contributes for a seat at a time; raises Refusal."""
        state.seats.check_token(caller)
        entry = Entry(cls.number, caller.seat, at, data)
        # Nothing is contributed after the deal.
        before = takewhile(lambda each: each.kind != EntryKind.ACTION, state.history.entries)
        if any(_is_repeated(each, entry) for each in islice(before, state.version)):
            return Reply(state, state.version)
        state.check_running()
        return Commit(state.after(entry))

    def write(self, entry: Entry, message: Any) -> None:
        message.seat = entry.seat
        setattr(message, self.field, entry.action)

    def read(self, state: MatchState, at: int, message: Any) -> Entry:
        return Entry(self.number, message.seat, at, getattr(message, self.field))


class EntropyHash(_Contribution, number=EntryKind.ENTROPY_HASH):
    """A seat has contributed the hash of its entropy."""

    field = event = "entropy_hash"

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        contributions = _contributions(state)
        if entry.seat in state.seats.missing:
            raise not_owed(f"seat {entry.seat} was not joined yet")
        return state.with_entry(entry, contributions=contributions.after_hash(entry))


class Entropy(_Contribution, number=EntryKind.ENTROPY):
    """A seat has contributed its entropy. The last one deals the match."""

    field = event = "entropy"

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        contributions = _contributions(state).after_entropy(entry)
        if not contributions.complete:
            return state.with_entry(entry, contributions=contributions)
        return state.with_deal(entry, contributions.mixed_into(state.header.secret))


def _contributions(state: MatchState) -> Contributions:
    if state.contributions is None:
        raise not_owed("the cards are dealt")
    return state.contributions


# Seats


class Join(Kind, number=EntryKind.JOIN):
    """An invited seat was joined: its token was issued.

    It holds the display name of the API key and, after a zero character, that of the player.
    """

    field = event = "seat_joined"
    change = feed_pb2.MATCH_CHANGE_JOINED

    @staticmethod
    def ask(
        state: MatchState,
        at: int,
        caller: Caller,
        key_name: str,
        display_name: str,
        request_id: str,
        player: str = "",
    ) -> Reply | Commit:
        """Joins an invited seat at a time; raises Refusal if somebody else has.

        A request that was carried out before is answered as it was then. For the one caller that
        may join anyhow, the request_id is empty; a match that is over needs nobody to join.
        """
        seat = caller.seat
        missing = seat in state.seats.missing
        if not request_id:
            if state.early_end == _DECLINED:
                raise Refusal(ErrorReason.ERROR_REASON_MATCH_OVER, "the rematch was declined")
            if state.over or not missing:
                return Reply(state, state.version)
        if not missing:
            joined = state.version_of(seat, request_id)
            if joined is not None and state.entry(joined).kind == EntryKind.JOIN:
                return Reply(state, state.version)
            raise Refusal(
                ErrorReason.ERROR_REASON_INVITATION_USED,
                "the invitation was used with another request_id: somebody else sits in the seat",
            )
        state.check_running()
        entry = _join(seat, at, key_name, display_name, request_id)
        return Commit(state.after(entry), (Seated(player, 1 << seat),) if player else ())

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        # The last one deals the match, unless it waits for entropy, for which all have joined
        # before.
        seats = self.seats_after(state.seats, state.version + 1, entry)
        if state.header.entropy_from_seats or seats.missing:
            return state.with_entry(entry, seats=seats)
        return state._replace(seats=seats).with_deal(entry, state.header.secret)

    def seats_after(self, seats: Seats, version: int, entry: Entry) -> Seats:
        return seats.after_join(entry.seat, *_read_names(entry))

    def write(self, entry: Entry, message: Any) -> None:
        message.seat = entry.seat
        message.display_name = _read_names(entry)[1]

    def read(self, state: MatchState, at: int, message: Any) -> Entry:
        return _join(message.seat, at, "", message.display_name)


def _join(seat: int, at: int, key_name: str, display_name: str, request_id: str = "") -> Entry:
    names = f"{key_name}\0{display_name}" if display_name else key_name
    salted = chain.salted(names.encode())
    return Entry(EntryKind.JOIN, seat, at, chain.hash_names(salted), 0, request_id, salted)


def _read_names(entry: Entry) -> tuple[str, str]:
    key_name, _, display_name = entry.names[chain.SALT_BYTES :].decode().partition("\0")
    return key_name, display_name


class Token(Kind, number=EntryKind.TOKEN):
    """The token of a seat was replaced."""

    field = event = "seat_token_replaced"
    change = feed_pb2.MATCH_CHANGE_TOKEN_REPLACED

    @staticmethod
    def ask(state: MatchState, at: int, caller: Caller, request_id: str) -> Reply | Commit:
        """Replaces the token with which a seat calls at a time; raises Refusal.

        A request that was carried out before is answered as it was then, until the next
        replacement.
        """
        seat, generation = caller.seat, state.seats.generations[caller.seat]
        replaced = state.version_of(seat, request_id)
        if replaced is not None and caller.generation == generation - 1:
            later = state.entries[replaced:]
            if not any((each.kind, each.seat) == (EntryKind.TOKEN, seat) for each in later):
                return Reply(state, state.version)
        state.seats.check_token(caller)
        state.check_running()
        if seat in state.seats.missing:  # As a server sees it that is behind.
            what = f"seat {seat} was not joined yet"
            raise Refusal(ErrorReason.ERROR_REASON_SEAT_NOT_JOINED, what)
        if replaced is not None:
            raise Refusal(
                ErrorReason.ERROR_REASON_REQUEST_ID_REUSED,
                "this request_id was used for an earlier replacement",
            )
        if generation >= MAX_GENERATION:
            raise Refusal(
                ErrorReason.ERROR_REASON_TOKEN_REPLACED_TOO_OFTEN,
                f"the token of a seat can be replaced {MAX_GENERATION} times",
            )
        return Commit(state.after(Entry(EntryKind.TOKEN, seat, at, request_id=request_id)))

    def after(self, state: MatchState, entry: Entry) -> MatchState:
        # Whoever has the token from before may have decided ahead.
        seats = self.seats_after(state.seats, state.version + 1, entry)
        return state.with_entry(entry, seats=seats).with_ahead(entry.seat, b"")

    def seats_after(self, seats: Seats, version: int, entry: Entry) -> Seats:
        return seats.after_replacement(version, entry.seat)
