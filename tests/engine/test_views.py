"""No view, event or key of a seat depends on what the seat may not know."""

import pytest

from lab import contract, contract_leaks
from tests.support.long_form import LONG_FORM
from tests.support.play import cases, game_of

MATCHES = 12 if LONG_FORM else 5
SECRETS = 20


@pytest.mark.parametrize(("game_id", "ruleset"), cases("small_rulesets"))
def test_what_happens_tells_a_seat_no_more_than_its_view(game_id, ruleset):
    contract_leaks.check_leaks(game_of(game_id, ruleset)[0], range(MATCHES), 3)


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_neither_the_secret_of_a_match_nor_a_held_decision_is_in_a_view(game_id, ruleset):
    contract.check_secrets(game_of(game_id, ruleset)[0], range(SECRETS))


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_only_what_nobody_has_seen_is_drawn_again(game_id, ruleset):
    contract.check_unseen_order(game_of(game_id, ruleset)[0], range(SECRETS))
