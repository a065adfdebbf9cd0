"""`croupier check-game` finds the mistakes of authors, and passes sound games.

Here a few quick ones are planted, one for each kind of decision; with TEST_LONG all are.
"""

import shutil

import pytest

from tests.lab.mistakes import MISTAKES, check, failures, make, plant
from tests.support.long_form import LONG_FORM

QUICKLY = ("--ranked", "1000", "--simulated", "4000")
PYTHON = ("high_card", "laid_aside")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """By game: a folder with its package."""
    folders = {}

    def folder_of(game):
        if game not in folders:
            folders[game] = tmp_path_factory.mktemp("sound") / game
            folders[game].mkdir()
            plant(folders[game], game)
        return folders[game]

    return folder_of


@pytest.mark.parametrize("game", sorted({each["game"] for each in MISTAKES}))
def test_a_sound_game_passes(game, sound):
    if game not in PYTHON and not LONG_FORM:
        pytest.skip("its own tests check it")
    done = check(sound(game), game, *(() if LONG_FORM else QUICKLY))
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each["name"].replace(" ", "-"))
def test_a_mistake_is_found_and_told(mistake, sound, tmp_path):
    if mistake["game"] not in PYTHON and not LONG_FORM:
        pytest.skip("it takes long")
    folder = tmp_path / "planted"
    shutil.copytree(sound(mistake["game"]), folder)
    make(folder, mistake)
    if not LONG_FORM:
        done = check(folder, mistake["game"], "--only", mistake["found"], *QUICKLY)
    else:
        done = check(folder, mistake["game"])
    assert done.returncode == 1
    said = failures(done.stdout)[mistake["found"]]
    for word in mistake["says"]:
        assert word in said
    assert f"croupier check-game {mistake['game']} --only {mistake['found']}" in said
