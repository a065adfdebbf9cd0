"""Servers on real sockets and players that call them, for the tests of the service."""

import asyncio
import contextlib
import itertools
import re
import tempfile
import threading
import uuid
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest
import uvloop
from google.rpc import error_details_pb2
from grpc_status import rpc_status

import wire
from croupier.v1 import (
    catalog_pb2_grpc,
    game_pb2,
    hint_pb2,
    hint_pb2_grpc,
    match_pb2,
    match_pb2_grpc,
    puzzle_pb2_grpc,
    review_pb2,
    review_pb2_grpc,
)
from engine.game import SPECTATOR
from engine.position import Position
from service.common.event_loop import finish_now
from service.hosting.records import write_record
from service.hosting.views import serialize_events, serialize_view
from service.running.search_server import SearchServer, SearchServerOptions
from service.running.server import Options, Server
from service.searching.options import SearchOptions
from service.store import MemoryStore
from tests.support.facts import facts_of
from tests.support.play import game_of

ALLOWED = game_pb2.HINT_POLICY_ALLOWED
OPEN = match_pb2.SeatConfig(open=match_pb2.OpenSeat())
INVITED = match_pb2.SeatConfig(invited=match_pb2.InvitedSeat())

_NUMBERS = itertools.count()


def bot(strength):
    """The configuration of a seat with a bot."""
    return match_pb2.SeatConfig(bot=match_pb2.Bot(strength=f"BOT_STRENGTH_{strength}"))


def hosted_cases():
    """A parameter for each ruleset of each hosted game."""
    return [
        pytest.param(game_id, name, id=f"{game_id}-{name}")
        for game_id in wire.hosted_games()
        for name in facts_of(game_id).rulesets
    ]


def simultaneous_games():
    """The games that begin with a simultaneous decision."""
    return [name for name, game in wire.hosted_games().items() if len(_first_deciders(game)) == 2]


def _first_deciders(game):
    return Position.deal(game(), 1).deciders


def ruleset_of(game_id, name="default"):
    """A ruleset of a game's facts as a message. The default ruleset is the empty message."""
    if name == "default":
        return game_pb2.Ruleset(**{game_id: {}})
    return wire.write_ruleset(game_of(game_id, name)[0])


def as_bytes(message):
    """The bytes of a message, always the same ones."""
    return message.SerializeToString(deterministic=True)


def view_of(state, viewer):
    """The view of a match state for a viewer, as a message."""
    return game_pb2.View.FromString(serialize_view(state, viewer))


def events_of(state, version, viewer):
    """The events of a version of a match for a viewer, as messages."""
    field = serialize_events(state, version, viewer)
    return list(match_pb2.WatchMatchResponse.FromString(field).events)


def shown(state):
    """All that is shown of a match: its views and its events, and its record if it is over."""
    viewers = (0, 1, SPECTATOR)
    finish_now(state.recalling_events())
    messages = [view_of(state, viewer) for viewer in viewers]
    for version in range(state.version + 1):
        messages += [each for viewer in viewers for each in events_of(state, version, viewer)]
    return messages + ([write_record(state)] if state.over else [])


class Servers:
    """Servers in this process, on one event loop in a separate thread."""

    def __init__(self):
        self.loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        self._running = []

    def run(self, coroutine):
        """Runs a coroutine on the servers' event loop, and returns its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def start(self, store=None, clock=None, **options):
        """Starts a server on a free port, and returns it with its address."""
        chosen = Options(port=0, **options)
        server, address = self.run(self._start(store or MemoryStore(), chosen, clock))
        self._running.append(server)
        return server, address

    def start_search_server(self, tls=None, **options):
        """Starts a search server on a free port, and returns it with its address."""
        searching = SearchOptions(**options)
        chosen = SearchServerOptions("127.0.0.1:0", searching, tls=tls)
        server, address = self.run(self._start_search_server(chosen))
        self._running.append(server)
        return server, address

    async def _start_search_server(self, options):
        server = SearchServer(options)
        return server, await server.start()

    async def _start(self, store, options, clock):
        server = Server(options, store, clock)
        return server, await server.start()

    def stop(self, server, grace=0.2):
        """Stops a server after a grace period, in seconds."""
        self._running.remove(server)
        self.run(server.stop(grace))

    def forget(self, server):
        """Leaves a server alone that the test has stopped."""
        self._running.remove(server)

    async def _stop_all(self):
        await asyncio.gather(*(server.stop(0.2) for server in self._running))

    def close(self):
        """Stops all servers and the event loop."""
        self.run(self._stop_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@contextlib.contextmanager
def starting(servers):
    """Yields what starts a server and returns it with a client. Both end with this.

    `callers` is the text of a file of callers, and `operator` the token of an operator.
    """
    started = []
    with tempfile.TemporaryDirectory() as folder:

        def start(*arguments, callers=None, operator=None, **options):
            for name, text in (("callers_file", callers), ("operator_token_file", operator)):
                if text is not None:
                    options[name] = Path(folder, f"{name}-{len(started)}")
                    options[name].write_text(text)
            server, address = servers.start(*arguments, **options)
            started.append((server, Client(address)))
            return started[-1]

        yield start
    for server, client in started:
        client.close()
        if server in servers._running:
            servers.stop(server)


class Client:
    """A client of one server."""

    def __init__(self, address, options=()):
        self.address = address
        self.channel = grpc.insecure_channel(address, options)
        self.catalog = catalog_pb2_grpc.CatalogServiceStub(self.channel)
        self.matches = match_pb2_grpc.MatchServiceStub(self.channel)
        self.hints = hint_pb2_grpc.HintServiceStub(self.channel)
        self.reviews = review_pb2_grpc.ReviewServiceStub(self.channel)
        self.puzzles = puzzle_pb2_grpc.PuzzleServiceStub(self.channel)

    def close(self):
        """Closes the connections."""
        self.channel.close()

    def create(self, ruleset, seats=(), seed=None, time_control=None, hint_policy=ALLOWED):
        """Creates a match, and returns its Table."""
        request = match_pb2.CreateMatchRequest(
            ruleset=ruleset,
            seats=seats,
            seed=seed,
            time_control=time_control,
            hint_policy=hint_policy,
        )
        return Table(self, self.matches.CreateMatch(request))

    def join(self, invitation, request_id=None):
        """Joins an invited seat, and returns its Player."""
        joined = self.join_later(invitation, request_id).result()
        return Player(self, joined.name, joined.seat_token.token)

    def join_later(self, invitation, request_id=None):
        """Starts a call of JoinMatch, and returns its future."""
        request = match_pb2.JoinMatchRequest(
            invitation=invitation, request_id=request_id or str(uuid.uuid4())
        )
        return self.matches.JoinMatch.future(request)

    def hint(self, view, limits, seed=None):
        """Asks for a hint for a view instead of a match."""
        return self.hint_later(view=view, limits=limits, seed=seed).result()

    def hint_later(self, metadata=None, timeout=None, **search):
        """Starts a call of SuggestAction, and returns its future."""
        request = hint_pb2.SuggestActionRequest(search=search)
        return self.hints.SuggestAction.future(request, metadata=metadata, timeout=timeout)


class Table:
    """A match with the players of its open seats, by seat, and its spectator."""

    def __init__(self, client, created):
        self.created = created
        self.name = created.name
        self.players = {
            each.seat: Player(client, created.name, each.token) for each in created.seat_tokens
        }
        self.spectator = Player(client, created.name, created.spectator_token)
        self.invitations = {each.seat: each.invitation for each in created.invitations}

    def join(self, client, seat, request_id=None):
        """Lets a caller with a client of its own join an invited seat, and returns its player."""
        self.players[seat] = client.join(self.invitations[seat], request_id)
        return self.players[seat]

    def everyone(self):
        """The players, then the spectator."""
        return [*self.players.values(), self.spectator]

    def player_views(self):
        """The views of the players."""
        return [each.view() for each in self.players.values()]

    def views(self):
        """The views of all players and the spectator, as bytes."""
        return [each.view().SerializeToString(deterministic=True) for each in self.everyone()]


class Player:
    """A caller with a token of a match: a seat or a spectator."""

    def __init__(self, client, match, token):
        self._client = client
        self.match = match
        self.token = token

    def move_to(self, client):
        """Makes this player call another server from now on."""
        self._client = client

    @property
    def metadata(self):
        return [("authorization", f"Bearer {self.token}")] if self.token else []

    def _call(self, method, request):
        return method(request, metadata=self.metadata)

    def details(self):
        request = match_pb2.GetMatchRequest(name=self.match)
        return self._call(self._client.matches.GetMatch, request).hosted_match

    def view(self):
        request = match_pb2.GetViewRequest(name=self.match)
        return self._call(self._client.matches.GetView, request).view

    def wait_later(self, version, timeout=None):
        """Starts a call of GetView that waits for a version, and returns its future."""
        request = match_pb2.GetViewRequest(name=self.match, wait_for_version=version)
        return self._client.matches.GetView.future(request, metadata=self.metadata, timeout=timeout)

    def request(self, action, version, request_id=None):
        """A request for SubmitAction, by default with a new request_id."""
        return match_pb2.SubmitActionRequest(
            name=self.match,
            expected_version=version,
            action=action,
            request_id=request_id or f"request {next(_NUMBERS)}",
        )

    def send(self, request):
        return self._call(self._client.matches.SubmitAction, request).view

    def send_later(self, request):
        """Starts a call of SubmitAction, and returns its future."""
        return self._client.matches.SubmitAction.future(request, metadata=self.metadata)

    def submit(self, action, version, request_id=None):
        return self.send(self.request(action, version, request_id))

    def watch(self, after=None):
        """Calls WatchMatch, and returns the stream."""
        request = match_pb2.WatchMatchRequest(name=self.match, after_version=after)
        return self._call(self._client.matches.WatchMatch, request)

    def offer(self, kind):
        request = match_pb2.MakeOfferRequest(name=self.match, kind=f"OFFER_KIND_{kind}")
        return self._call(self._client.matches.MakeOffer, request).view

    def resume(self):
        request = match_pb2.ResumeMatchRequest(name=self.match)
        return self._call(self._client.matches.ResumeMatch, request).view

    def answer(self, offer, agree=True):
        request = match_pb2.AnswerOfferRequest(
            name=self.match, offer_version=offer.version, agree=agree
        )
        return self._call(self._client.matches.AnswerOffer, request).view

    def resign(self):
        request = match_pb2.ResignMatchRequest(name=self.match)
        return self._call(self._client.matches.ResignMatch, request).view

    def replace_token(self, request_id=None):
        """Replaces the token with which this player calls, but goes on with the old one.

        Returns the new token.
        """
        return self.replace_token_later(request_id).result().seat_token.token

    def replace_token_later(self, request_id=None):
        """Starts a call of ReplaceSeatToken, and returns its future."""
        request = match_pb2.ReplaceSeatTokenRequest(
            name=self.match, request_id=request_id or str(uuid.uuid4())
        )
        return self._client.matches.ReplaceSeatToken.future(request, metadata=self.metadata)

    def rematch(self):
        request = match_pb2.RematchRequest(name=self.match)
        return self._call(self._client.matches.Rematch, request)

    def record(self):
        request = match_pb2.GetRecordRequest(name=self.match)
        return self._call(self._client.matches.GetRecord, request).record

    def review(self, **fields):
        """Calls ReviewMatch, and returns the stream."""
        request = review_pb2.ReviewMatchRequest(match_name=self.match, **fields)
        return self._call(self._client.reviews.ReviewMatch, request)

    def replay(self, **fields):
        """Calls ReplayMatch, and returns the stream."""
        request = review_pb2.ReplayMatchRequest(match_name=self.match, **fields)
        return self._call(self._client.reviews.ReplayMatch, request)

    def hint(self, limits, seed=None):
        return self.hint_later(limits=limits, seed=seed).result()

    def hint_later(self, timeout=None, **search):
        """Starts a call of SuggestAction, and returns its future."""
        return self._client.hint_later(self.metadata, timeout, match_name=self.match, **search)

    def analysis(self, report_interval=None, **search):
        """Starts a call of AnalyzePosition, and returns its stream."""
        request = hint_pb2.AnalyzePositionRequest(
            search={"match_name": self.match, **search}, report_interval=report_interval
        )
        return self._call(self._client.hints.AnalyzePosition, request)


def play_on(table, rng, most=None):
    """Plays random actions until the match is over, at most `most` of them."""
    done = 0
    while done != most:
        view = table.spectator.view()
        if not view.deciders:
            return
        player = table.players[rng.choice(view.deciders)]
        view = player.view()
        player.submit(rng.choice(view.legal_actions), view.version)
        done += 1


class Refused(NamedTuple):
    """The parts of a refusal that a client reads."""

    code: grpc.StatusCode
    reason: str
    fields: list
    metadata: dict
    retry_seconds: float
    quotas: list
    reasons: list  # Of the fields.


def refused(call, *arguments):
    """Makes a call that must be refused, and returns the refusal."""
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments)
    return read_error(caught.value)


def read_error(error):
    """Reads the details of an error as AIP-193 defines them."""
    status = rpc_status.from_call(error)
    assert status is not None, error
    info, bad, retry = (
        error_details_pb2.ErrorInfo(),
        error_details_pb2.BadRequest(),
        error_details_pb2.RetryInfo(),
    )
    quota = error_details_pb2.QuotaFailure()
    for detail in status.details:
        assert any(detail.Unpack(message) for message in (info, bad, retry, quota)), detail.type_url
    assert info.domain == "croupier.v1"
    assert status.message
    # AIP-193 asks for this form.
    for reason in (info.reason, *(violation.reason for violation in bad.field_violations)):
        assert re.fullmatch("[A-Z][A-Z0-9_]{1,61}[A-Z0-9]", reason), (reason, status.message)
    return Refused(
        error.code(),
        info.reason,
        [violation.field for violation in bad.field_violations],
        dict(info.metadata),
        retry.retry_delay.ToMilliseconds() / 1000,
        [violation.description for violation in quota.violations],
        [violation.reason for violation in bad.field_violations],
    )


def outcomes(calls):
    """The responses of calls under way, and the reasons of those that were refused."""
    answered, reasons = [], []
    for call in calls:
        try:
            answered.append(call.result())
        except grpc.RpcError as error:
            reasons.append(read_error(error)[:2])
    return answered, reasons
