"""Budgets over the wire: a real server with a callers file, which counts callers of this machine.

Several addresses call through a header that the server is told to believe.
"""

import asyncio
import hashlib
import queue
import random
import time
import uuid
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import grpc
import pytest

from croupier.client import Client as PythonClient
from croupier.client import CroupierError
from croupier.v1 import catalog_pb2, hint_pb2, match_pb2
from service.admission.admission import CALL_BYTES, MAX_WAITING_BYTES, Admission
from service.admission.budgets import Budget, BudgetExhausted
from service.admission.callers_file import Callers, Key
from service.api.calls import Calls, Service
from service.api.grpc_services import HEALTH
from service.common.call import Call, Kind, Principal
from service.observability.metrics import Metrics
from tests.support.facts import facts_of
from tests.support.serving import Player, read_error, refused, ruleset_of
from tests.support.waiting import FOREVER, wait_until
from wire.errors import Refusal

GAME = "skystones"
RULES = ruleset_of(GAME)
EXHAUSTED = (grpc.StatusCode.RESOURCE_EXHAUSTED, "BUDGET_EXHAUSTED")
KEY, OTHER_KEY = "key of the studio", "key of another studio"
FEW = hint_pb2.SearchLimits(iterations=10)


def digest(key):
    return hashlib.sha256(key.encode()).hexdigest()


CALLERS = f"""
trusted_proxies = ["127.0.0.1"]

[budgets.person]
calls_per_second = 20
processor_milliseconds_per_second = "unlimited"
streams = 2
live_matches = 3

[budgets.address]
calls_per_second = 60
processor_milliseconds_per_second = "unlimited"
matches_per_hour = 8
ruleset_bytes_per_hour = 100
live_matches = 3
streams = 3

[keys.studio]
sha256 = "{digest(KEY)}"
names_players = true
[keys.studio.budgets]
processor_milliseconds_per_second = "unlimited"

[keys.other]
sha256 = "{digest(OTHER_KEY)}"
[keys.other.budgets]
processor_milliseconds_per_second = "unlimited"
matches_per_hour = 1
"""


def from_address(address, *more):
    return [("x-forwarded-for", address), *more]


def with_key(key, *more):
    return [("x-api-key", key), *more]


@pytest.fixture
def serve(start):
    """Starts servers that have a callers file, and returns a client.

    Their budgets do not refill unless `now` is another clock than one that stands still.
    """

    def serve(text=CALLERS, now=lambda: 0.0):
        server, client = start(callers=text)
        server._admission._ledger._now = now
        return client

    return serve


@pytest.fixture
def client(serve):
    return serve()


def create(client, metadata, ruleset=RULES, request_id=""):
    request = match_pb2.CreateMatchRequest(
        ruleset=ruleset, request_id=request_id, hint_policy="HINT_POLICY_ALLOWED"
    )
    return client.matches.CreateMatch(request, metadata=metadata)


def list_games(client, metadata):
    return client.catalog.ListGames(catalog_pb2.ListGamesRequest(), metadata=metadata)


def calls_until_refused(call, most=1000):
    """Make calls until one is refused; return how many were answered, and the refusal."""
    for count in range(most):
        try:
            call()
        except grpc.RpcError as error:
            return count, read_error(error)
    return most, None


class Seat(Player):
    """A player who calls from an address."""

    def __init__(self, client, created, seat, address):
        super().__init__(client, created.name, created.seat_tokens[seat].token)
        self.address = address

    @property
    def metadata(self):
        return from_address(self.address, *super().metadata)


def test_an_address_uses_up_its_calls_and_others_do_not_notice(client):
    count, refusal = calls_until_refused(lambda: list_games(client, from_address("192.0.2.1")))
    assert count == 60
    assert refusal[:2] == EXHAUSTED
    assert refusal.metadata == {
        "budget": "calls_per_second",
        "limit": "60",
        "principal": "address",
    }
    assert 0 < refusal.retry_seconds <= 1
    list_games(client, from_address("192.0.2.2"))
    list_games(client, with_key(KEY))


def test_one_seat_cannot_use_up_the_calls_of_the_other(client):
    created = create(client, from_address("192.0.2.1"))
    greedy, modest = (Seat(client, created, seat, f"192.0.2.{seat}") for seat in (0, 1))
    count, refusal = calls_until_refused(greedy.view)
    assert count == 20
    assert refusal[:2] == EXHAUSTED and refusal.metadata["principal"] == "seat"
    assert modest.view().seat == 1


def test_a_key_may_do_much_more_than_one_of_its_players(client):
    count, refusal = calls_until_refused(lambda: list_games(client, with_key(KEY)), 200)
    assert (count, refusal) == (200, None)
    ann, bob = (with_key(KEY, ("x-player-id", name)) for name in ("ann", "bob"))
    count, refusal = calls_until_refused(lambda: list_games(client, ann))
    assert count == 20 and refusal.metadata["principal"] == "player"
    list_games(client, bob)


def test_a_key_without_budgets_leaves_others_some_of_the_server(serve):
    client = serve(f'[keys.studio]\nsha256 = "{digest(KEY)}"\n')
    count, refusal = calls_until_refused(lambda: list_games(client, with_key(KEY)), 6000)
    assert 0 < count <= 5000
    assert refusal.metadata["principal"] == "key"


def test_keys_are_guessed_at_the_expense_of_the_address(client):
    home = from_address("192.0.2.1")
    guess = partial(list_games, client, [*home, *with_key("guessed")])
    reasons = [refused(guess).reason for _ in range(61)]
    assert reasons == [*["KEY_INVALID"] * 60, "BUDGET_EXHAUSTED"]
    list_games(client, from_address("192.0.2.2"))


SLOW = """
trusted_proxies = ["127.0.0.1"]
[budgets.address]
processor_milliseconds_per_second = 2
"""


def test_a_caller_pays_for_processor_time_and_others_do_not(serve):
    client = serve(SLOW)
    count, refusal = calls_until_refused(lambda: list_games(client, from_address("192.0.2.1")))
    assert count < 1000
    assert refusal[:2] == EXHAUSTED
    assert refusal.metadata["budget"] == "processor_milliseconds_per_second"
    assert refusal.metadata["limit"] == "2"
    list_games(client, from_address("192.0.2.2"))


def test_a_stream_of_a_caller_in_debt_goes_on_later(serve):
    client = serve(SLOW)
    spender = from_address("192.0.2.1")
    created = create(client, from_address("192.0.2.2"))
    seat = Seat(client, created, 0, "192.0.2.1")
    stream = client.matches.WatchMatch(
        match_pb2.WatchMatchRequest(name=created.name), metadata=seat.metadata
    )
    assert next(stream).version == 0
    calls_until_refused(lambda: list_games(client, spender))
    other = Seat(client, created, 1, "192.0.2.3")
    other.resign()
    assert next(stream).version == 1
    assert list(stream) == []


def test_the_holder_of_a_replaced_token_cannot_use_up_the_calls_of_the_seat(client):
    created = create(client, from_address("192.0.2.1"))
    thief, owner = (Seat(client, created, 0, f"192.0.2.{n}") for n in (1, 2))
    request = match_pb2.ReplaceSeatTokenRequest(name=created.name, request_id=str(uuid.uuid4()))
    owner.token = client.matches.ReplaceSeatToken(request, metadata=owner.metadata).seat_token.token
    reasons = [refused(thief.view).reason for _ in range(20)]
    assert reasons == [*["TOKEN_REPLACED"] * 19, "BUDGET_EXHAUSTED"]
    assert owner.view().seat == 0


def test_a_caller_that_goes_on_calling_waits_for_its_refusals(servers, serve):
    client = serve()
    answers = queue.SimpleQueue()
    for _ in range(600):
        call = client.catalog.ListGames.future(
            catalog_pb2.ListGamesRequest(), metadata=from_address("192.0.2.1")
        )
        call.add_done_callback(answers.put)
    outcomes = Counter()
    # 60 are answered. Of the refusals, a tenth of this comes at once; then the others wait.
    # A refusal may overtake an answer, whose message must wait until the client has room for it.
    while outcomes["RESOURCE_EXHAUSTED"] < 6 or outcomes["OK"] < 60:
        outcomes[answers.get().code().name] += 1
    list_games(client, from_address("192.0.2.2"))
    assert outcomes.total() + answers.qsize() < 300
    # Nobody has to wait for a server that stops.
    servers.stop(servers._running[-1], grace=FOREVER)
    while outcomes.total() < 600:
        outcomes[answers.get().code().name] += 1
    assert outcomes["RESOURCE_EXHAUSTED"] + outcomes["OK"] == 600, outcomes


def waiting_refusals(monkeypatch):
    """An admission by which each refusal waits until it is closed."""
    admission = Admission(Callers(), Metrics())
    monkeypatch.setattr(admission._ledger, "refusal_delay", lambda payer: FOREVER)
    return admission, BudgetExhausted(Principal(Kind.KEY, "studio"), Budget.CALLS, 1, 1.0)


async def test_refusals_that_wait_hold_so_many_bytes_at_most(monkeypatch):
    admission, refusal = waiting_refusals(monkeypatch)
    size = MAX_WAITING_BYTES // 2 - CALL_BYTES
    waiting = [asyncio.create_task(admission.wait_to_refuse(refusal, size)) for _ in range(2)]
    while admission._refusals_waiting < MAX_WAITING_BYTES:
        await asyncio.sleep(0)
    await admission.wait_to_refuse(refusal, 0)
    admission.close()
    await asyncio.gather(*waiting)
    assert not admission._refusals_waiting


async def test_a_refusal_that_waits_keeps_nothing_of_its_call(monkeypatch):
    admission, refusal = waiting_refusals(monkeypatch)
    made = []

    class Servicer:
        async def Check(self, request, call):
            large = set()
            made.append(weakref.ref(large))
            raise refusal

    [method, *_] = [
        each
        for each in Service(
            HEALTH, SimpleNamespace(List=0, Watch=0, Check=Servicer().Check)
        ).methods()
        if each.path.endswith("/Check")
    ]
    calls = Calls(Metrics(), admission)
    answering = asyncio.create_task(
        calls.answer(Call(method.path, "grpc"), method, lambda: method.read(b""))
    )
    while not admission._refusals_waiting:
        await asyncio.sleep(0)
    assert made[0]() is None
    admission.close()
    with pytest.raises(BudgetExhausted):
        await answering


async def test_a_key_that_is_revoked_while_its_request_comes_is_refused():
    known = Callers({digest(KEY): Key("studio", True, {})})
    calls = Calls(Metrics(), Admission(known, Metrics()))
    for more, answered in (((), False), ((("x-player-id", "ann"),), False), (None, True)):
        await calls.replace_callers(known)
        metadata = () if more is None else with_key(KEY, *more)
        call = Call("/grpc.health.v1.Health/Check", "grpc", metadata, "ipv4:192.0.2.1:1")
        await calls.admit(call)
        await calls.replace_callers(Callers())
        if answered:
            calls._admit(call)
        else:
            with pytest.raises(Refusal, match="no such API key"):
                calls._admit(call)


def test_a_key_has_budgets_of_its_own(client):
    create(client, with_key(OTHER_KEY))
    refusal = refused(create, client, with_key(OTHER_KEY))
    assert refusal[:2] == EXHAUSTED
    assert refusal.metadata == {"budget": "matches_per_hour", "limit": "1", "principal": "key"}
    assert refusal.retry_seconds > 3000


def test_bytes_of_rulesets_are_limited(client):
    large = max(
        (ruleset_of(GAME, name) for name in facts_of(GAME).rulesets),
        key=lambda ruleset: ruleset.ByteSize(),
    )
    assert large.ByteSize() > 100
    refusal = refused(create, client, from_address("192.0.2.1"), large)
    assert refusal[:2] == EXHAUSTED
    assert refusal.metadata["budget"] == "ruleset_bytes_per_hour"
    create(client, from_address("192.0.2.1"))
    create(client, with_key(KEY), large)


def test_live_matches_are_limited_until_one_ends(client):
    home = from_address("192.0.2.1")
    made = [create(client, home) for _ in range(3)]
    refusal = refused(create, client, home)
    assert refusal[:2] == EXHAUSTED and refusal.metadata["budget"] == "live_matches"
    for _ in range(8):  # What is refused is not counted among the new ones of the hour.
        assert refused(create, client, home).metadata["budget"] == "live_matches"
    create(client, from_address("192.0.2.2"))
    Seat(client, made[0], 0, "192.0.2.3").resign()
    create(client, home)
    assert refused(create, client, home).metadata["budget"] == "live_matches"


def test_many_new_matches_at_once_do_not_slip_through(client):
    home = from_address("192.0.2.1")
    request = match_pb2.CreateMatchRequest(ruleset=RULES)
    calls = [client.matches.CreateMatch.future(request, metadata=home) for _ in range(10)]
    assert sum(call.exception() is None for call in calls) == 3


@pytest.mark.parametrize("seed", range(100))
async def test_of_what_is_added_at_once_as_much_is_admitted_as_there_is_room_for(seed):
    rng = random.Random(seed)
    key = Key("studio", False, {Budget.LIVE_MATCHES: 3})
    admission = Admission(Callers({digest(KEY): key}), Metrics())
    there, added = rng.randrange(4), 0
    number, failing = rng.choice(((4, 0), (3, 0), (3, 1)))

    async def pause():
        for _ in range(rng.randrange(5)):
            await asyncio.sleep(0)

    async def count():
        await pause()
        found = there + added
        await pause()
        return found

    async def add(fails):
        nonlocal added
        call = Call("/any", "grpc", with_key(KEY), "ipv4:192.0.2.1:1")
        admission.admit(call)
        await pause()
        with suppress(BudgetExhausted):
            async with admission.adding(call, Budget.LIVE_MATCHES, count):
                await pause()
                added += not fails
                await pause()

    await asyncio.gather(*(add(each < failing) for each in range(number)))
    assert there + added == min(3, there + number - failing) and not admission._adding


def test_a_repeated_request_gets_its_match_though_the_budget_is_used_up(client):
    home, request_id = from_address("192.0.2.1"), "01234567-89ab-4cde-8fab-0123456789ab"
    first = create(client, home, request_id=request_id)
    for _ in range(2):
        create(client, home)
    assert refused(create, client, home)[:2] == EXHAUSTED
    # Also from elsewhere: the player may have changed the network.
    assert create(client, home, request_id=request_id) == first
    assert create(client, from_address("192.0.2.9"), request_id=request_id) == first


def test_streams_and_waiting_calls_are_limited_and_given_back(serve):
    client = serve(now=time.monotonic)
    created = create(client, from_address("192.0.2.1"))
    seat = Seat(client, created, 0, "192.0.2.1")
    streams = [seat.watch() for _ in range(2)]
    for stream in streams:
        next(stream)
    with pytest.raises(grpc.RpcError) as caught:
        next(seat.watch())
    refusal = read_error(caught.value)
    assert refusal[:2] == EXHAUSTED and refusal.metadata["budget"] == "streams"
    assert read_error(seat.wait_later(99).exception())[:2] == EXHAUSTED
    assert Seat(client, created, 1, "192.0.2.9").view().seat == 1
    streams[0].cancel()
    # The server learns of it after the client, so the next stream may be refused for a moment.
    assert admitted(lambda: next(seat.watch())).version == 0


def admitted(call):
    """Repeat a call until it is admitted."""
    while True:
        try:
            return call()
        except grpc.RpcError as error:
            assert read_error(error)[:2] == EXHAUSTED


def test_calls_can_be_restricted_to_keys(serve):
    client = serve('require_key = ["create_match", "hint_without_match"]\n' + CALLERS)
    for metadata in ([], from_address("192.0.2.1")):
        refusal = refused(create, client, metadata)
        assert refusal[:2] == (grpc.StatusCode.UNAUTHENTICATED, "KEY_REQUIRED")
    created = create(client, with_key(KEY))
    seat = Seat(client, created, 0, "192.0.2.1")
    view = seat.view()
    assert seat.hint(FEW).hint.iterations > 0
    refusal = refused(client.hint, view, FEW)
    assert refusal[:2] == (grpc.StatusCode.UNAUTHENTICATED, "KEY_REQUIRED")
    answer = client.hint_later(with_key(KEY), view=view, limits=FEW).result()
    assert answer.hint.iterations > 0


def test_without_a_callers_file_this_machine_has_no_limits(start):
    _, client = start()
    count, refusal = calls_until_refused(lambda: list_games(client, []), 300)
    assert (count, refusal) == (300, None)


def test_the_python_client_sends_its_key_and_waits_for_its_budget(serve):
    clock = [0.0]
    address = serve(now=lambda: clock[0]).address
    with PythonClient(address, api_key=OTHER_KEY) as other:
        other.create_match(GAME)
        # The budget is free again in an hour, which is longer than the client's patience.
        with pytest.raises(CroupierError) as caught:
            other.create_match(GAME)
    assert caught.value.reason == "BUDGET_EXHAUSTED"
    with (
        PythonClient(address, api_key=KEY, player="ann", patience=FOREVER) as ann,
        ThreadPoolExecutor() as pool,
    ):
        seat = ann.create_match(GAME).seats[0]
        views = pool.submit(lambda: [seat.view() for _ in range(30)])
        try:
            wait_until(lambda: ann.tally.read().get("RESOURCE_EXHAUSTED"))
        finally:
            clock[0] += 1.0
        assert len(views.result()) == 30


def test_handshakes_of_an_address_take_turns_and_too_many_are_not_counted():
    admission = Admission(
        Callers(address={Budget.PROCESSOR: 10}, loopback_is_limited=True), Metrics()
    )
    admission._ledger._now = lambda: 0.0
    delays = [admission.delay_handshake("ipv4:192.0.2.1:0", 10) for _ in range(500)]
    assert delays[:5] == pytest.approx([0, 0, 0, 0.1, 0.2])
    assert max(delays) == pytest.approx(10, abs=0.1)
    assert admission.delay_handshake("ipv4:192.0.2.2:0", 10) == 0
