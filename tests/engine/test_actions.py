"""What a game says of actions without listing them agrees with its lists."""

from collections import Counter

import pytest

from engine import games
from engine.position import Position
from engine.sampler import Sampler
from tests.games import facts_of
from tests.support.long_form import LONG_FORM
from tests.support.play import game_of, note_on_failure, random_joint, seeded

POSITIONS = 1_000 if LONG_FORM else 250
SHARE = 0.4  # The share of the positions of a match that are tested,
WORLDS = 6  # each with so many worlds.


@pytest.mark.parametrize("game_id", games())
def test_actions_are_known_without_a_list(game_id):
    # A search asks for what was legal in another world that fits the same view.
    facts, answers = facts_of(game_id), Counter()
    for ruleset in [*facts.rulesets, *facts.small_rulesets]:
        game, _ = game_of(game_id, ruleset)
        tested, seed = 0, 0
        while tested < POSITIONS:
            rng = seeded("actions", game_id, ruleset, seed)
            position = Position.deal(game, seed)
            with note_on_failure(ruleset=ruleset, seed=seed):
                while not position.over:
                    for seat in position.deciders if rng.random() < SHARE else ():
                        tested += 1
                        for viewer in range(2):
                            check_worlds(position, seat, viewer, rng, answers)
                    position.apply(random_joint(position, rng), rng.getrandbits(64))
            seed += 1
    if not game.reference:  # In the poker games, a hand makes no difference to the actions.
        assert min(answers.values()) > 20 and len(answers) == 4, answers


def check_worlds(position, seat, viewer, rng, answers):
    """Ask for the actions of a seat in worlds that are alike to a viewer."""
    sampler = Sampler.of(position.view(viewer))
    worlds = [position, *(sampler.sample(rng.getrandbits(64)) for _ in range(WORLDS))]
    listed = [world.legal(seat) for world in worlds]
    if seat == viewer:
        assert set(listed) == {listed[0]}
    for world, legal in zip(worlds, listed, strict=True):
        for action in set().union(*listed):
            assert world.is_legal(seat, action) == (action in legal), f"{action}, {world.fields}"
            answers["listed" if action in legal else "not listed"] += 1
        assert world.only_action(seat) == (legal[0] if len(legal) == 1 else 0), legal
        answers["only" if len(legal) == 1 else "several"] += 1
