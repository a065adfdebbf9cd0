"""The life of a match: listed, exported, imported, played again in a rematch, and deleted."""

import asyncio
import json

import pytest

import wire
from cli import record_files
from croupier.client import (
    INVITED,
    OPEN,
    Client,
    CroupierError,
    Operator,
    Seat,
    bot,
    open_seat,
)
from croupier.v1 import match_pb2
from service.api.authentication import read_operator_token
from service.hosting.match_state import MatchState
from service.hosting.records import digest, verify, write_record
from service.store import ListedMatch, MatchStatus, Query
from tests.support.commands import croupier
from tests.support.play import seeded
from tests.support.random_matches import random_match
from tests.support.stores import (
    NOT_DUE,
    PostgresPlace,
    SqlitePlace,
    action,
    append,
    header,
    opened,
    read,
    resignation,
)
from tests.support.waiting import wait_until

TOKEN = "an operator's token, of 32 or more".replace(" ", "-")
GAMES = tuple(wire.hosted_games())


class Operated:
    """A server with an operator, on a log of its own."""

    def __init__(self, servers, place, tmp_path, **options):
        self._servers = servers
        self.token_file = tmp_path / "operator"
        self.token_file.write_text(TOKEN + "\n")
        self._store = place.store()
        servers.run(self._store.open())
        options = {"operator_token_file": self.token_file, **options}
        self.server, self.address = servers.start(self._store, **options)
        self.client = Client(self.address)
        self.operator = Operator(self.client, TOKEN)

    def close(self):
        self.client.close()
        self._servers.stop(self.server)
        self._servers.run(self._store.close())


@pytest.fixture
def operate(servers, place, tmp_path):
    running = []

    def operate(**options):
        running.append(Operated(servers, place, tmp_path, **options))
        return running[-1]

    yield operate
    for each in running:
        each.close()


def refusal(call, *arguments, **more):
    with pytest.raises(CroupierError) as caught:
        call(*arguments, **more)
    return caught.value.reason


def names(summaries):
    return [summary.name for summary in summaries]


def test_all_matches_are_listed_newest_first_page_by_page(operate):
    operated = operate()
    client, operator = operated.client, operated.operator
    made = [client.create_match(GAMES[number % len(GAMES)]) for number in range(7)]
    for match in made[::2]:
        match.seats[1].resign()
    whole = list(operator.matches())
    assert set(names(whole)) == {match.name for match in made}
    times = [summary.create_time.ToMilliseconds() for summary in whole]
    assert times == sorted(times, reverse=True)
    for size in range(1, 9):
        assert list(operator.matches(page_size=size)) == whole
    over = list(operator.matches(state=match_pb2.MATCH_STATE_OVER, page_size=2))
    running = list(operator.matches(state=match_pb2.MATCH_STATE_RUNNING, page_size=2))
    assert set(names(over)) == {match.name for match in made[::2]}
    assert set(names(running)) == {match.name for match in made[1::2]}
    for summary in over:
        assert summary.HasField("end_time") and summary.version == 1
    for summary in running:
        assert not summary.HasField("end_time") and summary.version == 0
    for game_id in GAMES:
        some = list(operator.matches(game=game_id, page_size=1))
        assert names(some) == [each.name for each in whole if each.game == f"games/{game_id}"]


def test_changes_between_two_pages_make_no_gap_and_no_duplicate(operate):
    operated = operate()
    made = [operated.client.create_match(GAMES[0]) for _ in range(6)]
    pages = operated.operator.matches(page_size=2)
    seen = [next(pages).name for _ in range(2)]
    operated.client.create_match(GAMES[0])
    seen += names(pages)
    assert sorted(seen) == sorted(match.name for match in made)


def test_a_match_names_the_players_and_no_card(operate):
    operated = operate()
    operated.client.create_match(GAMES[0], (bot("casual"), OPEN))
    (listed,) = operated.operator.matches()
    assert listed.seats[0].bot.strength == match_pb2.BOT_STRENGTH_CASUAL
    assert listed.seats[1].HasField("open")
    fields = {field.name for field in match_pb2.Match.DESCRIPTOR.fields}
    assert fields == {
        *("name", "game", "state", "version", "seats", "result", "rules_version"),
        *("create_time", "update_time", "end_time", "origin", "own_seats"),
    }


def test_a_match_is_read_as_it_is_listed(operate):
    operated = operate()
    operator = operated.operator
    match = operated.client.create_match(GAMES[0], (OPEN, INVITED))
    operated.client.join(match.invitations[1])
    readers = (match.seats[0].details, match.spectator.details, lambda: operator.match(match.name))
    for end in (False, True):
        if end:
            match.seats[0].resign()
        read = [each() for each in readers]
        assert read == read[:1] * 3
        assert read[0].HasField("result") == end
        record = operator.record(match.name) if end else None
        if record:
            assert read[0].result == record.result
            assert (read[0].rules_version, read[0].seats) == (record.rules_version, record.seats)
            last = [entry.time for entry in record.entries if entry.HasField("time")][-1]
            assert read[0].end_time == read[0].update_time == last
        (listed,) = operator.matches()
        assert listed == read[0]
        assert listed.state == (
            match_pb2.MATCH_STATE_OVER if end else match_pb2.MATCH_STATE_RUNNING
        )
    assert refusal(operator.match, "matches/none") == "MATCH_NOT_FOUND"


def test_only_the_operator_lists(operate):
    operated = operate()
    match = operated.client.create_match(GAMES[0])
    for token in (match.seats[0].token, match.spectator.token, TOKEN[:-1], TOKEN + "x", "x"):
        assert refusal(list, Operator(operated.client, token).matches()) == "NOT_OPERATOR"
    with pytest.raises(CroupierError) as caught:
        operated.client.call(operated.client.match_stub.ListMatches, match_pb2.ListMatchesRequest())
    assert caught.value.reason == "TOKEN_MISSING"
    # The operator reads records of matches that are over, and plays no seat.
    assert refusal(operated.operator.record, match.name) == "MATCH_NOT_OVER"
    assert refusal(operated.operator.record, "matches/none") == "MATCH_NOT_FOUND"
    assert refusal(Seat(operated.client, match.name, TOKEN).view) == "TOKEN_INVALID"
    match.seats[0].resign()
    assert operated.operator.record(match.name) == match.spectator.record()


def test_without_an_operator_nobody_lists(operate):
    operated = operate(operator_token_file=None)
    for token in (TOKEN, "x"):
        with pytest.raises(CroupierError) as caught:
            list(Operator(operated.client, token).matches())
        assert caught.value.reason == "NOT_OPERATOR"
        assert "--operator-token-file" in caught.value.message


def test_a_page_token_is_valid_only_for_its_filters(operate):
    operated = operate()
    for _ in range(3):
        operated.client.create_match(GAMES[0])

    def ask(**fields):
        request = match_pb2.ListMatchesRequest(**fields)
        return operated.client.call(operated.client.match_stub.ListMatches, request, TOKEN)

    token = ask(page_size=1).next_page_token
    assert len(ask(page_size=5000, page_token=token).matches) == 2
    other = {"page_token": token, "state": match_pb2.MATCH_STATE_OVER}
    words = ({"page_token": word} for word in ("x", "é", f"{token}!", f"A{token[1:]}"))
    for wrong in (other, *words, {"page_size": -1}):
        assert refusal(ask, **wrong) == "INVALID_FIELD"


@pytest.mark.parametrize("length", [0, 31])
def test_an_operator_token_is_long(tmp_path, length):
    (tmp_path / "short").write_text("x" * length)
    with pytest.raises(ValueError, match="at least 32"):
        read_operator_token(tmp_path / "short")


def test_matches_of_the_same_millisecond_are_listed_once(place):
    async def test():
        async with opened(place) as store:
            ids = [f"{number * 7919 % 100:02}" for number in range(20)]
            for match_id in ids:
                await store.create(header(match_id, created=5), NOT_DUE)
            await store.create(header("newer", created=6), NOT_DUE)
            whole = [each.match_id for each in await store.list_matches(Query(), 99)]
            assert whole == ["newer", *sorted(ids, reverse=True)]
            assert [
                each.match_id for each in await store.list_matches(Query(before=(6, "a")), 99)
            ] == (whole[1:])
            for shown, match_id in enumerate(whole[1:], 1):
                rest = await store.list_matches(Query(before=(5, match_id)), 3)
                assert [each.match_id for each in rest] == whole[shown + 1 : shown + 4]

    asyncio.run(test())


# Retention


def test_old_matches_are_deleted_and_no_others(place):
    async def test():
        async with opened(place) as store:
            for number in range(7):
                await store.create(header(f"m{number}", created=number), MatchStatus(due=5))
                if number != 3:
                    end = resignation(0, at=100 + number)
                    await append(store, f"m{number}", 0, end, MatchStatus(over=True))
            assert await store.delete_ended(100, 10) == []
            assert await store.delete_ended(106, 2) == ["m0", "m1"]
            assert await store.delete_ended(106, 9) == ["m2", "m4", "m5"]
            assert await store.delete_ended(106, 9) == []
            listed = [each.match_id for each in await store.list_matches(Query(), 99)]
            assert listed == ["m6", "m3"]
            assert [due.match_id for due in await store.list_due(99, 99)] == ["m3"]
            for number in (0, 1, 2, 4, 5):
                assert await store.load(f"m{number}") is None
                assert await read(store, f"m{number}") is None
                assert not await append(store, f"m{number}", 1, action(0), NOT_DUE)
            assert await read(store, "m6") == [resignation(0, at=106)]
            # The name of a deleted match is free again, and nothing is left of the match.
            await store.create(header("m0"), NOT_DUE)
            assert await append(store, "m0", 0, action(0), NOT_DUE)
            assert await store.list_matches(Query(over=True), 9) == [
                ListedMatch("m6", "none", (0, 0), 6, 106, 1, 1, 106)
            ]

    asyncio.run(test())


def gone(seat):
    try:
        seat.view()
    except CroupierError as error:
        return error.reason == "MATCH_NOT_FOUND"
    return False


def test_a_server_deletes_matches_that_ended_long_enough_ago(operate):
    operated = operate(retain_finished=0.0)
    running, over = (operated.client.create_match(GAMES[0]) for _ in range(2))
    over.seats[0].resign()
    # The match leaves the memory of the server, too.
    wait_until(lambda: gone(over.spectator))
    assert refusal(over.spectator.record) == "MATCH_NOT_FOUND"
    assert refusal(over.seats[0].rematch) == "MATCH_NOT_FOUND"
    assert running.spectator.view().version == 0
    assert names(operated.operator.matches()) == [running.name]


def test_a_match_that_is_not_old_enough_stays(servers, operate):
    operated = operate(retain_finished=3600.0)
    match = operated.client.create_match(GAMES[0])
    match.seats[0].resign()
    servers.run(operated.server._retention.sweep())
    assert match.spectator.record().result.scores == [0.0, 1.0]


# Rematch


@pytest.mark.parametrize("first", [0, 1])
def test_each_seat_gets_the_other_seat_of_the_same_rematch(operate, first):
    operated = operate()
    match = operated.client.create_match("skystones", (OPEN, OPEN))
    assert refusal(match.seats[0].rematch) == "MATCH_NOT_OVER"
    match.seats[0].resign()
    assert refusal(Seat(operated.client, match.name, match.spectator.token).rematch) == "SPECTATOR"
    again = [match.seats[seat].rematch() for seat in (first, 1 - first)]
    assert len({each.name for each in again} - {match.name}) == 1
    assert len({each.secret_hash for each in again} - {match.secret_hash}) == 1
    # A seat gets no token of another seat.
    assert [list(each.seats) for each in again] == [[1 - first], [first]]
    assert again[0].seats[1 - first].view().seat == 1 - first
    assert again[1].seats[first].view().seat == first
    # A repeated call gets the same answer.
    repeated = match.seats[first].rematch()
    assert repeated.seats[1 - first].token == again[0].seats[1 - first].token
    assert repeated.name == again[0].name
    # The token of the old match is not valid for the new one.
    old = Seat(operated.client, again[0].name, match.seats[0].token)
    assert refusal(old.view) == "TOKEN_OF_OTHER_MATCH"
    again[0].seats[1 - first].resign()
    third = again[0].seats[1 - first].rematch()
    assert third.name not in (match.name, again[0].name)
    assert list(third.seats) == [first]


def test_a_rematch_has_the_same_bot_and_is_played(operate):
    operated = operate()
    match = operated.client.create_match(
        "champion_chess", (OPEN, bot("random")), entropy_from_seats=True
    )
    match.seats[0].resign()
    again = match.seats[0].rematch()
    assert list(again.seats) == [1]
    seat = again.seats[1]
    # The first match asked for entropy, so the rematch asks, too.
    assert seat.view().entropy_owed.hash_seats == [1]
    seat.contribute()
    for view in seat.turns():
        seat.submit(view.legal_actions[0])
    record = seat.record()
    assert record.seats[0].bot.strength == match_pb2.BOT_STRENGTH_RANDOM
    assert record.ruleset == match.spectator.record().ruleset
    verify(record)


def test_a_rematch_of_a_seeded_match_is_not_seeded(shared_server):
    with Client(shared_server[1]) as thin:
        match = thin.create_match("skystones", seed=1)
        match.seats[0].resign()
        again = match.seats[0].rematch()
        again.seats[1].resign()
        record = again.spectator.record()
        assert not record.seeded
        assert record.secret != match.spectator.record().secret


# Records as files


@pytest.mark.parametrize(
    ("place", "form"),
    [("memory", "json"), ("sqlite", "binary"), ("postgresql", "json")],
    indirect=["place"],
)
def test_records_are_exported_verified_and_imported(operate, tmp_path, form):
    operated = operate()
    made = []
    for game_id in GAMES:
        match = operated.client.create_match(game_id, entropy_from_seats=game_id == GAMES[0])
        match.seats[0].resign()
        made.append(match)
    operated.client.create_match(GAMES[0])
    output = tmp_path / "records"
    asking = ["--server", operated.address, "--operator-token-file", operated.token_file]
    asking += ["--output", output, "--format", form]
    assert croupier("export", "--all", *asking).status == 0
    assert len(list(output.iterdir())) == len(made)
    assert croupier("export", made[0].name, *asking).status == 0
    ended = croupier("export", "matches/none", *asking)
    assert ended.status == 1 and "MATCH_NOT_FOUND" in ended.err
    ended = croupier("verify", output)
    assert ended.status == 0 and len(ended.out.splitlines()) == len(made)
    data = tmp_path / "elsewhere"
    n = len(made)
    for told in (f"{n} matches imported, 0 were", f"0 matches imported, {n} were"):
        ended = croupier("import", "--data", data, output)
        assert ended.status == 0 and told in ended.out

    async def stored():
        async with opened(SqlitePlace(data)) as store:
            return [await store.load(match.name.removeprefix("matches/")) for match in made]

    for match, each in zip(made, asyncio.run(stored()), strict=True):
        # The store has the match as if it had been played there.
        assert write_record(MatchState.load(each)) == match.spectator.record()


def test_an_imported_match_is_in_the_log_as_over(tmp_path, postgres):
    state = random_match(GAMES[0], "default", seeded("import"))
    path = record_files.write(write_record(state), tmp_path, "json")
    place = PostgresPlace(postgres)
    assert croupier("import", "--store", place.url, path).status == 0

    async def listed():
        async with opened(place) as store:
            return await store.list_matches(Query(over=True), 9)

    (found,) = asyncio.run(listed())
    assert found.match_id == state.header.match_id
    assert (found.created, found.ended) == (state.header.created, state.time)
    assert found.version == state.version


def test_nothing_is_imported_if_one_record_is_false(tmp_path):
    for number in range(3):
        record = write_record(random_match(GAMES[0], "default", seeded("import", number)))
        if number == 1:
            record.result.scores[0] += 0.5
        record_files.write(record, tmp_path, "json")
    data = tmp_path / "data"
    ended = croupier("import", "--data", data, tmp_path)
    assert not data.exists()
    assert ended.status == 1 and "result.scores[0]" in ended.err


def test_another_match_of_the_same_name_is_not_overwritten(tmp_path):
    one = random_match(GAMES[0], "default", seeded("one"), seeded=True)
    path = record_files.write(write_record(one), tmp_path, "json")
    data = tmp_path / "data"
    assert croupier("import", "--data", data, path).status == 0
    other = random_match(GAMES[0], "default", seeded("one"), seeded=True, resign_at=3)
    path = record_files.write(write_record(other), tmp_path, "json")
    ended = croupier("import", "--data", data, path)
    assert ended.status == 1 and "another match" in ended.err


def test_verify_names_the_fault_and_exits_with_1(tmp_path):
    record = write_record(random_match(GAMES[0], "default", seeded("verify")))
    path = record_files.write(record, tmp_path, "json")
    told = (
        f"{path}: true: {record.name}, {GAMES[0]}, "
        f"{record.result.scores[0]:g}-{record.result.scores[1]:g}\n"
    )
    assert croupier("verify", path) == (0, told, "")
    hashed = record.secret_hash.hex()
    assert croupier("verify", "--quiet", "--secret-hash", hashed, path) == (0, "", "")
    ended = croupier("verify", "--secret-hash", "0" * 64, path)
    assert ended.status == 1
    assert "secret_hash: is not the one that was announced" in ended.err

    wrong = tmp_path / "wrong.json"
    written = json.loads(path.read_text())
    written["entries"][3]["version"] = "7"
    wrong.write_text(json.dumps(written))
    not_true = (
        f"{wrong}: not true: entries[3].version: is 7, and should be {record.entries[3].version}\n"
    )
    assert croupier("verify", wrong, path) == (1, told, not_true)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{}", b"{", b'{"unknown": 1}', b"\xff" * 40, b"[1]", b'{"name": 5}'),
        b'{"\\udc00": 1}',
        b'{"seats": [{"bot": {"strength": 1e400}}]}',
    ],
)
def test_a_file_that_holds_no_record_is_not_true(tmp_path, content):
    path = tmp_path / "what.json"
    path.write_bytes(content)
    ended = croupier("verify", path)
    assert ended.status == 1
    (line,) = ended.err.splitlines()
    assert line.startswith(f"{path}: not true: ")


def test_a_path_without_records_is_reported(tmp_path):
    for path, why in ((tmp_path / "none.json", "No such file"), (tmp_path, "no records")):
        ended = croupier("verify", path)
        assert ended.status == 1 and why in ended.err


def test_one_record_that_cannot_be_had_does_not_stop_an_export(operate, tmp_path, monkeypatch):
    operated = operate()
    made = [operated.client.create_match(GAMES[0]) for _ in range(3)]
    for match in made:
        match.seats[0].resign()
    written = operated.server.matches.record

    async def record(state):
        if f"matches/{state.header.match_id}" == made[1].name:
            raise ValueError
        return await written(state)

    monkeypatch.setattr(operated.server.matches, "record", record)
    output = tmp_path / "records"
    asking = ["--server", operated.address, "--operator-token-file", operated.token_file]
    ended = croupier("export", "--all", *asking, "--output", output)
    assert ended.status == 1
    assert "2 records" in ended.out and made[1].name in ended.err
    assert len(list(output.iterdir())) == 2


@pytest.mark.parametrize("logged", [True, False])
def test_verify_says_where_a_match_began(tmp_path, logged):
    record = write_record(random_match(GAMES[0], "default", seeded("began"), played_on=1))
    origin = record.start.origin
    origin.logged = logged
    record.digest = digest(record)
    path = record_files.write(record, tmp_path, "json")
    ended = croupier("verify", path)
    assert ended.status == 0
    vouched = "logged" if logged else "not logged"
    assert f"played on from version {origin.version} of {origin.name} ({vouched})" in ended.out


def test_a_record_with_a_name_brings_none_back(operate, tmp_path):
    operated = operate()
    match = operated.client.create_match(GAMES[0], (open_seat("Ann"), open_seat("Bob")))
    match.seats[0].resign()
    old, new = tmp_path / "old", tmp_path / "new"
    for path in (old, new):
        path.mkdir()
        record_files.write(match.spectator.record(), path, "json")
        match.seats[1].erase_names()
    ended = croupier("verify", old, new)
    assert ended.status == 0
    assert ["seat 1 were erased" in line for line in ended.out.splitlines()] == [False, True]
    data = tmp_path / "data"
    for path, told in ((new, "1 matches imported"), (old, "0 matches"), (new, "0 matches")):
        ended = croupier("import", "--data", data, path)
        assert (ended.status, told in ended.out) == (0, True), ended

    async def stored():
        async with opened(SqlitePlace(data)) as store:
            return await store.load(match.name.removeprefix("matches/"))

    found = asyncio.run(stored())
    assert found.header.display_names == ("Ann", "")
    assert write_record(MatchState.load(found)) == match.spectator.record()
    assert croupier("verify", "--data", data).status == 0
