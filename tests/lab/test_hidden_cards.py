"""The bench that says how well beliefs tell the hidden cards."""

import math
import sys

import pytest

from engine import games
from lab.search_bench import hidden_cards
from lab.search_bench.hidden_cards import (
    BY_HAND,
    BY_POLICIES,
    BY_STRENGTH,
    PERSON,
    SERVED,
    Task,
    compare,
    interval,
)


@pytest.mark.parametrize("game_id", ["castle_rampage", "champion_chess", "powershot_soccer"])
def test_beliefs_are_compared_with_the_cards_of_a_match(game_id):
    found = compare(Task(game_id, 3, 1, 20))
    assert found == compare(Task(game_id, 3, 1, 20)) != compare(Task(game_id, 4, 1, 20))
    assert set(found[BY_HAND]) == set(games()[game_id]().hidden_places)
    # The models of Champion Chess and PowerShot Soccer do not weigh worlds.
    differs = {name: found[name] != found[BY_HAND] for name in found}
    assert (
        differs
        == {
            "castle_rampage": {BY_HAND: False, SERVED: True, BY_POLICIES: True},
            "champion_chess": {BY_HAND: False, SERVED: False, BY_POLICIES: True},
            "powershot_soccer": {BY_HAND: False, SERVED: False, BY_POLICIES: True},
        }[game_id]
    )


def test_bots_are_foreseen_by_their_strength():
    found = compare(Task("skystones", 3, 1, 20, "casual"))
    assert found[BY_HAND] != found[SERVED] != found[BY_STRENGTH] != found[PERSON]
    # The expert plays as the search does, but for longer than 20 iterations.
    found = compare(Task("skystones", 3, 1, 20, "expert"))
    assert found[SERVED] == found[BY_STRENGTH] != compare(Task("skystones", 3, 1, 20))[SERVED]


def test_an_interval_is_of_the_mean_over_matches():
    assert interval([0.5]) == "+0.500"
    # The deviation is 1, and that of the mean half as much.
    gains = [-1, 0, 0, 1 + math.sqrt(0.5)]
    mean = sum(gains) / 4
    deviation = math.sqrt(sum((gain - mean) ** 2 for gain in gains) / 3)
    half = 1.96 * deviation / 2
    assert interval(gains) == f"{mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f})"


def test_the_command_prints_a_row_for_each_place(monkeypatch, capsys):
    arguments = ["--games", "skystones", "--matches", "2", "--iterations", "10", "--workers", "1"]
    monkeypatch.setattr(sys, "argv", ["lab.search_bench.hidden_cards", *arguments])
    hidden_cards.main()
    heading, titles, *rows = capsys.readouterr().out.splitlines()
    assert "2 matches of 10 iterations" in heading
    assert titles.split()[:2] == ["game", "place"]
    places = games()["skystones"]().hidden_places
    assert [row.split()[:2] for row in rows] == [["skystones", place] for place in places]
    for row in rows:
        by_hand, served = map(float, row.split()[2:4])
        assert 0 < served < 22 * math.log(2)
        assert f"{by_hand - served:+.2f}"[:-1] in row
    monkeypatch.setattr(sys, "argv", ["lab.search_bench.hidden_cards", "--games", "bridge"])
    with pytest.raises(SystemExit):
        hidden_cards.main()
