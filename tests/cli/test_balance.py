"""`croupier balance` writes a report, continues it, and refuses what it cannot do."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from engine import games
from lab.balance.report import PAGE
from tests.support.commands import croupier

NO_NUMBERS = ("=abc", "=inf", "=nan", "=1e999", "=NaN", "=-Infinity", "=2.5", "=null", "=[]")
NO_NUMBERS += ("*=1e308", "*=inf", "*=nan", "*=NaN", "*=1e999", "+=abc", "+=0.5", "+=Infinity")
GAMES = [game_id for game_id, game in games().items() if not game.reference]


def run(*words, status=0):
    ended = croupier("balance", *words)
    assert ended.status == status, ended.err
    return ended.err if status else ended.out


@pytest.mark.parametrize("game_id", [*GAMES, "kuhn_poker"])
def test_a_report_of_each_game_needs_nothing_else(game_id, tmp_path):
    command = (game_id, "--player", "random", "--workers", "1", "--folder", tmp_path)
    printed = run(*command, "--matches", "16")
    assert "16 matches" in printed and "The first seat scores" in printed
    page = (tmp_path / "report.html").read_text()
    assert "<svg role" in page and page.count("<table>") >= 3
    assert not re.search(r"<script|<link|@import|src=|https?://(?!www\.w3\.org)", page)
    assert "{body}" not in page
    head, *figures = map(json.loads, (tmp_path / "figures.jsonl").read_text().splitlines())
    assert head["format"] == "croupier-balance/1" and head["player"] == "random"
    assert head["by_net"] is True
    assert {"revision", "model", "seed", "rulesets", "rules_version"} <= head.keys()
    assert all(each["low"] <= each["estimate"] <= each["high"] for each in figures)
    for sentence in head["said"]:
        assert sentence in printed and sentence in (tmp_path / "report.md").read_text()
    # It goes on where it was, and ends as if it had not stopped.
    before = (tmp_path / "matches.jsonl").read_text()
    run(*command, "--matches", "18")
    after = (tmp_path / "matches.jsonl").read_text()
    assert after.startswith(before) and after.count("\n") == 18


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_whose_processes_are_all_ended_goes_on_where_it_was(number, tmp_path):
    command = ("skystones", "--player", "random", "--stronger", "none", "--folder")
    words = [sys.executable, "-m", "cli", "balance", *command, tmp_path / "ended", "--workers", "2"]
    streams = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    run_ = subprocess.Popen([*words, "--matches", "90000"], text=True, process_group=0, **streams)
    told = run_.stderr.readline()
    if number == signal.SIGTERM:
        os.killpg(run_.pid, number)
    else:
        run_.kill()
    out, err = run_.communicate()  # It returns once all processes have ended.
    if number == signal.SIGTERM:
        assert run_.returncode == 130 and out.endswith("the same command continues\n")
        assert not [each for each in (told + err).splitlines() if "matches" not in each]
    lines = (tmp_path / "ended" / "matches.jsonl").read_text().count("\n") + 2
    for name in ("ended", "whole"):
        run(*command, tmp_path / name, "--workers", "1", "--matches", lines)
    for name in ("matches.jsonl", "figures.jsonl", "report.html"):
        assert len({(tmp_path / each / name).read_bytes() for each in ("ended", "whole")}) == 1


def test_two_rulesets_are_compared(tmp_path):
    printed = run(
        *("skystones", "--player", "random", "--stronger", "policy", "--workers", "1"),
        *("--folder", tmp_path, "--matches", "80", "--vary", "hand_size=3", "--until", "90"),
    )
    assert "Skystones: 64 matches" in printed, "it stops once it is known"
    assert re.search(r"Changed: turns.* \+\d", printed)
    told = (tmp_path / "report.md").read_text()
    assert "hand_size 5 → 3" in told and "- by_net: False\n" in told
    assert "policy scores" in printed


def test_nothing_is_proposed_where_all_targets_hold(tmp_path):
    command = ("skystones", "--player", "random", "--workers", "1", "--folder", tmp_path)
    printed = run(*command, "--matches", "16", "--propose", "--target", "turns=40..70")
    assert "Proposed: no change. All targets hold then" in printed


def test_a_proposal_is_made_again_without_a_match(tmp_path):
    command = ("champion_chess", "--player", "random", "--workers", "1", "--folder", tmp_path)
    wanted = ("--option", "hand_size=5", "--target", "forced=10..15", "--propose")
    printed = run(*command, "--matches", "64", *wanted)
    assert "Proposed: hand_size 5 → 6. All targets hold then" in printed
    kept = {path: path.read_bytes() for path in tmp_path.rglob("matches.jsonl")}
    assert len(kept) > 2, "those of each ruleset that was tried"
    assert run(*command, "--matches", "64", *wanted) == printed
    assert {path: path.read_bytes() for path in tmp_path.rglob("matches.jsonl")} == kept


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("chess",), "no game is called chess"),
        (("skystones", "--player", "nobody"), "there is no player 'nobody'"),
        (("skystones", "--vary", "cards.Clod Heron.noth=1"), "is it cards.Cloud Heron.north or"),
        (("skystones", "--option", "hand_sise=3"), "is not there; is it hand_size or"),
        (("skystones", "--vary", "rules_version=99"), "99 is not kept"),
        (("skystones", "--until", "1"), "it needs --vary"),
        (("skystones", "--target", "turns"), "is not KEY=LOW..HIGH"),
        (("skystones", "--target", "foo=1..2"), "foo is no figure: there are cards, first_seat"),
        (("skystones", "--target", "use.foo=1..2"), "use.foo is no figure: there are cards"),
        (
            ("skystones", "--option", "hand_size=abc"),
            "hand_size=abc: must give a whole number",
        ),
        (("skystones", "--option", "board_size=1.5"), "board_size=1.5: must give a whole number"),
        (("skystones", "--option", "cards=5"), "cards: must be a list, not 5"),
        (("castle_rampage", "--option", "cards=[{}]"), "cards[0].card: must be 1 to"),
        (("champion_chess", "--option", 'cards=[{"card":0}]'), "cards[0].copies: must be a whole"),
        (("champion_chess", "--option", "castling=abc"), "castling: must be true or false"),
        *(
            (("champion_chess", "--vary", f"cards.KING.defend{each}"), f"{each}: must give a whole")
            for each in NO_NUMBERS
        ),
        (("champion_chess", "--vary", ""), "an empty change: is not PATH=VALUE, PATH*=FACTOR"),
        (("champion_chess", "--vary", "list.json"), "list.json: has neither options (castling,"),
        (("champion_chess", "--vary", "other.json"), "other.json: has neither options (castling,"),
        (("skystones", "--target", "stronger=60..70", "--stronger", "none"), "needs --stronger"),
        (("skystones", "--target", "stronger=60..70", "--propose"), "is not for --propose"),
        (("skystones", "--propose", "--vary", "hand_size=3"), "do not go together"),
    ],
)
def test_what_cannot_be_played_is_refused(given, said, tmp_path, monkeypatch):
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "other.json").write_text('{"size": 1}')
    monkeypatch.chdir(tmp_path)
    told = run(*given, "--folder", tmp_path / "folder", status=2)
    assert said in told and told.count("\n") == 1, "one line, and nothing of Python"
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("", "an empty path names nothing"),
        ("file", "file cannot be made: File exists"),
        ("file/in", "file/in cannot be made: Not a directory"),
        ("arena", "was begun with format 'croupier-arena/1'"),
    ],
)
def test_a_folder_that_is_none_or_of_another_command_is_refused(
    folder, said, tmp_path, monkeypatch
):
    (tmp_path / "file").touch()
    (tmp_path / "arena").mkdir()
    (tmp_path / "arena" / "settings.json").write_text('{"format": "croupier-arena/1"}')
    monkeypatch.chdir(tmp_path)
    assert said in run("skystones", "--player", "random", "--folder", folder, status=2)
    assert len(list(tmp_path.rglob("*"))) == 3


def test_a_change_that_changes_nothing_is_told_before_a_match_is_played(tmp_path):
    command = ("champion_chess", "--player", "random", "--workers", "1", "--matches", "8")
    for changes, equal in (("hand_size=7", True), ("hand_size=6", False)):
        words = (*command, "--folder", tmp_path / changes, "--vary", changes)
        ended = croupier("balance", *words)
        assert ended.status == 0
        assert ended.err.startswith("--vary changes nothing") == equal


def test_a_report_that_cannot_be_written_is_told_before_a_match_is_played(tmp_path):
    (tmp_path / "report.html").mkdir()
    said = run("skystones", "--player", "random", "--folder", tmp_path, status=1)
    assert "report.html" in said and not (tmp_path / "matches.jsonl").exists()
    assert "{body}" in PAGE, "it is read at the start"
