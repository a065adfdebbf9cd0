"""The worlds that a sampler draws for a view are sound, complete and in proportion.

Sound: every drawn world would have shown the seat the same view. Complete and in proportion: on
small rulesets, very many random matches reach the same view, and their hidden things have the same
distribution as those of the worlds drawn for that view. In random matches both seats choose
uniformly among the legal actions, the case for which a sampler promises the right proportions.
"""

import os

import pytest

from engine.errors import ViewError
from engine.position import Position
from engine.sampler import Sampler
from lab import contract
from tests.support.long_form import LONG_FORM
from tests.support.play import cases, game_of

MATCHES = 8 if LONG_FORM else 1
STYLED_MATCHES = int(os.environ.get("TEST_PLAY_STYLES", "2"))
SIMULATED = 40_000 if LONG_FORM else 10_000


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_a_drawn_world_shows_the_seat_the_same(game_id, ruleset):
    game, facts = game_of(game_id, ruleset)
    contract.check_sound(game, range(MATCHES), conserved=facts.check_conserved)


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_a_world_does_not_depend_on_what_it_is_drawn_over(game_id, ruleset):
    contract.check_drawn_over(game_of(game_id, ruleset)[0], range(MATCHES))


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_every_view_of_a_match_has_worlds(game_id, ruleset):
    contract.check_habits(game_of(game_id, ruleset)[0], range(STYLED_MATCHES))


@pytest.mark.parametrize(("game_id", "ruleset"), cases("small_rulesets"))
def test_worlds_are_drawn_in_proportion(game_id, ruleset):
    game, facts = game_of(game_id, ruleset)

    def hidden(game, position, seat):
        return facts.hidden(game, position.fields, seat)

    assert contract.check_proportion(game, SIMULATED, hidden)


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_a_spectator_has_no_worlds(game_id, ruleset):
    game, _ = game_of(game_id, ruleset)
    with pytest.raises(ViewError) as error:
        Sampler.of(Position.deal(game, 0).view(2))
    assert error.value.field == "seat"
