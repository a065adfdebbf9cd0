"""Properties of every state of every game under every option, over random matches."""

import itertools
import os

import pytest

from engine import games
from engine.errors import ActionError
from engine.game import SeatView
from engine.match import Match
from engine.position import Position
from tests.games import facts_of
from tests.support.play import (
    VIEWERS,
    cases,
    game_of,
    note_on_failure,
    random_joint,
    random_secret,
    seeded,
)

MATCHES = int(os.environ.get("TEST_MATCHES", "40"))
CLOSELY = 0.2  # The share of states that are copied, restored and left by either seat first.


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_random_matches(game_id, ruleset):
    game, facts = game_of(game_id, ruleset)
    choices = 0
    scores = set()
    for seed in range(MATCHES):
        with note_on_failure(seed=seed):
            rng = seeded(game_id, ruleset, seed)
            match = Match(game, random_secret(rng), "random")
            check_events(match.events)
            steps = [(match.copy(), {})]
            while not match.over:
                facts.check_conserved(game, match.position.fields)
                legal = check_legal(match)
                joint = {seat: rng.choice(legal[seat]) for seat in match.deciders}
                choices += any(len(actions) > 1 for actions in legal)
                order = rng.sample(sorted(joint), len(joint))
                if rng.random() < CLOSELY:
                    check_bytes(match)
                    events = apply_closely(match, joint, order)
                else:
                    events = [match.apply(seat, joint[seat]) for seat in order][-1]
                check_events(events)
                steps.append((match.copy(), joint))
                assert len(steps) <= facts.longest + 1, "the match does not end"
            check_end(match, facts)
            scores.add(match.scores)
            check_replay(steps)
    assert choices and len(scores) > 1


def check_legal(match):
    """Check that exactly the deciders have legal actions, in order. Return those of both seats."""
    assert match.scores is None
    both = [match.legal(seat) for seat in range(2)]
    for seat, legal in enumerate(both):
        assert bool(legal) == (seat in match.deciders)
        assert all(a < b for a, b in itertools.pairwise(legal)), "sorted and distinct"
        assert 0 not in legal
    return both


def check_bytes(match):
    """Check that a match, a state and a view can be written and restored."""
    position = match.position
    assert Match.from_bytes(match.game, bytes(match)) == match
    assert Position.from_fields(position.game, position.fields) == position
    for viewer in VIEWERS:
        view = position.view(viewer)
        assert view.seat == viewer
        assert SeatView.from_fields(match.game, view.fields) == view


def check_end(match, facts):
    """Check the properties of a match that is over."""
    facts.check_conserved(match.game, match.position.fields)
    assert match.deciders == () and match.legal(0) == match.legal(1) == ()
    assert sum(match.scores) == 1 and all(0 <= score <= 1 for score in match.scores)


def apply_closely(match, joint, order):
    """Apply a joint action, and check that neither a held action nor the order shows."""
    before = [match.view(viewer) for viewer in VIEWERS]
    since = list(match.since)
    start = match.copy()
    frozen = bytes(start)
    for seat in order[:-1]:
        assert match.apply(seat, joint[seat]) == []
        assert [match.view(viewer) for viewer in VIEWERS] == before
        assert match.since[1 - seat] == since[1 - seat], "the other seat's view has not changed"
        assert match.legal(seat) == () and seat not in match.deciders
        assert Match.from_bytes(match.game, bytes(match)) == match, "what is held is kept"
        held = bytes(match)
        with pytest.raises(ActionError):
            match.apply(seat, joint[seat])
        assert bytes(match) == held
    events = match.apply(order[-1], joint[order[-1]])
    assert bytes(start) == frozen, "a copy is independent"
    other = start.copy()
    others = [other.apply(seat, joint[seat]) for seat in reversed(order)]
    assert other == match and others[-1] == events, "the order of the two does not matter"
    return events


def check_events(events):
    """Check that all readers get the same events once each, in full or without hidden values."""
    readings = [[event for event in events if event.seen_by(viewer)] for viewer in VIEWERS]
    record = [event for event in events if event.recorded]
    public = readings[2]
    for reading in readings:
        assert list(map(what, reading)) == list(map(what, record))
        for event, full, short in zip(reading, record, public, strict=True):
            assert event.values in (full.values, short.values)
    for mine, yours, short in zip(readings[0], readings[1], public, strict=True):
        assert short.values in (mine.values, yours.values), "a spectator sees what both see"


def what(event):
    """Return the part of an event that is the same for all readers."""
    return event.kind.removesuffix("_hidden"), event.seat


def check_replay(steps):
    """Check that the same ruleset, secret and actions give the same match."""
    first = steps[0][0]
    match = Match(type(first.game)(first.game.ruleset), first.secret, first.match_id)
    for expected, joint in steps:
        for seat, action in joint.items():
            match.apply(seat, action)
        assert bytes(match) == bytes(expected)


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_a_refused_action_changes_nothing(game_id, ruleset):
    game, _ = game_of(game_id, ruleset)
    seen = set()
    refused = 0
    for seed in range(max(MATCHES // 4, 10)):
        with note_on_failure(seed=seed):
            rng = seeded("refused", game_id, ruleset, seed)
            match = Match(game, random_secret(rng))
            while True:
                before = bytes(match)
                for action in rng.sample(sorted(seen), min(len(seen), 10)):
                    for seat in range(2):
                        if action not in match.legal(seat):
                            with pytest.raises(ActionError) as error:
                                match.apply(seat, action)
                            assert error.value.rule
                            refused += 1
                assert bytes(match) == before
                if match.over:
                    break
                for seat, action in random_joint(match.position, rng).items():
                    seen.add(action)
                    match.apply(seat, action)
    assert refused


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_actions_are_read_and_made_alike(game_id, ruleset):
    game, facts = game_of(game_id, ruleset)
    for seed in range(max(MATCHES // 8, 5)):
        with note_on_failure(seed=seed):
            rng = seeded("actions", game_id, ruleset, seed)
            position = Position.deal(game, seed)
            while not position.over:
                for seat in position.deciders:
                    for action in position.legal(seat):
                        fields = game.read_action(action)
                        assert game.make_action(fields) == action
                        text = facts.show_action(game, fields)
                        again = facts.read_action(position, seat, text)
                        assert game.make_action(again) == action, text
                position.apply(random_joint(position, rng), seed)


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_the_ruleset_is_whole(game_id, ruleset):
    game, _ = game_of(game_id, ruleset)
    assert type(game)(game.ruleset).ruleset == game.ruleset


@pytest.mark.parametrize("game_id", games())
def test_chance_depends_on_the_secret_the_match_and_the_version(game_id):
    game, _ = game_of(game_id, next(iter(facts_of(game_id).rulesets)))
    secrets = [bytes([n]) * 32 for n in range(20)]
    assert len({bytes(Match(game, secret, "m").position) for secret in secrets}) > 1
    assert len({bytes(Match(game, secrets[0], f"m{n}").position) for n in range(20)}) > 1


@pytest.mark.parametrize("game_id", games())
def test_a_game_describes_itself(game_id):
    game = games()[game_id]()
    assert game.title and game.summary and game.rules_version >= 1
    assert len(game.seat_titles) == 2
    for card in game.cards():
        assert set(card) == {"id", "title", "kind", "copies", "numbers", "text"}
        assert card["title"] and all(isinstance(n, int) for n in card["numbers"].values())
