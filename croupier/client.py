"""A thin, synchronous client of the Croupier API.

    with Client("localhost:50051") as client:
        match = client.create_match(game, (OPEN, bot("casual")))
        seat = match.seats[0]
        for view in seat.turns():
            seat.submit(view.legal_actions[0])
        print(seat.view().result)

The client adds four things to the generated stubs: the token on every call; a request id on every
new match and, with the version, on every action; streams and calls that outlast a lost connection
or server; and one exception with all that the server said. The messages are those of `croupier.v1`.
For what the client does not have, use its stubs with `Client.call`.
"""

import datetime
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, Unpack

import grpc

from croupier import enums
from croupier.connection import (
    PATIENCE,
    TIMEOUT,
    Analysis,
    Connection,
    SearchOptions,
    duration,
)
from croupier.errors import CroupierError, FieldViolation
from croupier.messages import PACKAGED
from croupier.seats import NewMatch, Seat, Spectator, one_seat
from croupier.streams import HEARTBEAT_INTERVAL, SILENT_INTERVALS, until_silent
from croupier.v1 import (
    catalog_pb2,
    clock_pb2,
    feed_pb2,
    game_pb2,
    hint_pb2,
    match_pb2,
    puzzle_pb2,
    review_pb2,
)

__all__ = [
    "END_REASONS",
    "HEARTBEAT_INTERVAL",
    "HINT_POLICIES",
    "INVITED",
    "OPEN",
    "PATIENCE",
    "SILENT_INTERVALS",
    "STRENGTHS",
    "TIMEOUT",
    "UPDATE_FILTERS",
    "Analysis",
    "Client",
    "CroupierError",
    "FieldViolation",
    "NewMatch",
    "Operator",
    "Seat",
    "Spectator",
    "bot",
    "clock",
    "open_seat",
]

CATALOG_PATIENCE = 1.0  # Seconds.
OPEN = match_pb2.SeatConfig(open=match_pb2.OpenSeat())
INVITED = match_pb2.SeatConfig(invited=match_pb2.InvitedSeat())
# The strengths of bots by name: "random", "beginner", "casual", "regular", "skilled", "expert".
STRENGTHS: dict[str, match_pb2.BotStrength] = enums.numbers(match_pb2.BotStrength.DESCRIPTOR)
# Whether seats may ask for hints, by name: "allowed", "after_end".
HINT_POLICIES: dict[str, game_pb2.HintPolicy] = enums.numbers(game_pb2.HintPolicy.DESCRIPTOR)
# Which updates of the feed to get, by name: "due", "over".
UPDATE_FILTERS: dict[str, feed_pb2.UpdateFilter] = enums.numbers(feed_pb2.UpdateFilter.DESCRIPTOR)
# Why a match has ended, as a word: "rules", "resignation" and so on.
END_REASONS = enums.words(game_pb2.EndReason.DESCRIPTOR)

_Response = TypeVar("_Response")


def open_seat(display_name: str = "", player: str = "") -> match_pb2.SeatConfig:
    """Returns an open seat; the name, of at most 32 characters, is what the other players see.

    `player` is whose seat it is: an id of the front end whose API key creates the match, by default
    that of the client.
    """
    return match_pb2.SeatConfig(
        open=match_pb2.OpenSeat(), display_name=display_name, player_id=player
    )


def bot(strength: str) -> match_pb2.SeatConfig:
    """Returns a seat that the server plays; raises ValueError for a name not in `STRENGTHS`."""
    found = STRENGTHS.get(strength.lower())
    if found is None:
        raise ValueError(f"there is no strength {strength!r}, only {', '.join(STRENGTHS)}")
    return match_pb2.SeatConfig(bot=match_pb2.Bot(strength=found))


def clock(
    per_decision: float | None = None,
    per_match: float | None = None,
    increment: float | None = None,
    *,
    default_action: bool = False,
    max_default_actions: int = 0,
) -> clock_pb2.TimeControl:
    """Returns how long the open seats of a match may take, in seconds.

    `increment` is what a seat gets back after each decision. A seat whose time is up forfeits, or
    with `default_action` the server plays one of its legal actions, at most `max_default_actions`
    times in a row before it ends the match (0: as often as the server allows).
    """
    control = clock_pb2.TimeControl(
        per_decision=None if per_decision is None else duration(per_decision),
        per_match=None if per_match is None else duration(per_match),
        increment=None if increment is None else duration(increment),
        max_default_actions=max_default_actions,
    )
    if default_action:
        control.on_expiry = clock_pb2.EXPIRY_POLICY_DEFAULT_ACTION
    return control


class Client(Connection):
    """A client of the server at "HOST:PORT". Several threads may use it."""

    def games(self, *, language: str = "") -> list[catalog_pb2.Game]:
        """Returns the games of this server, without their cards.

        Texts are in a language, such as "de", if the server has it.
        """
        request = catalog_pb2.ListGamesRequest(language_code=language)
        response: catalog_pb2.ListGamesResponse = self._ask(self.catalog_stub.ListGames, request)
        return list(response.games)

    def game(self, name: str, *, language: str = "") -> catalog_pb2.Game:
        """Returns a game with its cards, by its name with or without "games/"; see `games`."""
        request = catalog_pb2.GetGameRequest(
            name=f"games/{name.removeprefix('games/')}", language_code=language
        )
        response: catalog_pb2.GetGameResponse = self._ask(self.catalog_stub.GetGame, request)
        return response.game

    def game_of(self, ruleset: game_pb2.Ruleset) -> str:
        """Returns the name, without "games/", of the game of a ruleset; raises CroupierError."""
        name = str(ruleset.WhichOneof("game"))
        if name != PACKAGED:
            return name
        type_url = ruleset.packaged.type_url
        of_type = (g for g in self.games() if g.default_ruleset.packaged.type_url == type_url)
        # A server has the games of its matches.
        return next(of_type).name.removeprefix("games/")

    def _ask(self, rpc: Callable[..., _Response], request: Any) -> _Response:
        # A client begins with the catalog, and shall soon know that no server is there.
        return self.persist(rpc, request, min(self.patience, CATALOG_PATIENCE))

    def create_match(
        self,
        ruleset: game_pb2.Ruleset | str,
        seats: Sequence[match_pb2.SeatConfig] = (OPEN, OPEN),
        *,
        seed: int | None = None,
        entropy_from_seats: bool = False,
        time_control: clock_pb2.TimeControl | None = None,
        hint_policy: game_pb2.HintPolicy | None = None,
        start_from: match_pb2.StartFrom | None = None,
        spectator_delay: float | None = None,
        forbidden_offers: Iterable[str] = (),
        request_id: str = "",
        patience: float | None = None,
    ) -> NewMatch:
        """Creates a match of a ruleset, or of a game by its name under its default ruleset.

        The invitation of an `INVITED` seat is in `NewMatch.invitations`; the match begins when
        somebody has joined with it. With `entropy_from_seats`, the match waits until each open and
        invited seat has called `contribute`. Unless a `hint_policy`, one of `HINT_POLICIES`, says
        otherwise, seats may ask for hints if a bot plays, and else only after the end. With
        `start_from`, the match is played on from a moment of a match that is over, as practice.
        What spectators are told is at least `spectator_delay` seconds old. The seats cannot offer
        each other what is in `forbidden_offers`: "takeback", "pause" or both; ValueError says if
        there is no such kind.

        When the connection is lost, or the server cannot reach its log, the call is repeated under
        the same request id, so that one match is created; raises CroupierError only if that fails
        for `patience` seconds, by default this client's. A caller that keeps its `request_id`, a
        `uuid.uuid4()` that nobody else may know, can call this again later and gets the same match.
        """
        if isinstance(ruleset, str):
            name, ruleset = ruleset.removeprefix("games/"), game_pb2.Ruleset()
            if name in ruleset.DESCRIPTOR.fields_by_name:
                getattr(ruleset, name).SetInParent()
            else:
                ruleset = self.game(name).default_ruleset
        request = match_pb2.CreateMatchRequest(
            ruleset=ruleset,
            seats=seats,
            seed=seed,
            entropy_from_seats=entropy_from_seats,
            time_control=time_control,
            hint_policy=hint_policy,
            start_from=start_from,
            spectator_delay=None if spectator_delay is None else duration(spectator_delay),
            forbidden_offers=[
                enums.number(game_pb2.OfferKind.DESCRIPTOR, kind) for kind in forbidden_offers
            ],
            request_id=request_id or str(uuid.uuid4()),
        )
        response: match_pb2.CreateMatchResponse = self.persist(
            self.match_stub.CreateMatch, request, patience
        )
        return self._created(response)

    def create_matches(
        self,
        requests: Iterable[match_pb2.CreateMatchRequest],
        *,
        patience: float | None = None,
    ) -> list[NewMatch]:
        """Creates up to 100 matches with one call, all or none, in the order of the requests.

        The call is repeated as in `create_match`: a request without a request id gets one. Raises
        CroupierError, whose fields name the match that is at fault, as `requests[2].seats`.
        """
        batch = match_pb2.BatchCreateMatchesRequest(requests=requests)
        for request in batch.requests:
            request.request_id = request.request_id or str(uuid.uuid4())
        response: match_pb2.BatchCreateMatchesResponse = self.persist(
            self.match_stub.BatchCreateMatches, batch, patience
        )
        return [self._created(each) for each in response.matches]

    def _created(self, response: match_pb2.CreateMatchResponse) -> NewMatch:
        return NewMatch(
            name=response.name,
            seats={t.seat: Seat(self, response.name, t.token) for t in response.seat_tokens},
            spectator=Spectator(self, response.name, response.spectator_token),
            secret_hash=response.secret_hash,
            invitations={each.seat: each.invitation for each in response.invitations},
        )

    def get_invitation(self, invitation: str) -> match_pb2.GetInvitationResponse:
        """Returns what an invitation is for, and whether it can still be used; changes nothing.

        Raises CroupierError with the reason INVITATION_INVALID if it is none of this server.
        """
        request = match_pb2.GetInvitationRequest(invitation=invitation)
        response: match_pb2.GetInvitationResponse = self.persist(
            self.match_stub.GetInvitation, request
        )
        return response

    def join(
        self,
        invitation: str,
        *,
        display_name: str = "",
        request_id: str = "",
        patience: float | None = None,
    ) -> NewMatch:
        """Joins an invited seat; returns its match, with the seat.

        The other player sees the `display_name`, of at most 32 characters. Nobody else gets the
        token of the seat. Raises CroupierError with the reason INVITATION_USED if somebody else has
        used the invitation first. When the connection is lost, the call is repeated as in
        `create_match`.
        """
        request = match_pb2.JoinMatchRequest(
            invitation=invitation,
            display_name=display_name,
            request_id=request_id or str(uuid.uuid4()),
        )
        response: match_pb2.JoinMatchResponse = self.persist(
            self.match_stub.JoinMatch, request, patience
        )
        return one_seat(self, response)

    def watch_matches(
        self,
        cursor: str = "",
        *,
        update_filter: feed_pb2.UpdateFilter = feed_pb2.UPDATE_FILTER_UNSPECIFIED,
        patience: float | None = None,
        operator_token: str | None = None,
    ) -> Iterator[feed_pb2.WatchMatchesResponse]:
        """Yields what changes in all matches that were created with this client's API key.

        With an `operator_token`, it is what changes in all matches of the log. It begins with the
        matches that run, or after the `cursor` of an earlier response. A caller that keeps the
        `cursor` of the last response that it has dealt with misses no update, whatever becomes of
        it and of the server; an update can come again. A response without
        updates brings a newer cursor. When the connection is lost, the stream is resumed; raises
        CroupierError only if that fails for `patience` seconds, by default this client's, and with
        the reason CURSOR_EXPIRED if it has to begin anew.
        """
        retry = self.retry(patience)
        request = feed_pb2.WatchMatchesRequest(
            cursor=cursor, filter=update_filter, heartbeat_interval=duration(HEARTBEAT_INTERVAL)
        )
        limit = SILENT_INTERVALS * HEARTBEAT_INTERVAL
        while True:
            metadata = self.metadata(operator_token)
            stream: Any = self.feed_stub.WatchMatches(request, metadata=metadata)
            try:
                for response in until_silent(stream, limit):
                    retry.reset()
                    yield response
                    # After the caller has dealt with it.
                    request.cursor = response.cursor or request.cursor
            except grpc.RpcError as error:
                self.wait(retry, CroupierError.from_call(error))
            finally:
                stream.cancel()

    def matches(
        self,
        *,
        game: str = "",
        state: match_pb2.MatchState | None = None,
        created_since: datetime.datetime | None = None,
        created_before: datetime.datetime | None = None,
        page_size: int = 0,
        operator_token: str | None = None,
    ) -> Iterator[match_pb2.Match]:
        """Yields the matches that were created with this client's API key, newest first.

        With a `player`, it yields those in which the player has a seat; with an `operator_token`,
        those of all. Of these, it yields those of a game, in a state, or created in a time, from
        `created_since` until before `created_before`, which have time zones.
        """
        game = f"games/{game.removeprefix('games/')}" if game else ""
        request = match_pb2.ListMatchesRequest(game=game, state=state, page_size=page_size)
        for field, moment in (("created_since", created_since), ("created_before", created_before)):
            if moment is not None:
                getattr(request, field).FromDatetime(moment)
        while True:
            response: match_pb2.ListMatchesResponse = self.persist(
                self.match_stub.ListMatches, request, token=operator_token
            )
            yield from response.matches
            if not response.next_page_token:
                return
            request.page_token = response.next_page_token

    def erase_names(self, player_id: str = "") -> Iterator[match_pb2.EraseNamesResponse]:
        """Erases the names of a player in all its matches for good; yields what each call has done.

        `player_id` is a player of the API key, or empty for whom the client calls. Nothing more is
        erased once this is not iterated any more; begun again, it finishes.
        """
        request = match_pb2.EraseNamesRequest(player_id=player_id)
        while True:
            response: match_pb2.EraseNamesResponse = self.persist(
                self.match_stub.EraseNames, request
            )
            yield response
            if not response.next_page_token:
                return
            request.page_token = response.next_page_token

    def views(self, holders: Sequence[Spectator]) -> list[feed_pb2.ViewResult]:
        """Returns what each of at most 100 holders of tokens knows: a view, or an error."""
        request = feed_pb2.BatchGetViewsRequest(tokens=[each.token for each in holders])
        response: feed_pb2.BatchGetViewsResponse = self.persist(
            self.feed_stub.BatchGetViews, request
        )
        return list(response.results)

    def suggest(self, view: game_pb2.View, **options: Unpack[SearchOptions]) -> hint_pb2.Hint:
        """Returns a hint for the view of a seat, from any source.

        The search takes one second if no limit is given.
        """
        return self.search(hint_pb2.Search(view=view), **options)

    def analyze(
        self, view: game_pb2.View, *, every: float = 0.2, **options: Unpack[SearchOptions]
    ) -> Analysis:
        """Starts a search from the view of a seat.

        It reports about every `every` seconds, and at the end. The search takes ten seconds if no
        limit is given.
        """
        return self.start_analysis(hint_pb2.Search(view=view), every, **options)

    def review(
        self, record: match_pb2.MatchRecord, *, iterations: int = 0, deep_iterations: int = 0
    ) -> Iterator[review_pb2.ReviewMatchResponse]:
        """Yields the reports of a review of a record: a plan, the decisions, and a summary.

        The iterations are those of each search; 0 is the server's default. The review ends when
        the iterator is closed.
        """
        request = review_pb2.ReviewMatchRequest(
            record=record, iterations=iterations, deep_iterations=deep_iterations
        )
        return self.follow_review(request)

    def replay(
        self,
        record: match_pb2.MatchRecord,
        *,
        seats: Iterable[int] = (),
        spectator: bool = False,
        legal_actions: bool = False,
    ) -> Iterator[review_pb2.ReplayMatchResponse]:
        """Yields the views of a record at each version: those of both seats, if none is named."""
        request = review_pb2.ReplayMatchRequest(
            record=record, seats=seats, spectator=spectator, legal_actions=legal_actions
        )
        return self.follow_replay(request)

    def puzzles(self, game: str, *, theme: str = "") -> Iterator[str]:
        """Yields the names of all puzzles of a game, or of those of a theme, page by page."""
        parent = f"games/{game.removeprefix('games/')}"
        request = puzzle_pb2.ListPuzzlesRequest(parent=parent, theme=theme)
        while True:
            response: puzzle_pb2.ListPuzzlesResponse = self.persist(
                self.puzzle_stub.ListPuzzles, request
            )
            yield from (each.name for each in response.puzzles)
            if not response.next_page_token:
                return
            request.page_token = response.next_page_token

    def puzzle(self, name: str) -> puzzle_pb2.Puzzle:
        """Returns a puzzle with the view to decide from."""
        request = puzzle_pb2.GetPuzzleRequest(name=name)
        response: puzzle_pb2.GetPuzzleResponse = self.persist(self.puzzle_stub.GetPuzzle, request)
        return response.puzzle

    def solve(self, name: str, action: game_pb2.MatchAction) -> puzzle_pb2.SolvePuzzleResponse:
        """Tells whether an action is the answer of a puzzle, and what the answer is."""
        request = puzzle_pb2.SolvePuzzleRequest(name=name, action=action)
        response: puzzle_pb2.SolvePuzzleResponse = self.persist(
            self.puzzle_stub.SolvePuzzle, request
        )
        return response


class Operator:
    """The operator of a server, with the token that the server was started with."""

    def __init__(self, client: Client, token: str) -> None:
        self.client = client
        self.token = token

    def matches(
        self, *, game: str = "", state: match_pb2.MatchState | None = None, page_size: int = 0
    ) -> Iterator[match_pb2.Match]:
        """Yields all matches, or those of a game or in a state, newest first, page by page."""
        return self.client.matches(
            game=game, state=state, page_size=page_size, operator_token=self.token
        )

    def watch_matches(
        self,
        cursor: str = "",
        *,
        update_filter: feed_pb2.UpdateFilter = feed_pb2.UPDATE_FILTER_UNSPECIFIED,
        patience: float | None = None,
    ) -> Iterator[feed_pb2.WatchMatchesResponse]:
        """Yields what changes in all matches of the log; as `Client.watch_matches`."""
        return self.client.watch_matches(
            cursor,
            update_filter=update_filter,
            patience=patience,
            operator_token=self.token,
        )

    def erase_names(self, match: str) -> bool:
        """Erases the names of both seats of a match for good; returns whether there were any."""
        request = match_pb2.EraseNamesRequest(name=match)
        response: match_pb2.EraseNamesResponse = self.client.persist(
            self.client.match_stub.EraseNames, request, token=self.token
        )
        return response.erased_matches > 0

    def match(self, name: str) -> match_pb2.Match:
        """Returns a match by its name: its state and seats, but no cards."""
        request = match_pb2.GetMatchRequest(name=name)
        response: match_pb2.GetMatchResponse = self.client.persist(
            self.client.match_stub.GetMatch, request, token=self.token
        )
        return response.hosted_match

    def record(self, match: str) -> match_pb2.MatchRecord:
        """Returns the record of a match that is over."""
        request = match_pb2.GetRecordRequest(name=match)
        response: match_pb2.GetRecordResponse = self.client.persist(
            self.client.match_stub.GetRecord, request, token=self.token
        )
        return response.record
