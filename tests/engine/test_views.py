"""No view, event or key of a seat depends on what the seat may not know."""

import collections

import pytest

from engine.errors import ActionError
from engine.match import Match
from engine.position import Position
from engine.sampler import Sampler
from tests.support.play import (
    VIEWERS,
    cases,
    game_of,
    note_on_failure,
    random_joint,
    random_secret,
    seeded,
)

MATCHES = 12
WORLDS = 60


def reading(events, viewer):
    """Return the events that a viewer reads. The order of events that only it sees is left out."""
    public = [event for event in events if event.seen_by(2)]
    private = [event for event in events if event.seen_by(viewer) and not event.seen_by(2)]
    return (
        [event for event in public if event.seat != viewer],
        [(event.kind, event.seat, sorted(event.values)) for event in private],
    )


@pytest.mark.parametrize(("game_id", "ruleset"), cases("small_rulesets"))
def test_what_happens_tells_a_seat_no_more_than_its_view(game_id, ruleset):
    """Worlds with equal views before and after an action give the seat equal events.

    Each world draws other chance for the action, too.
    """
    game, facts = game_of(game_id, ruleset)
    compared = 0
    for seed in range(MATCHES):
        rng = seeded("events", game_id, ruleset, seed)
        position = Position.deal(game, seed)
        while not position.over:
            joint = random_joint(position, rng)
            for seat in range(2):
                sampler = Sampler.of(position.view(seat))
                told_by_view = collections.defaultdict(list)
                for n in range(WORLDS):
                    world = sampler.sample(n)
                    try:
                        events = world.apply(joint, n)
                    except ActionError:
                        continue  # The action of the other seat is not legal in this world.
                    view = world.view(seat)
                    told_by_view[view].append(
                        (reading(events, seat), world.observe(pair(joint), seat))
                    )
                for view, all_told in told_by_view.items():
                    with note_on_failure(
                        seed=seed, seat=seat, view=facts.show_view(game, view.fields)
                    ):
                        assert all(one == all_told[0] for one in all_told)
                    compared += len(all_told) - 1
            position.apply(joint, seed)
    assert compared


def pair(joint):
    """Return a joint action as a pair, by seat."""
    return [joint.get(seat, 0) for seat in range(2)]


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_the_secret_of_the_match_is_in_no_view(game_id, ruleset):
    game, _ = game_of(game_id, ruleset)
    for seed in range(20):
        with note_on_failure(seed=seed):
            rng = seeded("secret", game_id, ruleset, seed)
            match = Match(game, random_secret(rng))
            while not match.over:
                data = bytes(match)
                assert data.count(match.secret) == 1
                other = Match.from_bytes(game, data.replace(match.secret, random_secret(rng)))
                assert other.secret != match.secret
                for viewer in VIEWERS:
                    assert bytes(other.view(viewer)) == bytes(match.view(viewer))
                assert all(other.legal(seat) == match.legal(seat) for seat in range(2))
                for seat, action in random_joint(match.position, rng).items():
                    match.apply(seat, action)


@pytest.mark.parametrize(("game_id", "ruleset"), cases("rulesets"))
def test_a_held_decision_is_in_no_view(game_id, ruleset):
    game, _ = game_of(game_id, ruleset)
    for seed in range(20):
        with note_on_failure(seed=seed):
            rng = seeded("held", game_id, ruleset, seed)
            match = Match(game, random_secret(rng))
            while not match.over:
                joint = random_joint(match.position, rng)
                if len(joint) == 2:
                    first = rng.randrange(2)
                    held = []
                    for action in rng.choices(match.legal(first), k=2):
                        branch = match.copy()
                        branch.apply(first, action)
                        held.append(
                            [branch.view(viewer) for viewer in VIEWERS]
                            + [branch.version, branch.since[1 - first], branch.legal(1 - first)]
                        )
                    assert held[0] == held[1]
                for seat, action in joint.items():
                    match.apply(seat, action)
