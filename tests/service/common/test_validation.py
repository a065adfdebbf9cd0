"""Compiled rules: what they find valid, protovalidate finds valid too."""

import pytest
from google.protobuf.message import DecodeError
from protovalidate import EvaluationError, Validator

from croupier.v1 import game_pb2, match_pb2
from engine.match import Match
from engine.position import Position
from service import wire
from service.common.validation import first_violation, is_surely_valid
from tests.fuzz.mutations import Mutator
from tests.support.play import note_on_failure, random_joint, random_secret, seeded

NAME = "matches/aaaaaaaaaaaaaaaaaaaaaaaaaa"
MUTATIONS = 60  # Of each message.
VALIDATOR = Validator()


def is_valid(message):
    try:
        return not VALIDATOR.collect_violations(message, fail_fast=True)
    except EvaluationError:
        return False


def submissions(game_id):
    """Valid requests to decide, of all kinds of a match."""
    rng = seeded("submissions", game_id)
    match = Match(wire.hosted_games()[game_id](), random_secret(rng))
    while not match.over:
        seat = match.deciders[0]
        action = rng.choice(match.legal(seat))
        yield match_pb2.SubmitActionRequest(
            name=NAME,
            expected_version=match.version,
            action=wire.write_action(match.game, action),
            request_id=f"{NAME}-{match.version}",
        )
        match.apply(seat, action)


def views(game_id):
    """Views of a match, each as its seats and spectators see it."""
    rng = seeded("validation", game_id)
    position = Position.deal(wire.hosted_games()[game_id](), rng.getrandbits(64))
    while not position.over:
        position.apply(random_joint(position, rng), rng.getrandbits(64))
        for viewer in range(3):
            view = game_pb2.View.FromString(wire.write_view(position.game, position.view(viewer)))
            view.ruleset.CopyFrom(game_pb2.Ruleset(**{game_id: {}}))
            yield view


@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_an_action_of_a_player_is_surely_valid(game_id):
    for request in submissions(game_id):
        assert is_surely_valid(request)
        assert first_violation(request) is None


@pytest.mark.parametrize("make", [submissions, views])
@pytest.mark.parametrize("game_id", wire.hosted_games())
def test_what_is_surely_valid_breaks_no_rule(game_id, make):
    rng = seeded("validation", game_id, make.__name__)
    mutator = Mutator(rng)
    messages = list(make(game_id))[:40]
    sure = broken = 0
    for message in messages:
        kind, data = type(message), message.SerializeToString()
        for _ in range(MUTATIONS):
            other = rng.choice(messages).SerializeToString()
            try:
                changed = kind.FromString(mutator.mutate(kind, data, other))
            except DecodeError:
                continue
            valid = is_valid(changed)
            broken += not valid
            if is_surely_valid(changed):
                sure += 1
                with note_on_failure(game=game_id, message=changed):
                    assert valid
    assert sure > MUTATIONS
    assert broken > MUTATIONS
