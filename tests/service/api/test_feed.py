"""The feed: many matches in one stream, for their owner or the operator, and many views at once."""

import hashlib
import time

import grpc
import pytest

import wire
from croupier.v1 import feed_pb2, feed_pb2_grpc, match_pb2
from croupier.v1.error_pb2 import ErrorReason
from service.admission.budgets import Budget, Ledger
from service.common.tasks import Tasks
from service.hosting import feed
from service.store import MemoryStore, Position, SqliteStore, Updates
from tests.support.serving import INVITED, OPEN, Table, bot, refused, ruleset_of
from tests.support.store_faults import Reading

GAME = "skystones"
KEYS = {"one": "key-of-one", "two": "key-of-two"}
OPERATOR = "operator-" * 5


class Follower:
    """A caller that follows the feed."""

    def __init__(self, client, who=(), **request):
        self._metadata = who
        stub = feed_pb2_grpc.FeedServiceStub(client.channel)
        message = feed_pb2.WatchMatchesRequest(**request)
        self.call = stub.WatchMatches(message, metadata=who)
        self.updates = []
        self.cursor = ""

    def read(self):
        """The next response."""
        response = next(self.call)
        self.cursor = response.cursor or self.cursor
        self.updates += response.updates
        return response

    def read_running(self):
        """Reads the matches that run; returns their updates by name."""
        while not self.read().cursor:
            pass
        return self.newest()

    def read_until(self, condition):
        """Reads on until this holds for the newest updates, by name; returns them."""
        while not condition(self.newest()):
            self.read()
        return self.newest()

    def newest(self):
        """The newest update of each match."""
        return {update.name: update for update in self.updates}


def by_key(name, player=None):
    found = (("x-api-key", KEYS[name]),)
    return found if player is None else (*found, ("x-player-id", player))


AS_OPERATOR = (("authorization", f"Bearer {OPERATOR}"),)


@pytest.fixture
def serve(start, monkeypatch):
    """Starts a server on a log, and returns a client of it."""
    monkeypatch.setattr(feed, "MIN_SECONDS", 0.0)
    digests = {name: hashlib.sha256(key.encode()).hexdigest() for name, key in KEYS.items()}
    callers = "".join(
        f'[keys.{name}]\nsha256 = "{digest}"\nnames_players = true\n'
        for name, digest in digests.items()
    )
    # The tests' own garbage is collected in the time of a call.
    callers += "".join(
        f'[budgets.{each}]\nprocessor_milliseconds_per_second = "unlimited"\n'
        for each in ("address", "person")
    )
    callers += "".join(
        f'[keys.{name}.budgets]\nprocessor_milliseconds_per_second = "unlimited"\n' for name in KEYS
    )
    files = {"operator": OPERATOR, "callers": callers}
    return lambda store=None, **options: start(store, **files, **options)[1]


@pytest.fixture
def client(serve):
    return serve()


def create(client, who=(), seats=(OPEN, OPEN), game=GAME, **request):
    """Creates a match as a caller, and returns its table."""
    message = match_pb2.CreateMatchRequest(ruleset=ruleset_of(game), seats=seats, **request)
    return Table(client, client.matches.CreateMatch(message, metadata=who))


def act(table):
    """Lets a seat that owes a decision act; returns the version."""
    view = table.spectator.view()
    player = table.players[view.deciders[0]]
    return player.submit(player.view().legal_actions[0], view.version).version


def at(table, version):
    """Whether the newest update of a table's match is of this version, or a later one."""
    return lambda newest: table.name in newest and newest[table.name].version >= version


def test_a_key_follows_its_own_matches_and_the_operator_all(client):
    mine = create(client, by_key("one"))
    of_player = create(client, by_key("one", "somebody"))
    others = create(client, by_key("two"))
    nobodys = create(client)
    follower = Follower(client, by_key("one"))
    operator = Follower(client, AS_OPERATOR)
    running = follower.read_running()
    assert set(running) == {mine.name, of_player.name}
    assert set(operator.read_running()) == {t.name for t in (mine, of_player, others, nobodys)}
    assert {each.change for each in running.values()} == {feed_pb2.MATCH_CHANGE_CREATED}
    for table in (others, nobodys, mine, of_player):
        act(table)
    later = create(client, by_key("one"))
    follower.read_until(lambda newest: {later.name, mine.name, of_player.name} <= set(newest))
    newest = follower.read_until(at(of_player, 1))
    assert set(newest) == {mine.name, of_player.name, later.name}
    assert newest[mine.name].change == feed_pb2.MATCH_CHANGE_DECIDED
    everything = {t.name for t in (mine, of_player, others, nobodys, later)}
    operator.read_until(lambda newest: set(newest) == everything)
    # The player of a key follows the matches of the key.
    assert set(Follower(client, by_key("one", "else")).read_running()) == set(newest)


def test_each_part_of_a_list_costs_as_much_as_a_call(serve, monkeypatch):
    monkeypatch.setattr(feed, "PAGE", 2)
    spent = []
    spend = Ledger.charge
    monkeypatch.setattr(Ledger, "charge", lambda *given: spent.append(given[2:]) or spend(*given))
    client = serve()
    for _ in range(5):
        create(client, by_key("one"))
    spent.clear()
    Follower(client, by_key("one")).read_running()
    assert [each for each in spent if each[0] == Budget.CALLS] == [(Budget.CALLS, 1.0)] * 2


def test_a_cursor_goes_on_after_what_was_read(client):
    tables = [create(client, by_key("one")) for _ in range(3)]
    follower = Follower(client, by_key("one"))
    follower.read_running()
    act(tables[0])
    follower.read_until(at(tables[0], 1))
    follower.call.cancel()
    act(tables[1])
    tables[2].players[0].resign()
    again = Follower(client, by_key("one"), cursor=follower.cursor)
    newest = again.read_until(lambda newest: len(newest) == 2)
    assert {name: each.change for name, each in newest.items()} == {
        tables[1].name: feed_pb2.MATCH_CHANGE_DECIDED,
        tables[2].name: feed_pb2.MATCH_CHANGE_ENDED,
    }


def test_filters(client):
    waits = create(client, by_key("one"), (INVITED, OPEN))
    due = create(client, by_key("one"))
    ended = create(client, by_key("one"))
    as_due = Follower(client, by_key("one"), filter="UPDATE_FILTER_DUE")
    as_over = Follower(client, by_key("one"), filter="UPDATE_FILTER_OVER")
    assert set(as_due.read_running()) == {due.name, ended.name}
    assert as_over.read_running() == {}
    ended.players[0].resign()
    waits.join(client, 0)
    act(due)
    as_due.read_until(lambda newest: at(waits, 1)(newest) and at(due, 1)(newest))
    assert set(as_over.read_until(at(ended, 1))) == {ended.name}
    assert as_due.newest()[ended.name].change == feed_pb2.MATCH_CHANGE_CREATED


def test_a_quiet_owner_of_a_busy_server_gets_heartbeats(client, monkeypatch):
    follower = Follower(client, by_key("one"), heartbeat_interval={"seconds": 1})
    follower.read_running()
    before = follower.cursor
    others = create(client, by_key("two"), (bot("RANDOM"), bot("RANDOM")))
    # The first may come before the server has read of the other match.
    while follower.cursor == before:
        response = follower.read()
        assert not response.updates
        assert response.cursor
    assert others.name not in follower.newest()
    # But not while only the log could say that nothing is newer.
    monkeypatch.setattr(SqliteStore, "reads", reading := Reading([False, False]))
    follower.read()
    assert not reading.answers


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "1.",
        ".1",
        "1.2.3",
        "g.1",
        "1.-1",
        "1.99999999999999999999",
        "é.1",
        "1.9223372036854775808",
    ],
)
def test_a_cursor_that_is_none_is_refused(client, cursor):
    error = refused(Follower(client, by_key("one"), cursor=cursor).read)
    assert (error.code, error.fields) == (grpc.StatusCode.INVALID_ARGUMENT, ["cursor"])


def test_a_cursor_of_another_log_or_from_the_future_has_expired(client):
    follower = Follower(client, by_key("one"))
    follower.read_running()
    epoch, position = follower.cursor.split(".")
    for cursor in (f"abc.{position}", f"{epoch}.{2**62}"):
        error = refused(Follower(client, by_key("one"), cursor=cursor).read)
        assert (error.code, error.reason) == (
            grpc.StatusCode.FAILED_PRECONDITION,
            "CURSOR_EXPIRED",
        )


def test_only_keys_and_the_operator_have_a_feed(client):
    table = create(client, by_key("one"))
    for who in ((), table.players[0].metadata, table.spectator.metadata):
        error = refused(Follower(client, who).read)
        assert error.reason == "KEY_REQUIRED"
    assert refused(Follower(client, (("x-api-key", "wrong"),)).read).reason == "KEY_INVALID"


def batch(client, tokens, who=(), **request):
    stub = feed_pb2_grpc.FeedServiceStub(client.channel)
    message = feed_pb2.BatchGetViewsRequest(tokens=tokens, **request)
    return stub.BatchGetViews(message, metadata=who).results


@pytest.mark.parametrize("game", wire.hosted_games())
def test_views_of_many_seats_at_once_are_those_of_each(client, game):
    tables = [create(client, game=game) for _ in range(2)]
    everyone = [each for table in tables for each in table.everyone()]
    results = batch(client, [each.token for each in everyone])
    assert [each.view for each in results] == [each.view() for each in everyone]
    only = batch(client, [each.token for each in everyone], read_mask={"paths": ["deciders"]})
    for result, each in zip(only, everyone, strict=True):
        assert [field.name for field, _ in result.view.ListFields()] in (["deciders"], [])
        assert result.view.deciders == each.view().deciders


def test_an_error_of_one_view_leaves_the_others(client):
    table = create(client)
    old = table.players[0].token
    table.players[0].token = table.players[0].replace_token()
    results = batch(client, [old, "nonsense", table.players[0].token])
    kinds = [each.WhichOneof("result") for each in results]
    assert kinds == ["error", "error", "view"]
    assert results[0].error.reason == ErrorReason.ERROR_REASON_TOKEN_REPLACED
    assert results[1].error.reason == ErrorReason.ERROR_REASON_INVALID_FIELD
    assert "tokens[1]" in results[1].error.message
    assert refused(batch, client, []).fields == ["tokens"]
    assert refused(batch, client, ["x"] * 101).fields == ["tokens"]


def test_each_view_of_a_batch_counts_as_a_call(start):
    callers = "[budgets.address]\ncalls_per_second = 50\n"
    callers += 'processor_milliseconds_per_second = "unlimited"\n'
    server, client = start(callers=callers)
    now = time.monotonic()
    server._admission._ledger._now = lambda: now  # The budget does not refill.
    token = create(client).spectator.token
    assert len(batch(client, [token] * 100)) == 100
    error = refused(batch, client, [token])
    assert error.reason == "BUDGET_EXHAUSTED"
    assert error.retry_seconds > 1


def test_one_match_that_cannot_be_shown_is_an_entry_of_its_own(serve):
    store = MemoryStore()
    client = serve(store)
    shown, broken, other = (create(client) for _ in range(3))
    act(broken)
    log = store._anchor
    match_id = broken.name.removeprefix("matches/")
    log.execute("UPDATE entries SET kind = 99 WHERE match_id = ?", (match_id,))
    log.execute("UPDATE matches SET bots = x'6300' WHERE match_id = ?", (match_id,))
    client = serve(store)
    stub = feed_pb2_grpc.FeedServiceStub(client.channel)
    tokens = [each.spectator.token for each in (shown, broken, other)]
    results = stub.BatchGetViews(feed_pb2.BatchGetViewsRequest(tokens=tokens)).results
    assert [each.view.name for each in results] == [shown.name, "", other.name]
    assert results[1].error.reason == ErrorReason.ERROR_REASON_MATCH_DAMAGED
    asked = match_pb2.ListMatchesRequest(page_size=2)
    listed, errors = [], []
    while True:
        response = client.matches.ListMatches(asked, metadata=AS_OPERATOR)
        listed += response.matches
        errors += response.errors
        if not response.next_page_token:
            break
        asked.page_token = response.next_page_token
    assert {each.name for each in listed} == {shown.name, broken.name, other.name}
    assert [(each.name, each.reason) for each in errors] == [
        (broken.name, ErrorReason.ERROR_REASON_MATCH_DAMAGED)
    ]


async def test_a_cursor_of_an_epoch_that_begins_is_good_before_the_end_was_read_again():
    class Store:
        epoch = "1"

        async def list_updates(self, after, limit):
            return Updates(self.epoch, 9 if after is None else max(after.number, 9), [])

    store = Store()
    followed = feed.Feed(store, Tasks())
    assert not await followed._read_more()
    store.epoch = "2"
    assert (await followed.after(Position("2", 9), 0.0)).epoch == "2"
