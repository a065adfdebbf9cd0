"""`croupier puzzles` finds puzzles in matches, the same ones however often, and checks a pack."""

import signal
import subprocess
import sys

import pytest

import wire
from cli import record_files
from croupier.terminal.program import INTERRUPTED
from croupier.v1 import puzzle_pb2
from lab.puzzles import play
from service.puzzles.packs import read_pack, write_pack
from tests.support.commands import croupier

QUICK = ("--iterations", "400", "--workers", "1")
GAME = "skystones"
MATCHES = ("--matches", "1", "--output")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A pack of two puzzles that little searching has found. It is made once."""
    path = tmp_path_factory.mktemp("made") / "made.gz"
    # With this seed, and the one below, two are soon found.
    command = ("--self-play", GAME, *QUICK, "--puzzles", "2", "--output", path, "--seed", "1")
    ended = croupier("puzzles", *command)
    assert ended.status == 0
    assert f"{path}: 2 puzzles, " in ended.out
    assert "2 of 2" in ended.err
    return path


def test_the_same_command_makes_the_same_pack(tmp_path, made):
    pack = read_pack(made.read_bytes())
    assert len(pack.puzzles) == 2
    for each in pack.puzzles:
        assert (each.puzzle.origin.seed, each.puzzle.origin.iterations) == (1, 400)
    again, other = tmp_path / "again.gz", tmp_path / "other.gz"
    command = ("--self-play", GAME, *QUICK[:2], "--puzzles", "2", "--output")
    croupier("puzzles", *command, again, "--seed", "1", "--workers", "2")
    croupier("puzzles", *command, other, "--seed", "2", "--workers", "1")
    assert made.read_bytes() == again.read_bytes() != other.read_bytes()


def test_puzzles_are_found_in_records(tmp_path):
    number = iter(range(100_000))
    for match in range(12):
        # Moves that are neither good nor all alike.
        record = play(GAME, match, lambda position, seat, version: pick(position, seat, number))
        record_files.write(record, tmp_path, "json")
    path = tmp_path / "found.gz"
    ended = croupier("puzzles", tmp_path, *QUICK, "--puzzles", "1", "--output", path)
    assert ended.status == 0
    [puzzle] = read_pack(path.read_bytes()).puzzles
    assert puzzle.record.name in {f"matches/m{match}" for match in range(12)}


def test_where_none_is_found_the_pack_of_before_stays(tmp_path):
    path = tmp_path / "before.gz"
    path.write_bytes(b"before")
    ended = croupier("puzzles", "--self-play", GAME, *QUICK, "--gap", "0.99", *MATCHES, path)
    assert ended.status == 1
    assert f"no puzzle was found, and so {path} is not written" in ended.err
    assert path.read_bytes() == b"before"


def test_what_was_found_before_ctrl_c_is_written(tmp_path):
    path = tmp_path / "found.gz"
    words = ("puzzles", "--self-play", GAME, *QUICK, "--seed", "1", "--output", str(path))
    command = [sys.executable, "-m", "cli", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert b": 1 of 100" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate()
    assert process.returncode == INTERRUPTED
    assert f"{path}: ".encode() in said
    assert read_pack(path.read_bytes()).puzzles


def pick(position, seat, number):
    legal = position.legal(seat)
    return legal[7 * next(number) % len(legal)]


def test_a_check_counts_what_is_confirmed(tmp_path, made):
    deep = ("--iterations", "1000", "--workers", "1")
    assert " of 2 confirmed" in croupier("puzzles", "--check", made, *deep).out
    pack = read_pack(made.read_bytes())
    for each in pack.puzzles:
        each.hint.action.CopyFrom(each.hint.actions[-1].action)
    wrong = tmp_path / "wrong.gz"
    wrong.write_bytes(write_pack(pack))
    ended = croupier("puzzles", "--check", wrong, *deep)
    assert (ended.status, ended.out) == (1, f"{wrong}: 0 of 2 confirmed\n")
    assert ended.err.count("NOT confirmed") == 2


def test_a_pack_of_other_rules_is_named(tmp_path, made):
    pack = read_pack(made.read_bytes())
    pack.rules_version = 99
    older = tmp_path / "older.gz"
    older.write_bytes(write_pack(pack))
    ended = croupier("puzzles", "--check", older)
    present = wire.hosted_games()[GAME].rules_version
    assert ended.status == 1
    assert "found under version 99 of its rules" in ended.err
    assert f"this is version {present}" in ended.err


def test_a_pack_that_does_not_follow_from_the_game_is_named(tmp_path, made):
    pack = read_pack(made.read_bytes())
    names = [each.puzzle.name for each in pack.puzzles]
    other = puzzle_pb2.PuzzlePack()
    other.CopyFrom(pack)
    pack.puzzles[1].record.entries[0].MergeFromString(b"\xf8\x07\x01")  # A field of long ago.
    entry = other.puzzles[0].record.entries[0]
    getattr(entry, entry.WhichOneof("entry")).Clear()
    seat = puzzle_pb2.PuzzlePack()
    seat.CopyFrom(read_pack(made.read_bytes()))
    seat.puzzles[0].puzzle.origin.seat ^= 1
    for name, wrong in ((names[1], pack), (names[0], other), (names[0], seat)):
        older = tmp_path / "older.gz"
        older.write_bytes(write_pack(wrong))
        ended = croupier("puzzles", "--check", older)
        assert (ended.status, ended.out) == (1, "")
        assert f"{name} does not follow from the rules and the messages of {GAME}" in ended.err
        assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [(), ("--self-play", GAME), ("--self-play", GAME, "--check", "a"), ("a", "--check", "b")],
)
def test_the_matches_and_the_output_must_be_given(command):
    ended = croupier("puzzles", *command)
    assert ended.status == 2
    assert "--" in ended.err
