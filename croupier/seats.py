"""Holders of a match's tokens: those who play a seat and those who watch."""

import hashlib
import secrets
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, Unpack

import grpc

from croupier import enums
from croupier.connection import Analysis, Connection, SearchOptions, duration
from croupier.errors import CroupierError
from croupier.streams import HEARTBEAT_INTERVAL, SILENT_INTERVALS, until_silent
from croupier.v1 import game_pb2, hint_pb2, match_pb2, review_pb2

_Response = TypeVar("_Response")


@dataclass(frozen=True)
class NewMatch:
    """A match that was just created or joined, with the tokens that the caller got."""

    name: str
    seats: Mapping[int, "Seat"]  # The open ones, or the one that the caller has joined.
    spectator: "Spectator"
    secret_hash: bytes  # SHA-256 of what the record calls `secret`.
    # Of the invited seats, by seat: each to be sent to whoever shall play there.
    invitations: Mapping[int, str] = field(default_factory=dict)


class Spectator:
    """A match, with a token to watch it."""

    def __init__(self, client: Connection, match: str, token: str) -> None:
        self.client = client
        self.match = match
        self.token = token
        self._version: int | None = None
        self._etag = ""  # Of that version.
        self._other_seat = match_pb2.SEAT_PRESENCE_UNSPECIFIED
        self._replacing = threading.Lock()  # Held while the token is being replaced.

    def details(self) -> match_pb2.Match:
        """Returns what everybody may know of the match: its state and seats, but no cards."""
        request = match_pb2.GetMatchRequest(name=self.match)
        response: match_pb2.GetMatchResponse = self._call(self._stub.GetMatch, request)
        return response.hosted_match

    def origin(self) -> game_pb2.Origin | None:
        """Returns the moment of another match at which this one began; None if it was dealt.

        The deal of a match that is not `logged` may be made up: see `phrases.origin_sentence`.
        """
        details = self.details()
        return details.origin if details.HasField("origin") else None

    def view(self, *, wait_for_version: int | None = None) -> game_pb2.View:
        """Returns what the holder of the token knows of the match now.

        With `wait_for_version`, for clients that cannot hold a stream: waits until the match has
        come to that version or is over. If that takes too long, the view is the current one, with
        a lower version.
        """
        request = match_pb2.GetViewRequest(name=self.match, wait_for_version=wait_for_version)
        response: match_pb2.GetViewResponse = self._call(self._stub.GetView, request)
        return self._seen(response.view)

    def rematch_offer(self) -> match_pb2.RematchOffer | None:
        """Returns the rematch of this match; None while nobody has asked for one."""
        request = match_pb2.GetViewRequest(name=self.match)
        response: match_pb2.GetViewResponse = self._call(self._stub.GetView, request)
        return response.rematch if response.HasField("rematch") else None

    def watch(
        self,
        after_version: int | None = None,
        *,
        etag: str = "",
        patience: float | None = None,
        follow_rematch: bool = False,
        heartbeat_interval: float = HEARTBEAT_INTERVAL,
        heartbeats: bool = False,
        hide_presence: bool = False,
    ) -> Iterator[match_pb2.WatchMatchResponse]:
        """Yields each version after the given one, or from the deal, until the match is over.

        When the connection is lost, or a proxy has lost the server, the stream is resumed after the
        last version that this has yielded; raises CroupierError only if that fails for `patience`
        seconds, by default the client's. It is also resumed when `Seat.replace_token` has replaced
        the token. If the server's log has lost versions that this has yielded, it goes on with the
        version that the match has now, which is lower.

        `etag` is that of `after_version`: where the log has lost that version, as it also does
        when another one has its number, the stream begins with what the match is now.

        The server proves every `heartbeat_interval` seconds, from 1 to 60, that the stream lives;
        a stream that is silent for `SILENT_INTERVALS` of them counts as lost.
        With `heartbeats`, these responses, which have `up_to_date`, are yielded too. One that has a
        view, as the seat has cancelled decisions ahead, is yielded in any case.

        While this is a seat's, the other player is told that the seat is there; not so with
        `hide_presence`, with which `other_seat` does not tell of the other player either.

        With `follow_rematch`, the stream goes on after the end of the match, with a response that
        has `rematch` whenever something becomes of it, until it has begun or was declined.
        """
        retry = self.client.retry(patience)
        told = False  # Whether a stream of this call has brought a version.
        while True:
            token = self.token
            request = match_pb2.WatchMatchRequest(
                name=self.match,
                after_version=after_version,
                etag=etag,
                heartbeat_interval=duration(heartbeat_interval),
                follow_rematch=follow_rematch,
                hide_presence=hide_presence,
            )
            stream = self._stub.WatchMatch(request, metadata=self.client.metadata(token))
            try:
                limit = SILENT_INTERVALS * heartbeat_interval
                for response in until_silent(stream, limit):
                    after_version, told = response.version, True
                    etag = response.etag or etag
                    retry.reset()
                    if response.HasField("view"):
                        self._seen(response.view)
                    if response.up_to_date:
                        self._other_seat = response.other_seat
                    if heartbeats or response.HasField("view") or not response.up_to_date:
                        yield response
                return
            except grpc.RpcError as error:
                lost = CroupierError.from_call(error)
                if lost.reason == "VERSION_IN_FUTURE" and (told or etag):
                    current = int(lost.metadata["current_version"])
                    after_version, told, etag = current - 1 if current else None, False, ""
                    self._version, self._etag = None, ""
                elif lost.reason != "TOKEN_REPLACED" or not self._is_replaced(token):
                    self.client.wait(retry, lost)
            finally:
                stream.cancel()

    def record(self) -> match_pb2.MatchRecord:
        """Returns the record of the match, which must be over."""
        request = match_pb2.GetRecordRequest(name=self.match)
        response: match_pb2.GetRecordResponse = self._call(self._stub.GetRecord, request)
        return response.record

    def review(
        self, *, iterations: int = 0, deep_iterations: int = 0
    ) -> Iterator[review_pb2.ReviewMatchResponse]:
        """Yields the reports of a review of the match, which must be over; see `Client.review`."""
        request = review_pb2.ReviewMatchRequest(
            match_name=self.match, iterations=iterations, deep_iterations=deep_iterations
        )
        return self.client.follow_review(request, self.token)

    def replay(
        self, *, seats: Iterable[int] = (), spectator: bool = False, legal_actions: bool = False
    ) -> Iterator[review_pb2.ReplayMatchResponse]:
        """Yields the views of the match, which must be over, as `Client.replay` does."""
        request = review_pb2.ReplayMatchRequest(
            match_name=self.match, seats=seats, spectator=spectator, legal_actions=legal_actions
        )
        return self.client.follow_replay(request, self.token)

    @property
    def version(self) -> int | None:
        """The version of the newest view that this object has returned; None before the first.

        A view of a lower version is out of date, even if it arrives later.
        """
        return self._version

    @property
    def _stub(self) -> Any:
        return self.client.match_stub

    def _call(self, rpc: Callable[..., _Response], request: Any) -> _Response:
        # Each call about a match can be repeated.
        return self.client.persist(rpc, request, token=self.token)

    def _is_replaced(self, token: str) -> bool:
        # Whether this object has another token by now. The stream may end before the answer to the
        # call that has replaced the token arrives.
        with self._replacing:
            return token != self.token

    def _seen(self, view: game_pb2.View) -> game_pb2.View:
        if view.version >= (self._version or 0):
            self._version, self._etag = view.version, view.etag
        return view


class Seat(Spectator):
    """A match, with a token to play a seat."""

    def submit(
        self,
        action: game_pb2.MatchAction,
        expected_version: int | None = None,
        *,
        then: Iterable[game_pb2.MatchAction] = (),
        then_unless: game_pb2.ThenUnless = game_pb2.THEN_UNLESS_SHOWN,
        patience: float | None = None,
    ) -> game_pb2.View:
        """Plays one of the legal actions of a view; returns the view after it.

        The server makes the decisions in `then` when the seat owes them, unless what `then_unless`
        says has happened; `View.decisions_ahead` tells which wait.

        `expected_version` is the version of that view. The default is the newest view that this
        object has returned.

        When the connection is lost, or the server cannot reach its log, the call is repeated under
        the same request id, so that the action counts once; raises CroupierError only if that fails
        for `patience` seconds, by default the client's. It is then unknown whether the action has
        counted; the next view shows it.
        """
        if expected_version is None:
            expected_version = self.view().version if self._version is None else self._version
        etag = self._etag if expected_version == self._version else ""
        request = match_pb2.SubmitActionRequest(
            name=self.match,
            expected_version=expected_version,
            action=action,
            request_id=str(uuid.uuid4()),
            etag=etag,
            then_actions=then,
            then_unless=then_unless,
        )
        response: match_pb2.SubmitActionResponse = self.client.persist(
            self._stub.SubmitAction, request, patience, self.token
        )
        return self._seen(response.view)

    def cancel_ahead(self) -> game_pb2.View:
        """Takes back all decisions in `then` that were not made; returns the view after it.

        `turns`, here and at other clients of the seat, yields it if the seat owes a decision.
        """
        request = match_pb2.CancelDecisionsAheadRequest(name=self.match)
        response: match_pb2.CancelDecisionsAheadResponse = self._call(
            self._stub.CancelDecisionsAhead, request
        )
        return self._seen(response.view)

    def turns(self) -> Iterator[game_pb2.View]:
        """Yields a view once for each decision that the seat owes, until the match is over.

        Views that are out of date are left out: when both seats decide at the same time, the stream
        may still show a decision that this seat has already made. So are those in which the server
        makes a decision that this seat has made ahead. Offers and pauses make no new decision, and
        a takeback makes one: whoever could not decide in a pause calls this again.
        """
        told: game_pb2.View | None = None  # What was yielded for the decision that is owed.
        for response in self.watch():
            view = response.view
            if told is not None and any(_goes_on(event, told.seat) for event in response.events):
                told = None
            if response.version != self._version or not view.legal_actions or waits(view):
                continue
            if told is None or told.takeback_count != view.takeback_count:
                told = view
                yield view

    @property
    def other_seat(self) -> str:
        """Whether the other player is there, "here" or "away", as `watch` was told last.

        Empty where nothing is told: see `SeatPresence`.
        """
        return enums.words(match_pb2.SeatPresence.DESCRIPTOR).get(self._other_seat, "")

    def suggest(self, **options: Unpack[SearchOptions]) -> hint_pb2.Hint:
        """Returns a hint for what the seat knows now; see `Client.suggest`."""
        search = hint_pb2.Search(match_name=self.match)
        return self.client.search(search, self.token, **options)

    def analyze(self, *, every: float = 0.2, **options: Unpack[SearchOptions]) -> Analysis:
        """Starts a search from what the seat knows now; see `Client.analyze`."""
        search = hint_pb2.Search(match_name=self.match)
        return self.client.start_analysis(search, every, self.token, **options)

    def contribute(self, entropy: bytes | None = None) -> game_pb2.View:
        """Contributes to the chance of a match that was created with `entropy_from_seats`.

        Sends the hash of 32 random bytes, or of those given; waits until the other seat has sent
        its hash; then sends the bytes. Returns the view after it. Each open seat has to call this.
        A player who wants to verify more than the record shows keeps the bytes.
        """
        entropy = secrets.token_bytes(32) if entropy is None else entropy
        hashed = hashlib.sha256(entropy).digest()
        view = self._contribute(entropy_hash=hashed)
        if view.entropy_owed.hash_seats:
            for response in self.watch(view.version):
                if response.HasField("view") and not response.view.entropy_owed.hash_seats:
                    break
        return self._contribute(entropy=entropy)

    def _contribute(self, **contribution: bytes) -> game_pb2.View:
        request = match_pb2.ContributeEntropyRequest(name=self.match)
        for name, value in contribution.items():
            setattr(request, name, value)
        response: match_pb2.ContributeEntropyResponse = self._call(
            self._stub.ContributeEntropy, request
        )
        return self._seen(response.view)

    def replace_token(self, *, request_id: str = "", patience: float | None = None) -> str:
        """Replaces the token of the seat; returns the new one, which this object uses from now on.

        The token before it is void at once, for whoever else may know it. When the connection is
        lost, the call is repeated under the same request id, a `uuid.uuid4()`, so that the token is
        replaced once; raises CroupierError only if that fails for `patience` seconds, by default
        the client's. A caller that keeps its `request_id` can then call this again, and gets the
        same token.
        """
        request = match_pb2.ReplaceSeatTokenRequest(
            name=self.match, request_id=request_id or str(uuid.uuid4())
        )
        with self._replacing:
            response: match_pb2.ReplaceSeatTokenResponse = self.client.persist(
                self._stub.ReplaceSeatToken, request, patience, self.token
            )
            self.token = response.seat_token.token
            return self.token

    def rematch(self) -> NewMatch:
        """Returns the match that follows this one, which is over; the seats are exchanged.

        If a seat of this match was invited, this is an offer: the next match begins when the other
        seat has called this too. Raises CroupierError with the reason MATCH_OVER if it was
        declined.
        """
        request = match_pb2.RematchRequest(name=self.match)
        response: match_pb2.RematchResponse = self._call(self._stub.Rematch, request)
        return one_seat(self.client, response)

    def decline_rematch(self) -> match_pb2.RematchOffer:
        """Declines the rematch that the other seat has asked for, or takes this seat's offer back.

        Raises CroupierError with the reason REMATCH_NOT_OFFERED if there is no offer, or if the
        rematch has begun.
        """
        request = match_pb2.DeclineRematchRequest(name=self.match)
        response: match_pb2.DeclineRematchResponse = self._call(self._stub.DeclineRematch, request)
        return response.rematch

    def resign(self) -> game_pb2.View:
        """Resigns the match; returns the view at its end."""
        request = match_pb2.ResignMatchRequest(name=self.match)
        response: match_pb2.ResignMatchResponse = self._call(self._stub.ResignMatch, request)
        return self._seen(response.view)

    def abort(self) -> game_pb2.View:
        """Ends the match without a result, before both have decided; returns the view at its end.

        Raises CroupierError with the reason BOTH_DECIDED if they have.
        """
        request = match_pb2.AbortMatchRequest(name=self.match)
        response: match_pb2.AbortMatchResponse = self._call(self._stub.AbortMatch, request)
        return self._seen(response.view)

    def offer(self, kind: str) -> game_pb2.View:
        """Offers the other seat a "takeback" or a "pause"; returns the view.

        It comes about when the other seat agrees, and with a bot at once. Raises CroupierError with
        the reason OFFER_NOT_ALLOWED if the seat cannot offer it now, ValueError if there is no
        such kind.
        """
        number = enums.number(game_pb2.OfferKind.DESCRIPTOR, kind)
        request = match_pb2.MakeOfferRequest(name=self.match, kind=number)
        response: match_pb2.MakeOfferResponse = self._call(self._stub.MakeOffer, request)
        return self._seen(response.view)

    def answer_offer(self, offer: game_pb2.Offer, *, agree: bool) -> game_pb2.View:
        """Agrees to an offer of the other seat, or declines it, or withdraws this seat's own.

        Returns the view. Raises CroupierError with the reason OFFER_NOT_OPEN if the offer was
        answered, or a seat has decided since.
        """
        # Of the view that the offer made, if that is the newest: a later one may be of a branch
        # that the log has lost.
        etag = self._etag if self._version == offer.version else ""
        request = match_pb2.AnswerOfferRequest(
            name=self.match, offer_version=offer.version, agree=agree, etag=etag
        )
        response: match_pb2.AnswerOfferResponse = self._call(self._stub.AnswerOffer, request)
        return self._seen(response.view)

    def resume(self) -> game_pb2.View:
        """Ends a pause, if there is one; returns the view."""
        request = match_pb2.ResumeMatchRequest(name=self.match)
        response: match_pb2.ResumeMatchResponse = self._call(self._stub.ResumeMatch, request)
        return self._seen(response.view)

    def erase_names(self) -> bool:
        """Erases the names of the seat for good; returns whether it had any."""
        request = match_pb2.EraseNamesRequest(name=self.match)
        response: match_pb2.EraseNamesResponse = self._call(self._stub.EraseNames, request)
        return response.erased_matches > 0


# Events by which the game does not go on.
_BESIDE = {"seat_token_replaced", "offer_made", "offer_answered", "match_resumed"}


def _goes_on(event: game_pb2.MatchEvent, seat: int) -> bool:
    # Whether a seat that owes a decision may owe another one after an event. A seat that decides in
    # secret changes nothing for the other one.
    if event.HasField("seat_decided"):
        return event.seat_decided.seat == seat
    return event.WhichOneof("event") not in _BESIDE


def waits(view: game_pb2.View) -> bool:
    """Whether the seat of a view has decided ahead, so that the server makes its next decision."""
    return bool(view.decisions_ahead.actions) and not view.decisions_ahead.end_reason


def one_seat(
    client: Connection, response: match_pb2.JoinMatchResponse | match_pb2.RematchResponse
) -> NewMatch:
    """Returns the match of an answer with the token of one seat."""
    token = response.seat_token
    return NewMatch(
        name=response.name,
        seats={token.seat: Seat(client, response.name, token.token)},
        spectator=Spectator(client, response.name, response.spectator_token),
        secret_hash=response.secret_hash,
    )
