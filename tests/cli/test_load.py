"""`croupier load` plays like people, outlasts what clients outlast, and reports what it noticed."""

import asyncio
import hashlib
import random
import re
import signal
import subprocess
import sys

import grpc
import pytest

from cli import load as load_command
from cli import load_players
from cli.load import report
from cli.load_players import Figures, Load, Marks, Table
from croupier.errors import CroupierError
from croupier.transport import CLEARTEXT
from croupier.v1 import game_pb2, match_pb2
from service.store import ANOTHER_LOG
from tests.support.commands import croupier
from tests.support.serving import OPEN, bot, ruleset_of
from tests.support.stores import LosingStore
from tests.support.waiting import FOREVER, waiting_for

COMMAND = (sys.executable, "-m", "cli", "load")


@pytest.fixture
def run_until(monkeypatch):
    """Runs the command until its figures satisfy a condition, or its players have given up."""

    def run_until(enough, *command):
        async def play(load, figures, *others):
            playing = asyncio.create_task(load_players.play(load, figures, *others))
            with waiting_for(lambda: vars(figures)):
                while not (playing.done() or figures.failed or enough(figures)):
                    await asyncio.sleep(0.01)
            playing.cancel()
            await playing

        monkeypatch.setattr(load_command, "play", play)
        monkeypatch.setattr(load_players, "PATIENCE", FOREVER)
        return croupier("load", *command, "--seconds", FOREVER)

    return run_until


def number(text, title):
    """The number in the row of a title."""
    return int(re.search(rf"^{title} +(\d+)", text, re.MULTILINE)[1])


def test_both_seats_of_all_matches_play(run_until, shared_server, caplog):
    def enough(figures):
        # An action that is the first of two simultaneous ones, or the last of all, may not be seen
        # yet.
        answered, seen = len(figures.answered), len(figures.seen)
        assert seen <= answered
        return answered > 40 and seen > 0.8 * answered

    printed = run_until(
        enough,
        *("--server", shared_server[1], "--matches", 4, "--pace", 0.02),
        *("--seats-a-connection", 2),
    )
    assert printed.status == 0
    assert "8 seats on 4 connections" in printed.out
    assert number(printed.out, "actions answered") > 40
    assert number(printed.out, "actions seen by the other seat") > 32
    assert number(printed.out, "matches created") >= 4
    for what in ("calls repeated", "streams resumed", "calls and streams given up"):
        assert number(printed.out, what) == 0
    assert not caplog.records


def test_a_server_that_is_killed_in_the_middle_is_outlasted(run_until, replicas, tmp_path):
    server = replicas("--store", "sqlite", "--data", str(tmp_path / "data"))
    server.ready()
    before = []

    def enough(figures):
        if len(figures.opened) >= 6 and not before:
            before.append(len(figures.answered))
            server.kill()
            server.start()
        return figures.resumed.total() >= 6 and len(figures.answered) > before[0] + 10

    printed = run_until(
        enough,
        *("--server", server.address, "--games", "skystones", "--matches", 3, "--pace", 0.05),
    )
    assert printed.status == 0, printed
    assert "UNAVAILABLE" in printed.out
    assert number(printed.out, "calls and streams given up") == 0
    server.ready()
    server.end_well()


def test_a_match_goes_on_from_what_the_log_still_has(servers, monkeypatch):
    store = LosingStore()
    server, address = servers.start(store)
    figures, lost, gone_on = Figures(), [], asyncio.Event()

    def lose():
        [(match_id,)] = store._anchor.execute("SELECT match_id FROM matches")
        store.lose(match_id, 0)
        store._changes.tell(match_id, ANOTHER_LOG)

    async def think(_table):
        # A stream may show an action before its seat has the answer.
        if len(figures.answered) >= 3 and not lost:
            lost.append(len(figures.answered))
            servers.loop.call_soon_threadsafe(lose)
        if figures.resumed.total() == 2 and len(figures.answered) > 20:
            gone_on.set()

    async def play():
        ruleset = ruleset_of("powershot_soccer")
        load = Load(address, CLEARTEXT, [ruleset], 1, 0.0, FOREVER, 1, "", 0)
        playing = asyncio.create_task(load_players.play(load, figures, random.Random(0), print))
        await gone_on.wait()
        playing.cancel()
        await asyncio.wait([playing])

    monkeypatch.setattr(Table, "_think", think)
    asyncio.run(play())
    assert lost
    assert figures.resumed == {"VERSION_IN_FUTURE": 2}
    assert figures.failed == {}
    servers.stop(server)


def test_players_of_the_same_seed_play_the_same_matches(shared_server, monkeypatch):
    call = load_players.Caller.call

    def decisions(seed, number=40):
        figures, sent = Figures(), []

        async def record(caller, rpc, request, token=""):
            if isinstance(request, match_pb2.SubmitActionRequest):
                sent.append(str(request.action))
            return await call(caller, rpc, request, token)

        async def play():
            turns = asyncio.Semaphore(number)
            ruleset = ruleset_of("powershot_soccer")  # Its seats decide in turn.
            load = Load(shared_server[1], CLEARTEXT, [ruleset], 1, 0.0, FOREVER, 1, "", 0)
            load = load._replace(seeded=True, think=turns.acquire)
            async with load_players.playing(load, figures, random.Random(seed), print):
                while len(figures.answered) < number:
                    await asyncio.sleep(0.01)

        monkeypatch.setattr(load_players.Caller, "call", record)
        asyncio.run(play())
        return sent

    first = decisions(3)
    assert len(first) == 40
    assert decisions(3) == first != decisions(4)


def test_how_long_a_bot_takes_is_noticed(shared_server):
    figures = Figures()

    async def play():
        load = Load(shared_server[1], CLEARTEXT, [ruleset_of("skystones")], 1, 0, FOREVER, 1, "", 0)
        load = load._replace(seats=(OPEN, bot("BEGINNER")))
        async with load_players.playing(load, figures, random.Random(0), print):
            while len(figures.replied) < 3:
                await asyncio.sleep(0.01)

    asyncio.run(play())
    assert all(seconds > 0 for seconds in figures.replied)
    assert not figures.failed


def test_an_interrupt_ends_it_with_the_figures(shared_server):
    command = (*COMMAND, "--server", shared_server[1], "--matches", "2", "--pace", "0.05")
    with subprocess.Popen(
        [*command, "--seconds", "3600"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as load:
        assert load.stderr.readline() == "... 4 of 4 seats\n"
        load.send_signal(signal.SIGINT)
        printed, errors = load.communicate()
    assert load.returncode == 0, printed + errors
    assert "Traceback" not in errors
    assert number(printed, "matches created") >= 2
    assert number(printed, "calls and streams given up") == 0


def test_it_ends_also_when_players_give_up_in_that_moment(monkeypatch):
    class Leaver:
        def __init__(self, *_):
            self.seated = asyncio.Event()

        async def play(self):
            self.seated.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                raise CroupierError(grpc.StatusCode.UNAVAILABLE, "gone") from None

    async def create(_table, _ruleset, _seed):
        tokens = [match_pb2.SeatToken(seat=seat) for seat in (0, 1)]
        return match_pb2.CreateMatchResponse(name="matches/m", seat_tokens=tokens)

    async def end():
        async with grpc.aio.insecure_channel("localhost:1") as channel:
            load = Load("here", CLEARTEXT, [game_pb2.Ruleset()], 1, 1.0, 10.0, 1, "", 0)
            channels, slots = [channel, channel], asyncio.Semaphore()
            table = Table(load, Figures(), random.Random(0), 0, channels, slots)
            playing = asyncio.create_task(table.play())
            await table.seated.wait()
            playing.cancel()
            done, _ = await asyncio.wait([playing])
            return done and playing.cancelled()

    monkeypatch.setattr(load_players, "Player", Leaver)
    monkeypatch.setattr(Table, "_create", create)
    assert asyncio.run(end())


def test_what_the_server_refuses_is_said(run_until, start_client, tmp_path):
    callers = tmp_path / "callers.toml"
    digest = hashlib.sha256(b"the-key-of-a-studio").hexdigest()
    callers.write_text(
        'require_key = ["create_match"]\n[keys.studio]\nnames_players = true\n'
        f'sha256 = "{digest}"\n'
    )
    here = ("--server", start_client(callers_file=callers).address)
    printed = croupier("load", *here, "--matches", 2)
    assert printed.status == 1
    assert "KEY_REQUIRED" in printed.err
    key = ("--api-key", "the-key-of-a-studio", "--players", 3, "--pace", 0.1)
    printed = run_until(lambda figures: figures.answered, *here, "--matches", 2, *key)
    assert printed.status == 0
    printed = croupier("load", *here, "--games", "skystones,bridge")
    assert printed.status == 2
    assert "has no game bridge; it has castle_rampage" in printed.err


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--server", "cards.example:50051"), "in the clear to cards.example:50051: use --tls"),
        (("--players", "3"), "--players needs --api-key"),
        (("--matches", "0"), "from 1 to 20000"),
    ],
)
def test_options_that_do_not_fit_are_refused(monkeypatch, options, error):
    monkeypatch.delenv("CROUPIER_API_KEY", raising=False)
    printed = croupier("load", *options)
    assert printed.status == 2
    assert error in printed.err


def test_a_version_is_timed_whether_the_response_or_the_stream_is_first():
    figures = Figures()
    marks = Marks(figures)
    marks.sent(1, 0, 10.0)
    marks.seen(1, 0, 10.5)  # One's own.
    marks.seen(1, 1, 11.0)
    marks.seen(2, 0, 21.0)
    marks.seen(2, 1, 20.5)
    marks.sent(2, 1, 20.0)
    assert figures.seen == [1.0, 1.0]
    marks.sent(3, 0, 30.0)
    marks.forget()
    marks.seen(3, 1, 40.0)  # By another course, so by another action.
    assert figures.seen == [1.0, 1.0]


def test_the_report_warns_where_the_program_was_late():
    load = Load("here", CLEARTEXT, (), 5, 1.0, 10.0, 1, "", 0)
    figures = Figures()
    figures.answered = [0.001 * n for n in range(1, 101)]
    figures.failed.update(["UNAVAILABLE", "UNAVAILABLE", "INTERNAL"])
    figures.lag = [0.001] * 99 + [0.5]
    text = report(load, figures, 10.0, 2.0)
    assert re.search(
        r"^actions answered +100 +10\.0 +50\.0 ms +90\.0 ms +99\.0 ms +100\.0 ms$", text, re.M
    )
    assert re.search(r"given up +3  UNAVAILABLE 2, INTERNAL 1$", text, re.M)
    assert "20 % of a processor" in text
    assert "tell of this program" not in text
    figures.lag = [0.5] * 3
    assert "tell of this program" in report(load, figures, 10.0, 2.0)
