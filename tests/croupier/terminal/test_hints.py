"""Hints in words: an outcome that adds up, each action as it compares, and a key that plays it."""

import io
import json
import re
from pathlib import Path

import pytest
from google.protobuf import json_format
from rich.console import Console

import wire
from croupier.client import OPEN, Client, bot
from croupier.terminal import drawing, hints, texts
from croupier.v1 import hint_pb2
from lab.contract import seeded
from tests.croupier.terminal.terminals import terminal

# web/tests/unit/advice.test.ts reads them too: both clients say the same.
GIVEN = json.loads(Path(__file__).parents[1].joinpath("hints.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("sent", "english", "german"), GIVEN["compared"], ids=str)
def test_an_action_compares_with_the_advice_in_words(sent, english, german):
    item = json_format.ParseDict(sent, hint_pb2.ActionEvaluation())
    said = [hints.compared(item, texts.in_language(code)) for code in ("en", "de")]
    assert said == [english, german]


@pytest.mark.parametrize(("sent", "shown"), GIVEN["outcomes"], ids=str)
def test_an_outcome_is_rounded(sent, shown):
    assert list(hints.outcome(json_format.ParseDict(sent, hint_pb2.Hint()))) == shown


def test_an_outcome_adds_up_as_it_is_shown():
    rng = seeded("outcomes")
    for _ in range(5_000):
        draw = rng.choice([0.0, 1.0, rng.random(), round(rng.random(), 2)])
        win = (1 - draw) * rng.choice([0.0, 1.0, rng.random()])
        hint = hint_pb2.Hint(expected_score=win + draw / 2, draw=draw)
        points, *shares = hints.outcome(hint)
        assert min(shares) >= 0
        assert sum(shares) == 100
        assert points == shares[0] + shares[1] / 2
        for shown, meant in zip(shares, (win, draw, 1 - win - draw), strict=True):
            assert abs(shown - 100 * meant) <= 1 + 1e-9, (win, draw)


@pytest.mark.parametrize("game", wire.hosted_games())
@pytest.mark.parametrize("language", ["en", "de"])
def test_rows_are_shown_as_they_come(shared_server, game, language):
    with Client(shared_server[1]) as client:
        match = client.create_match(game, (OPEN, bot("random")), seed=7)
        seat = match.seats[0]
        draw = drawing.find(client.game(game, language=language), 0, "random bot")
        for number, view in enumerate(seat.turns()):
            hint = seat.suggest(iterations=400, seed=number)
            shown = Console(file=io.StringIO(), width=300, color_system=None)
            shown.print(*hints.shown(draw, hint))
            heading, _, *rows = shown.file.getvalue().splitlines()
            outcome = r" (\d+) (?:of|von) 100 .+ (\d+) %.+ (\d+) %.+ (\d+) %"
            points, *shares = re.search(outcome, heading).groups()
            assert int(points) == int(shares[0]) + int(shares[1]) / 2
            for item, row in zip(hint.actions[: hints.ROWS], rows, strict=False):
                title = re.escape(draw.action(item.action))
                word = re.escape(hints.compared(item, draw.say))
                advised = item.standing == hint_pb2.STANDING_BEST
                share = r"\d+%" if advised else ""
                assert re.fullmatch(rf" *{share} +{title} +{word} +[\d.,]+ *", row), row
            if number == 5:
                return
            seat.submit(hint.action, view.version)


@pytest.mark.parametrize("game", wire.hosted_games())
def test_a_key_plays_the_advice(shared_server, game, tmp_path):
    words = (game, "--seed", "5", "--opponent", "random", "--hint-iterations", "300")
    with terminal(shared_server[1], *words, state=tmp_path, rows=60) as session:
        session.read("> ")
        session.type("p")
        assert "There is no hint yet" in "\n".join(session.read("> "))
        session.type("h")
        shown = " ".join(" ".join(session.read("> ")).split())
        advice = re.match(r"(?:Play|Drawn): (.+?) \d+ of 100 points", shown)[1]
        session.type("p")
        assert f"You choose: {advice} " in " ".join(" ".join(session.read("> ")).split())
