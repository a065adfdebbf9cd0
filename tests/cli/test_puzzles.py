"""`croupier puzzles` finds puzzles in matches, the same ones however often, and checks a pack."""

import contextlib
import io

import pytest

from cli import record_files
from cli.main import main
from lab.puzzles import play
from service import wire
from service.puzzles.packs import read_pack, write_pack

QUICK = ("--iterations", "100", "--workers", "1")
GAME = "skystones"


def run(capsys, *command):
    with pytest.raises(SystemExit) as ended:
        main(["puzzles", *map(str, command)])
    return ended.value.code, capsys.readouterr()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A pack of two puzzles that little searching has found. It is made once."""
    path = tmp_path_factory.mktemp("made") / "made.gz"
    out, err = io.StringIO(), io.StringIO()
    # With this seed, and the one below, two are soon found.
    command = ("--self-play", GAME, *QUICK, "--puzzles", "2", "--output", path, "--seed", "1")
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main(["puzzles", *map(str, command)])
    assert ended.value.code == 0
    assert f"{path}: 2 puzzles, " in out.getvalue()
    assert "2 of 2" in err.getvalue()
    return path


def test_the_same_command_makes_the_same_pack(capsys, tmp_path, made):
    pack = read_pack(made.read_bytes())
    assert len(pack.puzzles) == 2
    for each in pack.puzzles:
        assert (each.puzzle.origin.seed, each.puzzle.origin.iterations) == (1, 100)
    again, other = tmp_path / "again.gz", tmp_path / "other.gz"
    command = ("--self-play", GAME, "--iterations", "100", "--puzzles", "2", "--output")
    run(capsys, *command, again, "--seed", "1", "--workers", "2")
    run(capsys, *command, other, "--seed", "2", "--workers", "1")
    assert made.read_bytes() == again.read_bytes() != other.read_bytes()


def test_puzzles_are_found_in_records(capsys, tmp_path):
    number = iter(range(100_000))
    for match in range(6):
        # Moves that are neither good nor all alike.
        record = play(GAME, match, lambda position, seat, version: pick(position, seat, number))
        record_files.write(record, tmp_path, "json")
    path = tmp_path / "found.gz"
    status, _ = run(capsys, tmp_path, *QUICK, "--puzzles", "1", "--output", path)
    assert status == 0
    [puzzle] = read_pack(path.read_bytes()).puzzles
    assert puzzle.record.name in {f"matches/m{match}" for match in range(6)}


def pick(position, seat, number):
    legal = position.legal(seat)
    return legal[7 * next(number) % len(legal)]


def test_a_check_counts_what_is_confirmed(capsys, tmp_path, made):
    deep = ("--iterations", "1000", "--workers", "1")
    _, printed = run(capsys, "--check", made, *deep)
    assert " of 2 confirmed" in printed.out
    pack = read_pack(made.read_bytes())
    for each in pack.puzzles:
        each.hint.action.CopyFrom(each.hint.actions[-1].action)
    wrong = tmp_path / "wrong.gz"
    wrong.write_bytes(write_pack(pack))
    status, printed = run(capsys, "--check", wrong, *deep)
    assert (status, printed.out) == (1, f"{wrong}: 0 of 2 confirmed\n")
    assert printed.err.count("NOT confirmed") == 2


def test_a_pack_of_other_rules_is_named(capsys, tmp_path, made):
    pack = read_pack(made.read_bytes())
    pack.rules_version = 99
    older = tmp_path / "older.gz"
    older.write_bytes(write_pack(pack))
    status, printed = run(capsys, "--check", older)
    present = wire.hosted_games()[GAME].rules_version
    assert status == 1
    assert "found under version 99 of its rules" in printed.err
    assert f"this is version {present}" in printed.err


@pytest.mark.parametrize(
    "command",
    [(), ("--self-play", GAME), ("--self-play", GAME, "--check", "a"), ("a", "--check", "b")],
)
def test_the_matches_and_the_output_must_be_given(capsys, command):
    status, printed = run(capsys, *command)
    assert status == 2
    assert "--" in printed.err
