"""Searches in another process: the same as here, and views in the words of older revisions."""

import random

import pytest

from ai.results import Parameters
from ai.search import Search, search
from engine import games
from engine.model import learned
from engine.position import Position
from lab.revision import SearchProcess
from lab.revision_host import CARDS, SHOWED, story_of
from tests.support.play import note_on_failure

HOSTED = [game_id for game_id, game in games().items() if not game.reference]
OPTIONS = {"iterations": 300, "exploration": 0.6, "endings": False, "horizon": None}
PARAMETERS = Parameters(exploration=0.6, endings=False, horizon=None)


@pytest.fixture(scope="module")
def process():
    process = SearchProcess()
    yield process
    process.close()


@pytest.mark.parametrize("game_id", games())
def test_another_process_finds_what_this_one_finds(process, game_id):
    position = Position.deal(games()[game_id](), 1)
    view = position.view(position.deciders[0])
    found = process.ask(view, 7, OPTIONS, all_actions=True)
    model = learned(view.game)
    here = search(view, iterations=300, seed=7, parameters=PARAMETERS, model=model)
    assert (found.action, found.iterations, found.stop_reason) == (here.action, 300, "iterations")
    assert found.actions == here.actions
    assert found.processor_seconds > 0
    assert process.ask(view, 7, OPTIONS).actions == []


@pytest.mark.parametrize("game_id", HOSTED)
def test_another_process_searches_for_some_actions(process, game_id):
    position = Position.deal(games()[game_id](), 1)
    seat = position.deciders[0]
    view, some = position.view(seat), position.legal(seat)[1:3]
    found = process.ask(view, 7, OPTIONS, root_actions=some, all_actions=True)
    here = Search(
        view,
        seed=7,
        parameters=PARAMETERS,
        max_iterations=300,
        root_actions=some,
        model=learned(view.game),
    )
    here.run(iterations=300)
    assert found.actions == here.result().actions
    assert {each.action for each in found.actions} == set(some)


def test_a_hand_history_is_told_as_a_story():
    # Two Knights, then nine of card 3, which takes two runs.
    counts = [0, 2, 0, 9, *[0] * (CARDS - 4)]
    history = [8 * 1 + 1, 8 * 4 + SHOWED, 1 << 5 | 1, 7 << 5 | 3, 3, 0, 8 * 3 + 2]
    assert story_of(history) == [9, 32 + SHOWED, *counts[1:], 0, 26]


@pytest.mark.parametrize(
    ("history", "why"), [([8 + 7, 5, 0, 1, 0, 1, 1, 0], "summed up"), ([1] * 1601, "too long")]
)
def test_a_history_without_a_story_is_refused(history, why):
    with pytest.raises(ValueError, match=why):
        story_of(history)


def test_stories_hold_as_many_cards_as_the_histories():
    game = games()["castle_rampage"]()
    shown = 0
    for seed in range(8):
        with note_on_failure(seed=seed):
            rng = random.Random(seed)
            position = Position.deal(game, seed)
            while not position.over:
                last = position.copy()
                joint = {one: rng.choice(position.legal(one)) for one in position.deciders}
                position.apply(joint, rng.getrandbits(64))
            for side in last.view(0).fields["common"]["sides"]:
                history = side["history"][: side["history_length"]]
                entries, cards = read(history, counted_in_runs)
                assert read(story_of(history), counted_by_card) == (entries, cards)
                shown += len(cards)
    assert shown > 0, "no history had counts"


def read(text, counted):
    """The entries of a history or a story, and the cards that it counts, each in turn."""
    entries, cards, at = [], [], 0
    while at < len(text):
        entries.append(text[at])
        at += 1
        if entries[-1] & 7 >= SHOWED:
            found, at = counted(text, at)
            cards.append(found)
    return entries, cards


def counted_in_runs(text, at):
    found = []
    while text[at]:
        found += [text[at] & 31] * ((text[at] >> 5) + 1)
        at += 1
    return sorted(found), at + 1


def counted_by_card(text, at):
    found = []
    for card in range(1, CARDS):
        found += [card] * text[at + card - 1]
    assert text[at + CARDS - 1] == 0
    return found, at + CARDS
