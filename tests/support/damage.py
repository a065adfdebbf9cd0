"""Flips single bits in a log, and compares what a server then answers with what is true.

`python -m tests.support.damage --help` says how. No answer may be wrong: a match of which the log
is damaged is refused, and named.
"""

import argparse
import collections
import contextlib
import io
import logging
import random
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path

import asyncpg
import grpc

from cli.main import main as croupier
from croupier.v1 import clock_pb2, feed_pb2, feed_pb2_grpc, match_pb2
from croupier.v1.error_pb2 import ErrorReason
from service.store import SqliteStore
from service.store.postgresql import PostgresStore
from tests.support.postgresql import Postgres
from tests.support.serving import (
    INVITED,
    OPEN,
    Client,
    Servers,
    bot,
    play_on,
    read_error,
    ruleset_of,
)

TABLES = ("matches", "heads", "entries", "snapshots", "settings", "incarnations")
TOKEN = "an-operators-token-of-32-or-more"
OPERATOR = (("authorization", f"Bearer {TOKEN}"),)
SECONDS = 60  # An answer that takes longer is none.
REFUSALS = {"MATCH_DAMAGED", "STORE_UNAVAILABLE", "CURSOR_EXPIRED"}


class Played:
    """Matches that were played over a server, and what is true of them."""

    def __init__(self, servers, store, rng, token_file):
        servers.run(store.open())
        server, address = servers.start(store, operator_token_file=token_file)
        client = Client(address)
        feed = _feed(client, "")
        self.cursor = next(feed).cursor
        feed.cancel()
        self.tables = []
        for game in ("skystones", "powershot_soccer", "castle_rampage", "champion_chess"):
            self._play(client, rng, game)
        self.answers = ask(client, self)
        client.close()
        servers.stop(server)
        servers.run(store.close())
        assert not any(isinstance(each, str) for each in self.answers.values()), self.answers

    def _play(self, client, rng, game):
        control = clock_pb2.TimeControl()
        control.per_match.FromSeconds(36_000)
        over = client.create(ruleset_of(game))
        play_on(over, rng, 150)
        if over.spectator.view().deciders:
            over.players[0].resign()
        named = match_pb2.SeatConfig(display_name="Ann", open=match_pb2.OpenSeat())
        invited = client.create(ruleset_of(game), [named, INVITED], time_control=control)
        invited.join(client, 1)
        play_on(invited, rng, 12)
        against_bot = client.create(ruleset_of(game), [OPEN, bot("RANDOM")])
        against_bot.players[0].resign()
        self.tables += [over, invited, against_bot]
        over.players[0].rematch()


def _feed(client, cursor):
    request = feed_pb2.WatchMatchesRequest(cursor=cursor)
    request.heartbeat_interval.FromSeconds(1)
    stub = feed_pb2_grpc.FeedServiceStub(client.channel)
    return stub.WatchMatches(request, metadata=OPERATOR, timeout=SECONDS)


def ask(client, played):
    """All answers of a server, by question: bytes, or the reason of a refusal as a text."""
    answers = {}

    def note(question, call):
        try:
            answers.update({(*question, *key): value for key, value in call()})
        except grpc.RpcError as error:
            answers[question] = _reason(error)

    def one(method, player):
        return lambda: [((), method(player).SerializeToString(deterministic=True))]

    for number, table in enumerate(played.tables):
        for seat, player in enumerate(table.everyone()):
            player.move_to(client)
            question = (number, seat)
            note(("view", *question), one(lambda each: each.view(), player))
            note(("match", *question), one(lambda each: each.details(), player))
            note(("watch", *question), lambda player=player: _watched(player))
        note(("record", number), lambda table=table: _record(client, table.name))
    note(("list",), lambda: _listed(client))
    note(("feed",), lambda: _followed(client, played.cursor))
    note(("running",), lambda: _followed(client, ""))
    tokens = [each.token for table in played.tables for each in table.everyone()]
    request = feed_pb2.BatchGetViewsRequest(tokens=tokens)
    note(("batch",), lambda: _batch(client, request))
    return answers


def _reason(error):
    try:
        return read_error(error).reason
    except Exception:
        return error.code().name


def _name(reason):
    return ErrorReason.Name(reason).removeprefix("ERROR_REASON_")


def _record(client, name):
    request = match_pb2.GetRecordRequest(name=name)
    try:
        record = client.matches.GetRecord(request, metadata=OPERATOR, timeout=SECONDS)
    except grpc.RpcError as error:
        if _reason(error) != "MATCH_NOT_OVER":
            raise
        return [((), b"not over")]
    return [((), record.SerializeToString(deterministic=True))]


def _watched(player):
    request = match_pb2.WatchMatchRequest(name=player.match, after_version=0)
    newest = player.view().version
    stream = player._client.matches.WatchMatch(request, metadata=player.metadata, timeout=SECONDS)
    told = []
    if newest:
        for response in stream:
            told.append(response.SerializeToString(deterministic=True))
            if response.view.version >= newest:
                break
    stream.cancel()
    return [((), b"".join(told))]


def _listed(client):
    request = match_pb2.ListMatchesRequest(page_size=5)
    while True:
        response = client.matches.ListMatches(request, metadata=OPERATOR, timeout=SECONDS)
        errors = {each.name: _name(each.reason) for each in response.errors}
        yield from (((name,), reason) for name, reason in errors.items())
        for each in (each for each in response.matches if each.name not in errors):
            yield (each.name,), each.SerializeToString(deterministic=True)
        request.page_token = response.next_page_token
        if not request.page_token:
            return


def _followed(client, cursor):
    stream = _feed(client, cursor)
    told = {}
    for response in stream:
        if response.cursor and not response.updates:
            break  # Nothing more has come for a while.
        told |= {each.name: each.SerializeToString(deterministic=True) for each in response.updates}
    stream.cancel()
    return [((name,), update) for name, update in told.items()]


def _batch(client, request):
    stub = feed_pb2_grpc.FeedServiceStub(client.channel)
    for number, each in enumerate(stub.BatchGetViews(request, timeout=SECONDS).results):
        if each.HasField("error"):
            yield (number,), _name(each.error.reason)
        else:
            yield (number,), each.SerializeToString(deterministic=True)


class Outcome:
    """How a damaged log is answered for: `kind`, and of what is wrong some words."""

    def __init__(self, servers, store, played, token_file, verified):
        self.detail = ""
        named = io.StringIO()
        handler = logging.StreamHandler(named)
        logger = logging.getLogger("service.hosting.matches")
        logger.addHandler(handler)
        logger.propagate = False
        try:
            self.kind = self._ask(servers, store, played, token_file, named)
        finally:
            logger.removeHandler(handler)
        if self.kind == "harmless" and verified:
            self.kind = "found by verify alone"
        if self.kind.startswith("refused with") and verified:
            self.kind = f"{self.kind}, named by verify"
        if self.kind == "missing":
            self.kind = "missing, named by verify" if verified else "MISSING"

    def _ask(self, servers, store, played, token_file, named):
        try:
            servers.run(store.open())
        except (OSError, ValueError):
            return "start refused"
        server = None
        try:
            try:
                server, address = servers.start(store, operator_token_file=token_file)
            except Exception as error:
                self.detail = repr(error)
                return "start refused"
            client = Client(address)
            answers = ask(client, played)
            client.close()
        finally:
            if server is not None:
                servers.stop(server)
            servers.run(store.close())
        return self._compare(played.answers, answers, named.getvalue())

    def _compare(self, true, answers, named):
        kinds = set()
        refused = {key: each for key, each in answers.items() if isinstance(each, str)}
        for question, answer in answers.items():
            if isinstance(answer, str):
                known = answer in REFUSALS or answer == "UNAVAILABLE"
                gone = answer == "MATCH_NOT_FOUND"
                kinds.add("refused" if known else "missing" if gone else f"refused with {answer}")
            elif answer != true.get(question):
                kinds.add("WRONG")
                self.detail += f"{question} "
        for question in true.keys() - answers.keys():
            # A call that failed as a whole has no parts.
            if question[:1] in refused:
                continue
            kinds.add("refused" if "is damaged at version" in named else "missing")
            self.detail += f"no {question} "
        for kind in ("WRONG", "missing", *sorted(kinds - {"refused"}), "refused"):
            if kind in kinds:
                return kind
        return "harmless"


def flipped(value, rng):
    """A value of a cell with one bit changed."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value ^ 1 << rng.randrange(14 if value < 1 << 15 else 62)
    data = bytearray(value.encode() if isinstance(value, str) else value)
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def flip_cell(path, rng):
    """Flips a bit in a cell of a SQLite log; returns the table and the column."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.text_factory = lambda data: data.decode(errors="surrogateescape")
    try:
        while True:
            table = rng.choice(TABLES)
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            rows = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
            if not rows:
                continue
            row, place = rng.choice(rows), rng.randrange(len(columns))
            if row[place] is None or row[place] in ("", b""):
                continue
            value = flipped(row[place], rng)
            new = "CAST(? AS TEXT)" if isinstance(row[place], str) else "?"
            where = " AND ".join(f"{column} IS ?" for column in columns)
            with contextlib.suppress(sqlite3.IntegrityError):
                changed = connection.execute(
                    f"UPDATE {table} SET {columns[place]} = {new} WHERE {where}", (value, *row)
                )
                assert changed.rowcount == 1
                return f"{table}.{columns[place]}"
    finally:
        connection.close()


def flip_file(path, rng):
    """Flips a bit anywhere in a file; returns where."""
    data = bytearray(path.read_bytes())
    place = rng.randrange(len(data))
    data[place] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    return f"byte {place}"


def damage_sqlite(count, seed, flip=flip_cell, tell=lambda *said: None):
    """Flips `count` bits of a SQLite log, each in a copy; returns how often each kind came."""
    with _session(seed) as (servers, rng, home, token_file):
        played = Played(servers, SqliteStore(home / "true"), rng, token_file)
        kinds = collections.Counter()
        for number in range(count):
            copy = home / f"copy{number}"
            shutil.copytree(home / "true", copy)
            where = flip(copy / "croupier.db", rng)
            verified = _verify("--data", str(copy))
            outcome = Outcome(servers, SqliteStore(copy), played, token_file, verified)
            kinds[outcome.kind] += 1
            tell(number, where, outcome.kind, verified, outcome.detail[:300])
            shutil.rmtree(copy)
        return kinds


def damage_postgresql(postgres, count, seed, tell=lambda *said: None):
    """As `damage_sqlite`, with cells of a PostgreSQL log."""
    with _session(seed) as (servers, rng, _, token_file):
        url = postgres.url(postgres.new_schema())
        played = Played(servers, PostgresStore(url), rng, token_file)
        kinds = collections.Counter()
        servers.run(_run(url, _save))
        for number in range(count):
            where = servers.run(_run(url, _flip_row, rng))
            verified = _verify("--store", url)
            outcome = Outcome(servers, PostgresStore(url), played, token_file, verified)
            kinds[outcome.kind] += 1
            tell(number, where, outcome.kind, verified, outcome.detail[:300])
            servers.run(_run(url, _restore))
        return kinds


@contextlib.contextmanager
def _session(seed):
    servers = Servers()
    try:
        with tempfile.TemporaryDirectory(prefix="damage-") as home:
            token_file = Path(home, "operator")
            token_file.write_text(TOKEN)
            yield servers, random.Random(seed), Path(home), token_file
    finally:
        servers.close()


def _verify(option, where):
    # Whether it finds anything.
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            croupier(["verify", "--quiet", option, where])
        except SystemExit as ended:
            return ended.code != 0


async def _run(url, work, *arguments):
    connection = await asyncpg.connect(url)
    try:
        return await work(connection, *arguments)
    finally:
        await connection.close()


async def _save(connection):
    for table in TABLES:
        await connection.execute(f"CREATE TABLE saved_{table} AS SELECT * FROM {table}")


async def _restore(connection):
    for table in TABLES:
        await connection.execute(f"TRUNCATE {table}")
        over = "OVERRIDING SYSTEM VALUE" if table == "incarnations" else ""
        await connection.execute(f"INSERT INTO {table} {over} SELECT * FROM saved_{table}")


async def _flip_row(connection, rng):
    while True:
        table = rng.choice(TABLES)
        rows = await connection.fetch(f"SELECT ctid, * FROM {table}")
        if not rows:
            continue
        row = rng.choice(sorted(rows, key=lambda row: tuple(map(repr, row.values()))[1:]))
        column = rng.choice(list(row.keys())[1:])
        if row[column] is None or row[column] in ("", b""):
            continue
        value = flipped(row[column], rng)
        with contextlib.suppress(UnicodeDecodeError, asyncpg.PostgresError, asyncpg.DataError):
            if isinstance(row[column], str):
                value = value.decode()
            change = f"UPDATE {table} SET {column} = $1 WHERE ctid = $2"
            if await connection.execute(change, value, row["ctid"]) == "UPDATE 1":
                return f"{table}.{column}"


def bad(kinds):
    """The kinds that must not be: wrong, or not answered for and not found by `verify`."""
    odd = (kind for kind in kinds if kind.startswith("refused with"))
    return {*filter(str.isupper, kinds), *(kind for kind in odd if not kind.endswith("verify"))}


def main():
    """Prints a line for each bit that is not harmless, and counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.damage", description=__doc__)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--cells", action="store_true", help="bits in cells of SQLite (default)")
    which.add_argument("--files", action="store_true", help="bits anywhere in the SQLite file")
    which.add_argument("--postgresql", action="store_true", help="bits in cells of PostgreSQL")
    parser.add_argument("-n", type=int, default=500, help="how many bits (500)")
    parser.add_argument("--seed", type=int, default=1, help="(1)")
    chosen = parser.parse_args()
    logging.disable(logging.NOTSET)

    def tell(*said):
        print(*said, flush=True)

    if chosen.postgresql:
        postgres = Postgres()
        try:
            kinds = damage_postgresql(postgres, chosen.n, chosen.seed, tell)
        finally:
            postgres.close()
    else:
        flip = flip_file if chosen.files else flip_cell
        kinds = damage_sqlite(chosen.n, chosen.seed, flip, tell)
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind}")
    return int(bool(bad(kinds)))


if __name__ == "__main__":
    sys.exit(main())
