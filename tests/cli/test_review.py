"""`croupier review` judges the decisions of records, and sums many up by player."""

import json
import re
from functools import partial

import pytest
from google.protobuf import json_format

import wire
from cli import record_files
from croupier.terminal.texts import GERMAN
from croupier.v1 import review_pb2
from service.hosting.records import write_record
from tests.support.commands import croupier
from tests.support.long_form import LONG_FORM
from tests.support.play import seeded
from tests.support.random_matches import random_match

QUICK = ("--iterations", "100", "--deepen-above", "1", "--workers", "1")
GAMES = tuple(wire.hosted_games())
SHORT = ("champion_chess", "skystones")
IN_GERMAN = GAMES if LONG_FORM else SHORT
# At which seats resign, in the short form: each decision takes searches.
RESIGN_AT = None if LONG_FORM else 40
run = partial(croupier, "review")


@pytest.fixture
def records(request, tmp_path):
    """A directory with the record of a match of some games."""
    for game in getattr(request, "param", SHORT):
        match = random_match(game, "default", seeded(game), resign_at=RESIGN_AT)
        record_files.write(write_record(match), tmp_path, "json")
    return tmp_path


@pytest.mark.parametrize("records", [GAMES], indirect=True)
def test_each_match_is_told(records):
    printed = run(records, *QUICK)
    assert printed.status == 0
    for game in GAMES:
        assert wire.hosted_games()[game].title in printed.out
    for what in ("erred most", "Luck was ", "What turned ", " lost ", "luck of ", "the rest"):
        assert printed.out.count(what) >= len(GAMES)
    # Random play errs.
    assert "blunder" in printed.out


@pytest.mark.parametrize("records", [IN_GERMAN], indirect=True)
def test_reviews_are_in_german_too(records):
    # One search of two actions alone is not sure enough to say which is worse.
    printed = run(records, *QUICK, "--iterations", "400", "--all", "--language", "de-CH")
    assert printed.status == 0
    own = (text for text, german in GERMAN.items() if "{" not in text and text != german)
    english = [text for text in own if re.search(rf"\b{re.escape(text)}\b", printed.out)]
    assert english == ["matches"]  # In the names of the matches.
    assert printed.out.count(" am meisten verloren") >= len(IN_GERMAN)
    assert printed.out.count("Das Glück war für ") == len(IN_GERMAN)
    one = next(records.iterdir())
    printed = run(one, *QUICK, "--summary", "--language", "de")
    assert printed.status == 0
    assert "Anfang" in printed.out


def test_what_is_told_first_is_what_the_messages_say(records):
    path = min(records.iterdir())  # Not any: in some matches nothing turns.
    printed = run(path, *QUICK, "--json")
    *decisions, summary = (json.loads(line) for line in printed.out.splitlines())
    printed = run(path, *QUICK)
    told = printed.out.split("\n\n")
    for seat in (0, 1):
        own = [each for each in decisions if each.get("seat", 0) == seat]
        erred = [each for each in own if each["verdict"].endswith(("ACY", "STAKE", "BLUNDER"))]
        worst = max(erred, key=lambda each: each["loss"], default=None)
        assert (
            f"in version {worst['version']}, for {100 * worst['loss']:.1f} points"
            if worst
            else "made no clear error"
        ) in told[0]
    deal, *later = (each.get("luck", 0.0) for each in summary["chanceOutcomes"])
    assert f" {100 * deal:+.1f} in the deal, {100 * sum(later) + 0.0:+.1f} later." in told[0]
    [turned] = (part.splitlines() for part in told if part.startswith("What turned "))
    assert len(turned[2:]) == len(summary["keyMoments"])
    for moment, line in zip(summary["keyMoments"], turned[2:], strict=True):
        assert line.split()[0] == moment.get("version", "0")
        assert line.split()[-1] == f"{100 * moment['change']:+.1f}"


def test_lines_of_json_are_messages_of_the_api(records):
    printed = run(next(records.iterdir()), *QUICK, "--json")
    assert printed.status == 0
    *decisions, summary = printed.out.splitlines()
    review = json_format.Parse(summary, review_pb2.MatchReview())
    lost = [0.0, 0.0]
    for line in decisions:
        decision = json_format.Parse(line, review_pb2.DecisionReview())
        lost[decision.seat] += decision.loss
    assert [each.loss for each in review.seats] == lost


def test_the_same_seed_gives_the_same_lines_however_many_processes(records):
    own = (records, *QUICK[:4], "--json", "--seat", "1")
    one = run(*own, "--workers", "1", "--seed", "3")
    two = run(*own, "--workers", "2", "--seed", "3")
    other = run(*own, "--workers", "1", "--seed", "4")
    assert one.out == two.out != other.out


def test_players_are_summed_up(records):
    printed = run(records, *QUICK, "--summary", "--json")
    assert printed.status == 0
    lines = [json.loads(line) for line in printed.out.splitlines()]
    assert [line["part"] for line in lines][:4] == ["all", "opening", "middle", "ending"]
    whole = [line for line in lines if line["part"] == "all"]
    assert sum(line["matches"] for line in whole) == 2 * len(SHORT)
    for line in whole:
        parts = [each for each in lines if each["player"] == line["player"]][1:]
        assert line["decisions"] == sum(each["decisions"] for each in parts)
    printed = run(records, *QUICK, "--summary")
    assert printed.status == 0
    assert all(line["player"] in printed.out for line in whole)


def test_a_wrong_record_is_named_and_the_others_are_reviewed(records):
    path = sorted(records.iterdir())[0]
    record = record_files.read(path)
    record.secret = bytes(32)
    path.write_text(json_format.MessageToJson(record))
    printed = run(records, *QUICK, "--json")
    assert printed.status == 1
    assert f"{path}: not true: secret_hash" in printed.err
    assert printed.out.count('"seats"') == len(SHORT) - 1


@pytest.mark.parametrize("loss", ["-0.1", "1.1", "much"])
def test_a_loss_is_a_number_from_0_to_1(tmp_path, loss):
    printed = run(tmp_path, "--deepen-above", loss)
    assert printed.status == 2
    assert "--deepen-above" in printed.err
