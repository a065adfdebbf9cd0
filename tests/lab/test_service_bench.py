"""The benchmark of the service counts answered calls and nothing else."""

import asyncio
import shutil

import grpc
import pytest

from croupier.v1 import match_pb2, match_pb2_grpc
from lab.service_bench import human, instructions, played
from lab.service_bench.players import Players
from lab.service_bench.scripts import write_scripts
from lab.service_bench.serve import ECHO
from tests.support.long_form import LONG_FORM
from tests.support.waiting import FOREVER

SECONDS = 0.2
TABLES = 2


def test_the_measured_server_can_echo(tmp_path):
    with (
        played.hosting(tmp_path / "log", "memory", None) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        assert channel.unary_unary(ECHO)(b"message") == b"message"


@pytest.mark.parametrize("lean", [False, True])
def test_seats_play_their_matches_to_the_end_and_then_the_next_ones(tmp_path, lean):
    scripts = write_scripts("skystones", 2) * 20
    with played.hosting(tmp_path / "log", "memory", None) as server:
        matches = asyncio.run(played.create_matches(server.address, scripts, lean=lean))
        players = Players([server.address], played.PLAY, matches, TABLES)
        runs = [players.play(SECONDS)]
        while not runs[-1].actions:
            runs.append(players.play(SECONDS))
        first = runs[-1]
        bare_matches = played.bare_pattern(first, matches, lean=lean)
        bare = Players([server.address], played.BARE, bare_matches, TABLES)
        runs_of_bare = [bare.play(SECONDS)]
        while not runs_of_bare[-1].actions:
            runs_of_bare.append(bare.play(SECONDS))
        with grpc.insecure_channel(server.address) as channel:
            stub = match_pb2_grpc.MatchServiceStub(channel)
            # However slow the machine is.
            while version_of(stub, matches[0]) < len(scripts[0].decisions):
                runs.append(players.play(SECONDS))
            players.close()
            bare.close()
            versions = [version_of(stub, match) for match in matches]
    assert sum(versions) == sum(run.actions for run in runs)
    assert versions[0] == len(scripts[0].decisions)
    assert versions[-1] == 0
    all_begun = [*[matches] * len(runs), *[bare_matches] * len(runs_of_bare)]
    for run, begun in zip(runs + runs_of_bare, all_begun, strict=True):
        assert run.actions == len(run.answered)
        # A seat may see the next version before that of an action.
        assert run.actions // 2 <= len(run.seen) <= run.actions
        assert all(seconds > 0 for seconds in (*run.answered, *run.seen))
        # One or two streams are told of each action, and all begin with the first version.
        # A seat knows of its last action by the response, before its stream may have told it.
        told = (1 if lean else 2) * run.actions
        assert told - TABLES <= run.pushes <= told + 2 * len(begun) + TABLES
    last = runs_of_bare[-1]
    assert last.answer_bytes // last.actions == first.answer_bytes // first.actions


def version_of(stub, match):
    request = match_pb2.WatchMatchRequest.FromString(match.follow[0])
    metadata = (("authorization", f"Bearer {match.tokens[0]}"),)
    return stub.GetView(match_pb2.GetViewRequest(name=request.name), metadata=metadata).view.version


def test_players_say_that_they_have_no_more_matches(tmp_path):
    with played.hosting(tmp_path / "log", "memory", None) as server:
        matches = asyncio.run(played.create_matches(server.address, write_scripts("skystones", 1)))
        players = Players([server.address], played.PLAY, matches, 1)
        with pytest.raises(RuntimeError, match="more was played than had been prepared"):
            players.play(FOREVER)
        players.close()


def test_many_matches_are_played_at_the_speed_of_people(tmp_path, capsys):
    scripts = write_scripts("skystones", 2)
    human.measure(tmp_path, scripts, 6, pace=0.2, seconds=3.0)
    row, feed = capsys.readouterr().out.splitlines()[-2:]
    matches, connections, *_ = row.split()
    assert (matches, connections) == ("6", "3")
    assert feed.startswith("with a reader of the feed: ")


@pytest.mark.skipif(not LONG_FORM, reason="`make soak` runs it, for half a minute")
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_instructions_are_counted(tmp_path, capsys):
    instructions.measure(tmp_path, write_scripts("skystones", 1), 1)
    rows = [line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines()[-5:]]
    echo, call, _, first, second = (int(count.replace(",", "")) for _, count in rows)
    assert 0 < min(first, second) < echo < call


def test_it_is_said_what_is_missing_to_count_instructions(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(instructions.MissingTool, match="valgrind is missing"):
        instructions.measure(tmp_path, [], 1)
