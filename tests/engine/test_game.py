"""Properties of every state of every game under every option, over random matches."""

import os

import pytest

from engine import games
from engine.match import Match
from engine.position import Position
from lab import contract
from tests.games import facts_of
from tests.support.play import cases, game_of, note_on_failure, random_joint, seeded

MATCHES = int(os.environ.get("TEST_MATCHES", "8"))


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_random_matches(game_id, ruleset):
    game, facts = game_of(game_id, ruleset)
    ends = contract.check_matches(game, range(MATCHES), facts.longest, facts.check_conserved)
    assert len(ends) > 1 or ruleset != "default", "all matches end alike"


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_a_refused_action_changes_nothing(game_id, ruleset):
    game, _ = game_of(game_id, ruleset)
    contract.check_refusals(game, range(max(MATCHES // 4, 5)))


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_actions_are_read_and_made_alike(game_id, ruleset):
    game, facts = game_of(game_id, ruleset)
    seeds = range(max(MATCHES // 8, 5))
    contract.check_actions(game, seeds)
    for seed in seeds:
        with note_on_failure(seed=seed):
            rng = seeded("texts", game_id, ruleset, seed)
            position = Position.deal(game, seed)
            while not position.over:
                for seat in position.deciders:
                    for action in position.legal(seat):
                        text = facts.show_action(game, game.read_action(action))
                        again = facts.read_action(position, seat, text)
                        assert game.make_action(again) == action, text
                position.apply(random_joint(position, rng), seed)


@pytest.mark.parametrize("game_id", games())
def test_chance_depends_on_the_secret_the_match_and_the_version(game_id):
    game, _ = game_of(game_id, next(iter(facts_of(game_id).rulesets)))
    secrets = [bytes([n]) * 32 for n in range(20)]
    assert len({bytes(Match(game, secret, "m").position) for secret in secrets}) > 1
    assert len({bytes(Match(game, secrets[0], f"m{n}").position) for n in range(20)}) > 1


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_a_game_describes_itself(game_id, ruleset):
    contract.check_description(game_of(game_id, ruleset)[0])
