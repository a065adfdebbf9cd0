"""Every stanza of tests/games/*/facts.txt prints what it states: see tests/support/facts.py."""

import re

import pytest

from engine import games
from tests.support.facts import FOLDER, Stanza, all_stanzas
from wire.games import hosted_games, translation


@pytest.mark.parametrize("stanza", all_stanzas(), ids=repr)
def test_stanza(stanza):
    stanza.check()


def test_every_game_has_facts():
    assert {path.parent.name for path in FOLDER.glob("*/facts.txt")} == set(games())


@pytest.mark.parametrize("game_id", hosted_games())
def test_every_ending_is_a_fact(game_id):
    told = {
        found[1]
        for stanza in all_stanzas()
        if stanza.path.parent.name == game_id
        for line in stanza.lines
        if (found := re.match(r"(?:ending:)?  ?(\w+): [A-Z]", line))
    }
    assert set(translation(game_id).endings) <= told


def test_a_wrong_fact_is_reported_with_its_place_and_the_difference():
    path = FOLDER / "kuhn_poker" / "facts.txt"
    lines = ["# No.", "first = KING", "legal first: check, bet", "perft 1: 3"]
    with pytest.raises(AssertionError) as told:
        Stanza(path, 7, lines).check()
    message = str(told.value)
    assert "kuhn_poker:10: perft 1" in message
    assert "-perft 1: 3" in message and "+perft 1: 2" in message
    assert "check: 1" in message


def test_a_command_that_fails_is_reported_with_its_place():
    path = FOLDER / "kuhn_poker" / "facts.txt"
    with pytest.raises(AssertionError, match=r"kuhn_poker:2: play second bet: ActionError"):
        Stanza(path, 1, ["first = KING", "play second bet"]).check()
