"""A thin, synchronous client of the Croupier API.

    with Client("localhost:50051") as client:
        match = client.create_match("skystones", (OPEN, bot("casual")))
        seat = match.seats[0]
        for view in seat.turns():
            seat.submit(view.legal_actions[0])
        print(seat.view().result)

It adds four things to the generated stubs: the token on every call, a request id on every new match
and, with the version, on every action, streams, new matches and actions that outlast a lost
connection, and one exception with all that the server said. The messages are those of
`croupier.v1`; where this is not enough, use the stubs.
"""

import hashlib
import json
import secrets
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from croupier.v1 import (
    catalog_pb2,
    catalog_pb2_grpc,
    clock_pb2,
    game_pb2,
    hint_pb2,
    hint_pb2_grpc,
    match_pb2,
    match_pb2_grpc,
)

TIMEOUT = 30.0  # Seconds that a call may take, the time of a search not counted.
PATIENCE = 30.0  # Seconds for which a stream tries to go on.

# Calls that can be made twice without harm; CreateMatch and SubmitAction because of their request
# ids, Rematch because a match has one.
_REPEATABLE = {
    "CatalogService": ("ListGames", "GetGame"),
    "MatchService": (
        "CreateMatch",
        "GetView",
        "SubmitAction",
        "ResignMatch",
        "ContributeEntropy",
        "Rematch",
        "GetRecord",
        "ListMatches",
    ),
    "HintService": ("SuggestAction",),
}
_SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [
                {"service": f"croupier.v1.{service}", "method": method}
                for service, methods in _REPEATABLE.items()
                for method in methods
            ],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.1s",
                "maxBackoff": "1s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}

_CHANNEL = (
    ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
    # So that a server which is up again is found while there is patience.
    ("grpc.max_reconnect_backoff_ms", 2000),
)

_Response = TypeVar("_Response")

OPEN = match_pb2.SeatConfig(open=match_pb2.OpenSeat())


def bot(strength: str) -> match_pb2.SeatConfig:
    """A seat that the server plays: "random", "beginner", "casual", "skilled" or "expert"."""
    name = f"BOT_STRENGTH_{strength.upper()}"
    return match_pb2.SeatConfig(bot=match_pb2.Bot(strength=name))


def clock(
    per_decision: float | None = None,
    per_match: float | None = None,
    increment: float | None = None,
    *,
    default_action: bool = False,
) -> clock_pb2.TimeControl:
    """How long the open seats of a match may take, in seconds.

    `increment` is what a seat gets back after each decision. When its time is up a seat forfeits,
    or with `default_action` one of its legal actions is played for it.
    """
    control = clock_pb2.TimeControl(
        per_decision=None if per_decision is None else _duration(per_decision),
        per_match=None if per_match is None else _duration(per_match),
        increment=None if increment is None else _duration(increment),
    )
    if default_action:
        control.on_expiry = clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION
    return control


class FieldViolation(NamedTuple):
    """A field of a request that breaks a rule."""

    field: str
    description: str


class CroupierError(Exception):
    """A call that was refused, or that did not reach a server.

    `code` is the gRPC status; `reason` a name of `ErrorReason` without its prefix, empty if the
    error does not come from Croupier; `metadata` what the reason says it has; `violations` the
    fields at fault; `retry_after` the seconds after which the same call may succeed, if the server
    named them.
    """

    def __init__(
        self,
        code: grpc.StatusCode,
        message: str,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[FieldViolation] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)
        self.retry_after = retry_after

    def __str__(self) -> str:
        faults = (f"{violation.field}: {violation.description}" for violation in self.violations)
        unsaid = "".join(f"; {fault}" for fault in faults if fault not in self.message)
        return f"{self.reason or self.code.name}: {self.message}{unsaid}"

    @classmethod
    def from_call(cls, call: Any) -> "CroupierError":
        """The error of a call that ended with one: a `grpc.RpcError` of this package's channels."""
        error = cls(call.code(), call.details() or "")
        try:
            status = rpc_status.from_call(call)
        except ValueError:  # A proxy has replaced the status, so its details mean nothing.
            status = None
        for detail in status.details if status else ():
            info = error_details_pb2.ErrorInfo()
            request = error_details_pb2.BadRequest()
            retry = error_details_pb2.RetryInfo()
            if detail.Unpack(info) and info.domain == "croupier.v1":
                error.reason, error.metadata = info.reason, dict(info.metadata)
            elif detail.Unpack(request):
                error.violations = tuple(
                    FieldViolation(v.field, v.description) for v in request.field_violations
                )
            elif detail.Unpack(retry):
                error.retry_after = retry.retry_delay.ToTimedelta().total_seconds()
        return error


@dataclass(frozen=True)
class NewMatch:
    """A match that was just created, and the tokens of its open seats."""

    name: str
    seats: Mapping[int, "Seat"]  # The open ones.
    spectator: "Spectator"
    secret_hash: bytes  # SHA-256 of what the record calls `secret`.


class Client:
    """A connection to a server at "HOST:PORT". It may be used by several threads."""

    def __init__(self, address: str, *, timeout: float = TIMEOUT) -> None:
        self.address = address
        self.timeout = timeout
        self._channel = grpc.insecure_channel(address, _CHANNEL)
        self.catalog_stub = catalog_pb2_grpc.CatalogServiceStub(self._channel)
        self.match_stub = match_pb2_grpc.MatchServiceStub(self._channel)
        self.hint_stub = hint_pb2_grpc.HintServiceStub(self._channel)

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; streams end."""
        self._channel.close()

    def games(self, *, language: str = "") -> list[catalog_pb2.Game]:
        """The games of this server, without their cards; in a language ("de") if it has it."""
        request = catalog_pb2.ListGamesRequest(language_code=language)
        response: catalog_pb2.ListGamesResponse = self._call(self.catalog_stub.ListGames, request)
        return list(response.games)

    def game(self, name: str, *, language: str = "") -> catalog_pb2.Game:
        """A game with its cards, by its name with or without "games/"; see `games`."""
        request = catalog_pb2.GetGameRequest(
            name=f"games/{name.removeprefix('games/')}", language_code=language
        )
        response: catalog_pb2.GetGameResponse = self._call(self.catalog_stub.GetGame, request)
        return response.game

    def create_match(
        self,
        ruleset: game_pb2.Ruleset | str,
        seats: Sequence[match_pb2.SeatConfig] = (OPEN, OPEN),
        *,
        seed: int | None = None,
        entropy_from_seats: bool = False,
        time_control: clock_pb2.TimeControl | None = None,
        request_id: str = "",
        patience: float = PATIENCE,
    ) -> NewMatch:
        """Creates a match of a ruleset, or of a game by its name with the rules of its sheet.

        With `entropy_from_seats`, it waits until each open seat has called `contribute`.

        When the connection is lost, or the server cannot reach its log, it is tried again under the
        same request id, so that one match is created; CroupierError only if that fails for
        `patience` seconds. Who keeps a `request_id`, a `uuid.uuid4()` that nobody else may know,
        gets the same match with it also after that.
        """
        if isinstance(ruleset, str):
            name, ruleset = ruleset.removeprefix("games/"), game_pb2.Ruleset()
            getattr(ruleset, name).SetInParent()
        request = match_pb2.CreateMatchRequest(
            ruleset=ruleset,
            seats=seats,
            seed=seed,
            entropy_from_seats=entropy_from_seats,
            time_control=time_control,
            request_id=request_id or str(uuid.uuid4()),
        )
        response: match_pb2.CreateMatchResponse = self._persist(
            self.match_stub.CreateMatch, request, patience
        )
        return NewMatch(
            name=response.match,
            seats={t.seat: Seat(self, response.match, t.token) for t in response.seat_tokens},
            spectator=Spectator(self, response.match, response.spectator_token),
            secret_hash=response.secret_hash,
        )

    def suggest(
        self,
        view: game_pb2.View,
        *,
        iterations: int = 0,
        seconds: float | None = None,
        threads: int = 0,
        seed: int | None = None,
    ) -> hint_pb2.Hint:
        """A hint for a seat's view, from wherever it comes; one second if no limit is given."""
        request = hint_pb2.SuggestActionRequest(view=view, seed=seed)
        return self._search(request, iterations, seconds, threads)

    def analyze(
        self,
        view: game_pb2.View,
        *,
        iterations: int = 0,
        seconds: float | None = None,
        threads: int = 0,
        seed: int | None = None,
        every: float = 0.2,
    ) -> "Analysis":
        """What a search finds for a seat's view, as it finds it; ten seconds if no limit is given.

        A report about every `every` seconds, and a final one.
        """
        request = hint_pb2.AnalyzePositionRequest(view=view, seed=seed)
        return self._analyze(request, iterations, seconds, threads, every)

    def _search(
        self,
        request: hint_pb2.SuggestActionRequest,
        iterations: int,
        seconds: float | None,
        threads: int,
        token: str | None = None,
    ) -> hint_pb2.Hint:
        _limit(request, iterations, seconds, threads, 1.0)
        response: hint_pb2.SuggestActionResponse = self._call(
            self.hint_stub.SuggestAction, request, token, self._patience(seconds)
        )
        return response.hint

    def _analyze(
        self,
        request: hint_pb2.AnalyzePositionRequest,
        iterations: int,
        seconds: float | None,
        threads: int,
        every: float,
        token: str | None = None,
    ) -> "Analysis":
        _limit(request, iterations, seconds, threads, 10.0)
        request.report_interval.CopyFrom(_duration(every))
        return Analysis(
            self.hint_stub.AnalyzePosition(
                request, timeout=self._patience(seconds), metadata=_bearer(token)
            )
        )

    def _patience(self, seconds: float | None) -> float:
        # The server limits every search to 60 seconds, and it may have to wait for its turn.
        return self.timeout + (60.0 if seconds is None else seconds)

    def _persist(
        self,
        rpc: Callable[..., _Response],
        request: Any,
        patience: float,
        token: str | None = None,
    ) -> _Response:
        waiting = _Patience(patience)
        while True:
            try:
                return self._call(rpc, request, token)
            except CroupierError as error:
                waiting.after(error)

    def _call(
        self,
        rpc: Callable[..., _Response],
        request: Any,
        token: str | None = None,
        timeout: float | None = None,
    ) -> _Response:
        try:
            return rpc(request, timeout=timeout or self.timeout, metadata=_bearer(token))
        except grpc.RpcError as error:
            raise CroupierError.from_call(error) from error


class Analysis:
    """The reports of a search, to be iterated over; the last one has `final` set.

        with seat.analyze(seconds=10) as reports:
            for report in reports:
                if report.hint.expected_score > 0.9:
                    break

    Leaving the `with` ends the search.
    """

    def __init__(self, call: Any) -> None:
        self._call = call

    def __iter__(self) -> Iterator[hint_pb2.AnalyzePositionResponse]:
        try:
            yield from self._call
        except grpc.RpcError as error:
            raise CroupierError.from_call(error) from error

    def __enter__(self) -> "Analysis":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cancel()

    def cancel(self) -> None:
        """Ends the search. May be called from another thread."""
        self._call.cancel()


class _Patience:
    """For how long, and how often, something is tried that a server does not answer."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.begin_again()

    def begin_again(self) -> None:
        """The server has answered."""
        self._pause = 0.1
        self._lost_at: float | None = None

    def after(self, error: CroupierError) -> None:
        """Returns when it is time for the next try; raises the error if it would be in vain."""
        now = time.monotonic()
        self._lost_at = now if self._lost_at is None else self._lost_at
        if error.code is not grpc.StatusCode.UNAVAILABLE or now - self._lost_at >= self._seconds:
            raise error
        time.sleep(error.retry_after or self._pause)
        self._pause = min(2 * self._pause, 2.0)


class Spectator:
    """A match, and a token that lets its holder watch it."""

    def __init__(self, client: Client, match: str, token: str) -> None:
        self.client = client
        self.match = match
        self.token = token
        self._version: int | None = None

    def view(self, *, wait_for_version: int | None = None) -> game_pb2.View:
        """The match as the holder of the token knows it now.

        Or else, as it is when it has come to a version or is over: for clients that cannot hold a
        stream. If that takes too long, the view is the current one, of a lower version.
        """
        request = match_pb2.GetViewRequest(match=self.match, wait_for_version=wait_for_version)
        response: match_pb2.GetViewResponse = self._call(self._stub.GetView, request)
        return self._seen(response.view)

    def watch(
        self, after_version: int | None = None, *, patience: float = PATIENCE
    ) -> Iterator[match_pb2.WatchMatchResponse]:
        """Yields each version after the given one, or from the deal, until the match is over.

        When the connection is lost, it goes on after the last version that
        it has yielded; CroupierError only if that fails for `patience` seconds.
        """
        waiting = _Patience(patience)
        while True:
            request = match_pb2.WatchMatchRequest(match=self.match, after_version=after_version)
            stream = self._stub.WatchMatch(request, metadata=_bearer(self.token))
            try:
                for response in stream:
                    after_version = response.version
                    waiting.begin_again()
                    if response.HasField("view"):
                        self._seen(response.view)
                    yield response
                return
            except grpc.RpcError as error:
                waiting.after(CroupierError.from_call(error))
            finally:
                stream.cancel()

    def record(self) -> match_pb2.Record:
        """Everything that happened, once the match is over."""
        request = match_pb2.GetRecordRequest(match=self.match)
        response: match_pb2.GetRecordResponse = self._call(self._stub.GetRecord, request)
        return response.record

    @property
    def version(self) -> int | None:
        """The version of the newest view that this object has handed out; None before the first.

        A view of a lower version is out of date, even if it arrives later.
        """
        return self._version

    @property
    def _stub(self) -> Any:
        return self.client.match_stub

    def _call(self, rpc: Callable[..., _Response], request: Any) -> _Response:
        return self.client._call(rpc, request, self.token)

    def _seen(self, view: game_pb2.View) -> game_pb2.View:
        self._version = max(view.version, self._version or 0)
        return view


class Seat(Spectator):
    """A match, and a token that lets its holder play a seat."""

    def submit(
        self,
        action: game_pb2.Action,
        expected_version: int | None = None,
        *,
        patience: float = PATIENCE,
    ) -> game_pb2.View:
        """Plays one of the legal actions of a view; returns the view after it.

        The version is that of the newest view which this object has handed out, or the given one.

        When the connection is lost, or the server cannot reach its log, it is tried again under the
        same request id, so that it counts once; CroupierError only if that fails for `patience`
        seconds. Whether the action was counted is then not known, but the next view shows it.
        """
        if expected_version is None:
            expected_version = self.view().version if self._version is None else self._version
        request = match_pb2.SubmitActionRequest(
            match=self.match,
            expected_version=expected_version,
            action=action,
            request_id=str(uuid.uuid4()),
        )
        response: match_pb2.SubmitActionResponse = self.client._persist(
            self._stub.SubmitAction, request, patience, self.token
        )
        return self._seen(response.view)

    def turns(self) -> Iterator[game_pb2.View]:
        """Yields the view whenever the seat owes a decision, until the match is over.

        A view that came late is left out: when both seats decide at the same time, the stream may
        still show what this seat has answered already.
        """
        for response in self.watch():
            if response.version == self._version and response.view.legal_actions:
                yield response.view

    def suggest(
        self,
        *,
        iterations: int = 0,
        seconds: float | None = None,
        threads: int = 0,
        seed: int | None = None,
    ) -> hint_pb2.Hint:
        """A hint for what the seat knows now; one second if no limit is given."""
        request = hint_pb2.SuggestActionRequest(match=self.match, seed=seed)
        return self.client._search(request, iterations, seconds, threads, self.token)

    def analyze(
        self,
        *,
        iterations: int = 0,
        seconds: float | None = None,
        threads: int = 0,
        seed: int | None = None,
        every: float = 0.2,
    ) -> Analysis:
        """What a search finds for what the seat knows now; see `Client.analyze`."""
        request = hint_pb2.AnalyzePositionRequest(match=self.match, seed=seed)
        return self.client._analyze(request, iterations, seconds, threads, every, self.token)

    def contribute(self, entropy: bytes | None = None) -> game_pb2.View:
        """Contributes to the chance of a match that was created with `entropy_from_seats`.

        Sends the hash of 32 bytes drawn at random, or of those given, waits for the hashes of the
        other seat, and sends the bytes; returns the view after it. Each open seat has to call it.
        Who wants to verify more than the record keeps the bytes.
        """
        entropy = secrets.token_bytes(32) if entropy is None else entropy
        hashed = hashlib.sha256(entropy).digest()
        view = self._contribute(hash=hashed)
        if view.entropy_owed.hash_seats:
            for response in self.watch(view.version):
                if response.HasField("view") and not response.view.entropy_owed.hash_seats:
                    break
        return self._contribute(entropy=entropy)

    def _contribute(self, **contribution: bytes) -> game_pb2.View:
        request = match_pb2.ContributeEntropyRequest(match=self.match)
        for name, value in contribution.items():
            setattr(request, name, value)
        response: match_pb2.ContributeEntropyResponse = self._call(
            self._stub.ContributeEntropy, request
        )
        return self._seen(response.view)

    def rematch(self) -> NewMatch:
        """The match that follows this one, which is over: this side plays the other seat."""
        request = match_pb2.RematchRequest(match=self.match)
        response: match_pb2.RematchResponse = self._call(self._stub.Rematch, request)
        token = response.seat_token
        return NewMatch(
            name=response.match,
            seats={token.seat: Seat(self.client, response.match, token.token)},
            spectator=Spectator(self.client, response.match, response.spectator_token),
            secret_hash=response.secret_hash,
        )

    def resign(self) -> game_pb2.View:
        """Gives the match up; returns the view at its end."""
        request = match_pb2.ResignMatchRequest(match=self.match)
        response: match_pb2.ResignMatchResponse = self._call(self._stub.ResignMatch, request)
        return self._seen(response.view)


class Operator:
    """The operator of a server, by the token that it was started with."""

    def __init__(self, client: Client, token: str) -> None:
        self.client = client
        self.token = token

    def matches(
        self, *, game: str = "", state: match_pb2.MatchState | None = None, page_size: int = 0
    ) -> Iterator[match_pb2.MatchSummary]:
        """All matches, or those of a game or in a state, newest first, page by page."""
        game = f"games/{game.removeprefix('games/')}" if game else ""
        request = match_pb2.ListMatchesRequest(game=game, page_size=page_size)
        if state is not None:
            request.state = state
        while True:
            response: match_pb2.ListMatchesResponse = self.client._call(
                self.client.match_stub.ListMatches, request, self.token
            )
            yield from response.matches
            if not response.next_page_token:
                return
            request.page_token = response.next_page_token

    def record(self, match: str) -> match_pb2.Record:
        """The record of a match that is over."""
        request = match_pb2.GetRecordRequest(match=match)
        response: match_pb2.GetRecordResponse = self.client._call(
            self.client.match_stub.GetRecord, request, self.token
        )
        return response.record


def _bearer(token: str | None) -> tuple[tuple[str, str], ...]:
    return () if token is None else (("authorization", f"Bearer {token}"),)


def _limit(
    request: hint_pb2.SuggestActionRequest | hint_pb2.AnalyzePositionRequest,
    iterations: int,
    seconds: float | None,
    threads: int,
    default: float,
) -> None:
    if iterations or seconds is not None or threads:
        request.limits.iterations = iterations
        request.limits.threads = threads
        if seconds is not None or not iterations:
            request.limits.time.CopyFrom(_duration(default if seconds is None else seconds))


def _duration(seconds: float) -> Duration:
    return Duration(seconds=int(seconds), nanos=round(seconds % 1 * 1e9))
