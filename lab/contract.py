"""Checks that a game fulfils the contract: `croupier check-game`, and the tests of our own games.

Each check plays random matches of one game under one ruleset, and raises AssertionError, with the
seed in its notes, where a property does not hold. engine/game.pxd and docs/adding-a-game.md say
what a game promises.
"""

import collections
import contextlib
import itertools
import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

from engine.errors import ActionError
from engine.game import SEATS, SPECTATOR, Game, SeatView
from engine.match import Match
from engine.playout_policy import PlayoutPolicy
from engine.position import Position
from engine.sampler import Sampler
from lab.chi_squared import compare, upper_tail

# Yields the numbers of matches, and tells somebody how far it is.
Watch = Callable[[range], Iterator[int]]

VIEWERS = (*range(SEATS), SPECTATOR)
CLOSELY = 0.2  # Of the states that are copied, restored and left by either seat first.
P = 4e-5  # Of a right sampler that is called wrong, by each of two tests.
LEGAL = "what is legal"
SHOWN = 6  # Differences that a failure names.

Joint = dict[int, int]
# Asserts that the fields of a state have each card of the ruleset in one place.
Conserved = Callable[[Game, dict[str, Any]], None]
# What a seat does not see in the fields of a state, as far as it makes a difference to play.
Hidden = Callable[[Game, Position, int], Hashable]


@contextlib.contextmanager
def note_on_failure(**what: object) -> Iterator[None]:
    """Adds these values, such as the seed, to the message of a failure, to reproduce it."""
    try:
        yield
    except Exception as error:
        error.add_note(", ".join(f"{name}={value}" for name, value in what.items()))
        raise


def check_same(what: str, expected: object, found: object) -> None:
    """Raises AssertionError, with where and how they differ, unless two values are equal."""
    if expected != found:
        where = [*itertools.islice(_differences(expected, found, ""), SHOWN)]
        raise AssertionError("\n    ".join([f"{what} differs:", *where]))


def brief(fields: Any) -> Any:
    """Returns fields without what is 0, and lists without the zeros at their end."""
    if isinstance(fields, Mapping):
        short = {name: brief(value) for name, value in fields.items()}
        return {name: value for name, value in short.items() if value or name == "seat"}
    if isinstance(fields, list):
        items = [brief(value) for value in fields]
        while items and not items[-1]:
            items.pop()
        return items
    return fields


def _differences(expected: Any, found: Any, path: str) -> Iterator[str]:
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for name in {**expected, **found}:
            yield from _differences(expected.get(name), found.get(name), f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for place, pair in enumerate(zip(expected, found, strict=True)):
            yield from _differences(*pair, f"{path}[{place}]")
    elif expected != found:
        yield f"{path.removeprefix('.')}{': ' * bool(path)}{expected}, and {found}"


def random_joint(position: Position, rng: random.Random) -> Joint:
    """Returns a legal action for each decider, by seat."""
    return {seat: rng.choice(position.legal(seat)) for seat in position.deciders}


def random_secret(rng: random.Random) -> bytes:
    """Returns the secret of a match."""
    return rng.randbytes(32)


def seeded(*seeds: object) -> random.Random:
    """Returns the generator of this combination of seeds and names."""
    return random.Random("/".join(map(str, seeds)))


def _rng(game: Game, what: str, seed: int) -> random.Random:
    return seeded(what, game.id, sorted(game.ruleset.items()), seed)


def _nothing(game: Game, fields: dict[str, Any]) -> None:
    pass


# Rules


def check_matches(
    game: Game, seeds: Iterable[int], longest: int = 1000, conserved: Conserved = _nothing
) -> set[tuple[float, float]]:
    """Checks every state of random matches; returns the scores with which they ended.

    Legal actions are ascending and distinct, and only of seats that owe a decision; matches, states
    and views can be written and restored; neither a held action nor the order of two shows; each
    reader gets the same events, in full or without hidden values; a match ends within `longest`
    joint actions, with scores that add up to 1; a replay gives the same match.
    """
    choices = 0
    ends = set()
    for seed in seeds:
        with note_on_failure(seed=seed):
            rng = _rng(game, "matches", seed)
            match = Match(game, random_secret(rng), "random")
            _check_events(match.events)
            steps: list[tuple[Match, Joint]] = [(match.copy(), {})]
            while not match.over:
                conserved(game, match.position.fields)
                legal = _check_legal(match)
                joint = {seat: rng.choice(legal[seat]) for seat in match.deciders}
                choices += any(len(actions) > 1 for actions in legal)
                order = rng.sample(sorted(joint), len(joint))
                if rng.random() < CLOSELY:
                    _check_bytes(match)
                    events = _apply_closely(match, joint, order)
                else:
                    events = [match.apply(seat, joint[seat]) for seat in order][-1]
                _check_events(events)
                steps.append((match.copy(), joint))
                assert len(steps) <= longest + 1, "the match does not end"
            conserved(game, match.position.fields)
            assert match.deciders == () and match.legal(0) == match.legal(1) == ()
            scores = match.scores
            _check_reading(match.position)
            assert scores and sum(scores) == 1, f"the scores {scores} do not add up to 1"
            assert all(0 <= score <= 1 for score in scores), f"the scores {scores} are not 0 to 1"
            ends.add(scores)
            _check_replay(steps)
    assert choices, "no seat ever has a choice"
    return ends


def _check_legal(match: Match) -> list[tuple[int, ...]]:
    assert match.scores is None
    both = [match.legal(seat) for seat in range(SEATS)]
    for seat, legal in enumerate(both):
        assert bool(legal) == (seat in match.deciders), "exactly the deciders have actions"
        assert all(a < b for a, b in itertools.pairwise(legal)), "ascending and distinct"
        assert 0 not in legal
        assert len(legal) <= match.game.most_legal, "no more actions than Game.most_legal"
    return both


def _check_bytes(match: Match) -> None:
    position = match.position
    _check_reading(position)
    assert Match.from_bytes(match.game, bytes(match)) == match
    assert Position.from_fields(position.game, position.fields) == position
    for viewer in VIEWERS:
        view = position.view(viewer)
        assert view.seat == viewer
        assert SeatView.from_fields(match.game, view.fields) == view


def _check_reading(position: Position) -> None:
    before = bytes(position)
    for what, read in (
        ("deciders", lambda _: position.deciders),
        ("legal", position.legal),
        ("outcome", lambda _: position.scores),
        ("view", position.view),
        ("hidden", position.hidden),
        ("root_key", position.root_key),
    ):
        for viewer in VIEWERS if what == "view" else range(SEATS):
            first, again = read(viewer), read(viewer)
            fields = position.game.read_state(before)
            check_same(f"the state before and after {what}", fields, position.fields)
            assert first == again, f"{what} is not the same twice"


def _apply_closely(match: Match, joint: Joint, order: list[int]) -> list[Any]:
    # Checks that neither a held action nor the order shows.
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
        _check_refused(match, seat, joint[seat])
        assert bytes(match) == held
    events = match.apply(order[-1], joint[order[-1]])
    assert bytes(start) == frozen, "a copy is independent"
    other = start.copy()
    others = [other.apply(seat, joint[seat]) for seat in reversed(order)]
    assert other == match and others[-1] == events, "the order of the two does not matter"
    return events


def _check_refused(match: Match, seat: int, action: int) -> None:
    try:
        match.apply(seat, action)
    except ActionError as error:
        assert error.rule
    else:
        raise AssertionError(f"action {action} of seat {seat} was not refused")


def _check_events(events: list[Any]) -> None:
    # All readers get the same events once each, in full or without hidden values.
    readings = [[event for event in events if event.seen_by(viewer)] for viewer in VIEWERS]
    record = [event for event in events if event.recorded]
    public = readings[SPECTATOR]
    for reading in readings:
        assert list(map(_what, reading)) == list(map(_what, record))
        for event, full, short in zip(reading, record, public, strict=True):
            assert event.values in (full.values, short.values)
    for mine, yours, short in zip(readings[0], readings[1], public, strict=True):
        assert short.values in (mine.values, yours.values), "a spectator sees what both see"


def _what(event: Any) -> tuple[str, int]:
    return event.kind.removesuffix("_hidden"), event.seat


def _check_replay(steps: list[tuple[Match, Joint]]) -> None:
    first = steps[0][0]
    match = Match(type(first.game)(first.game.ruleset), first.secret, first.match_id)
    for expected, joint in steps:
        for seat, action in joint.items():
            match.apply(seat, action)
        check_same("the state of a replay", expected.position.fields, match.position.fields)
        assert bytes(match) == bytes(expected), "a replay is the same match"


def check_refusals(game: Game, seeds: Iterable[int]) -> None:
    """Checks that an action that is not legal is refused and changes nothing."""
    seen: set[int] = set()
    refused = 0
    for seed in seeds:
        with note_on_failure(seed=seed):
            rng = _rng(game, "refused", seed)
            match = Match(game, random_secret(rng))
            while True:
                before = bytes(match)
                for action in rng.sample(sorted(seen), min(len(seen), 10)):
                    for seat in range(SEATS):
                        if action not in match.legal(seat):
                            _check_refused(match, seat, action)
                            refused += 1
                assert bytes(match) == before
                if match.over:
                    break
                for seat, action in random_joint(match.position, rng).items():
                    seen.add(action)
                    match.apply(seat, action)
    assert refused, "no action was ever refused"


def check_actions(game: Game, seeds: Iterable[int]) -> None:
    """Checks that every legal action can be read as fields and made from them."""
    for seed in seeds:
        with note_on_failure(seed=seed):
            rng = _rng(game, "actions", seed)
            position = Position.deal(game, seed)
            while not position.over:
                for seat in position.deciders:
                    for action in position.legal(seat):
                        assert game.make_action(game.read_action(action)) == action
                position.apply(random_joint(position, rng), seed)


# Secrecy


def check_secrets(game: Game, seeds: Iterable[int]) -> None:
    """Checks that neither the secret of a match nor a held decision shows in a view."""
    for seed in seeds:
        with note_on_failure(seed=seed):
            rng = _rng(game, "secrets", seed)
            match = Match(game, random_secret(rng))
            while not match.over:
                data = bytes(match)
                assert data.count(match.secret) == 1
                other = Match.from_bytes(game, data.replace(match.secret, random_secret(rng)))
                for viewer in VIEWERS:
                    assert bytes(other.view(viewer)) == bytes(match.view(viewer))
                assert all(other.legal(seat) == match.legal(seat) for seat in range(SEATS))
                joint = random_joint(match.position, rng)
                if len(joint) == SEATS:
                    _check_held(match, rng)
                for seat, action in joint.items():
                    match.apply(seat, action)


def check_unseen_order(game: Game, seeds: Iterable[int]) -> None:
    """Checks that what is drawn again, since nobody has seen its order, shows in no view."""
    changed = 0
    for seed in seeds:
        with note_on_failure(seed=seed):
            rng = _rng(game, "unseen", seed)
            position = Position.deal(game, rng.getrandbits(64))
            while not position.over:
                again = Match(game, random_secret(rng), "", 0, position).position
                changed += bytes(again) != bytes(position)
                for viewer in VIEWERS:
                    assert bytes(again.view(viewer)) == bytes(position.view(viewer))
                for seat in range(SEATS):
                    assert again.hidden(seat) == position.hidden(seat)
                position = again
                position.apply(random_joint(position, rng), rng.getrandbits(64))
    assert game.unseen_order or not changed, "a game with shuffle_unseen sets unseen_order"


def _check_held(match: Match, rng: random.Random) -> None:
    first = rng.randrange(SEATS)
    held = []
    for action in rng.choices(match.legal(first), k=2):
        branch = match.copy()
        branch.apply(first, action)
        shown = [branch.view(viewer) for viewer in VIEWERS]
        held.append([*shown, branch.version, branch.since[1 - first], branch.legal(1 - first)])
    assert held[0] == held[1], "a held decision shows"


# Sampling


def check_sound(
    game: Game, seeds: Iterable[int], worlds: int = 8, conserved: Conserved = _nothing
) -> None:
    """Checks that every world that is drawn would have shown the seat its view."""
    for seed in seeds:
        with note_on_failure(seed=seed):
            rng = _rng(game, "sound", seed)
            match = Match(game, random_secret(rng))
            while True:
                position = match.position
                for seat in range(SEATS):
                    view = position.view(seat)
                    sampler = Sampler.of(view)
                    for n in range(worlds):
                        world = sampler.sample(n)
                        _check_world(position, world, seat)
                        assert world == sampler.sample(n), "a seed draws one world"
                        conserved(game, world.fields)
                if match.over:
                    break
                for seat, action in random_joint(position, rng).items():
                    match.apply(seat, action)


def _check_world(position: Position, world: Position, seat: int) -> None:
    for what, read in (
        ("the view", lambda of: of.view(seat)),
        ("who decides", lambda of: of.deciders),
        (LEGAL, lambda of: of.legal(seat)),
        ("root_key", lambda of: of.root_key(seat)),
        ("how many cards are hidden", lambda of: _hidden_cards(of, seat)),
        ("the view of spectators", lambda of: of.view(SPECTATOR)),
    ):
        expected, found = read(position), read(world)
        if expected != found:
            said = f"{what}, in the match and in a world drawn for seat {seat},"
            with note_on_failure(seat=seat, view=brief(position.view(seat).fields)):
                check_same(said, *(in_fields(world.game, what, of) for of in (expected, found)))
                raise AssertionError(f"{said} differs in bytes that no field shows")


def in_fields(game: Game, what: str, told: Any) -> Any:
    """Returns what is told as somebody can read it: views and legal actions as fields."""
    if isinstance(told, SeatView):
        return told.fields
    return [game.read_action(each) for each in told] if what == LEGAL else told


def _hidden_cards(position: Position, seat: int) -> int:
    return sum(map(sum, position.hidden(seat).values()))


def check_policy(game: Game, seeds: Iterable[int], worlds: int = 6) -> None:
    """Checks that the playout policy of a game chooses legal actions by what a seat knows."""
    policy = PlayoutPolicy.of(game)
    for seed in seeds:
        with note_on_failure(seed=seed):
            rng = _rng(game, "policy", seed)
            position = Position.deal(game, seed)
            while not position.over:
                for seat in position.deciders:
                    drawn = rng.getrandbits(64)
                    action = policy.action(position, seat, drawn)
                    assert action in position.legal(seat), "the policy chooses a legal action"
                    chosen = game.read_action(action)
                    sampler = Sampler.of(position.view(seat))
                    for n in range(worlds):
                        other = game.read_action(policy.action(sampler.sample(n), seat, drawn))
                        with note_on_failure(seat=seat, view=brief(position.view(seat).fields)):
                            check_same("the choice in two worlds with the same view", chosen, other)
                position.apply(random_joint(position, rng), rng.getrandbits(64))


def check_drawn_over(game: Game, seeds: Iterable[int]) -> None:
    """Checks that a world does not depend on the state that it is drawn over."""
    for seed in seeds:
        with note_on_failure(seed=seed):
            rng = _rng(game, "over", seed)
            positions = [Position.deal(game, seed)]
            while not positions[-1].over:
                positions.append(positions[-1].copy())
                positions[-1].apply(random_joint(positions[-2], rng), rng.getrandbits(64))
            for n, position in enumerate(positions):
                sampler = Sampler.of(position.view(n % SEATS))
                earlier = rng.choice(positions).copy()
                assert sampler.sample(n, earlier) == sampler.sample(n)


def check_habits(game: Game, seeds: Iterable[int]) -> None:
    """Checks that every view has worlds, also where seats play by a habit.

    Seats that often play the first or the last legal action reach positions that uniform play does
    not: long memories, full hands, empty piles.
    """
    for seed in seeds:
        with note_on_failure(seed=seed):
            rng = _rng(game, "habit", seed)
            fraction = rng.random()  # Of the decisions that follow the habit.
            position = Position.deal(game, seed)
            while not position.over:
                for seat in position.deciders:
                    Sampler.of(position.view(seat))
                joint = random_joint(position, rng)
                for seat in joint:
                    if rng.random() < fraction:
                        joint[seat] = position.legal(seat)[-rng.randrange(2)]
                position.apply(joint, rng.getrandbits(64))


def hidden_cards(game: Game, position: Position, seat: int) -> Hashable:
    """Returns the copies of each card at the hidden places of a game, as `seat` names them."""
    return tuple((place, tuple(cards)) for place, cards in position.hidden(seat).items())


def check_proportion(
    game: Game,
    matches: int,
    hidden: Hidden = hidden_cards,
    steps: int = 6,
    most_views: int = 30,
    least: int = 40,
    drawn: int = 4,
    seed: int = 0,
    watch: Watch = iter,
) -> int:
    """Checks that worlds are drawn completely and in proportion; returns how many views it tested.

    Many random matches reach the same view, and their hidden things have the same distribution as
    those of the worlds drawn for it. Tested are, after each number of joint actions below `steps`,
    the `most_views` most frequent views, those of several worlds first, as far as they came up
    `least` times, against `drawn` worlds for each time.
    """
    rng = _rng(game, "proportion", seed)
    seen: list[Any] = [collections.defaultdict(collections.Counter) for _ in range(steps)]
    for _ in watch(range(matches)):
        # One state of each match and one seat, so that the samples are independent.
        position = Position.deal(game, rng.getrandbits(64))
        step, seat = rng.randrange(steps), rng.randrange(SEATS)
        for _ in range(step):
            if not position.over:
                position.apply(random_joint(position, rng), rng.getrandbits(64))
        seen[step][position.view(seat)][hidden(game, position, seat)] += 1
    tested = [
        (step, view, worlds)
        for step, views in enumerate(seen)
        for view, worlds in sorted(views.items(), key=_rank)[:most_views]
        if worlds.total() >= least
    ]
    if not any(len(worlds) > 1 for _, _, worlds in tested):
        return 0
    total, freedom = 0.0, 0
    for step, view, worlds in tested:
        with note_on_failure(step=step, view=brief(view.fields)):
            counted = count_worlds(Sampler.of(view), drawn * worlds.total(), rng, hidden)
            for world, n in worlds.items():
                assert n <= 5 or world in counted, f"never drawn, but {n} times in matches: {world}"
            statistic, degrees = compare(worlds, counted)
            assert upper_tail(statistic, degrees) > P / len(tested), "\n    ".join(
                ["not in proportion: times in matches, and drawn for them"]
                + [
                    f"{n}, {counted[world] / drawn:.1f}: {world}"
                    for world, n in worlds.most_common(9)
                ]
            )
        total, freedom = total + statistic, freedom + degrees
    assert upper_tail(total, freedom) > P, "in proportion, all views together"
    return len(tested)


def _rank(seen: "tuple[SeatView, collections.Counter[Hashable]]") -> tuple[bool, int]:
    _, worlds = seen
    return len(worlds) == 1, -worlds.total()


def count_worlds(
    sampler: Sampler, draws: int, rng: random.Random, hidden: Hidden
) -> "collections.Counter[Hashable]":
    """Returns how often each hidden thing is drawn."""
    # A small ruleset has few different worlds, and reading them is slow: read each once.
    worlds = collections.Counter(bytes(sampler.sample(rng.getrandbits(64))) for _ in range(draws))
    counted: collections.Counter[Hashable] = collections.Counter()
    for world, n in worlds.items():
        position = Position.from_bytes(sampler.game, world)
        counted[hidden(sampler.game, position, sampler.seat)] += n
    return counted


# What a game says of itself


def check_description(game: Game) -> None:
    """Checks that a game describes itself and its cards, and that its ruleset is whole."""
    assert game.title and game.summary and game.rules_version >= 1
    assert len(game.seat_titles) == SEATS
    ids = [card["id"] for card in game.cards()]
    assert len(ids) == len(set(ids)), "the ids of the cards are distinct"
    for card in game.cards():
        assert set(card) - {"glyph"} == {"id", "title", "kind", "copies", "numbers", "text"}
        assert card["title"] and all(isinstance(n, int) for n in card["numbers"].values())
    assert type(game)(game.ruleset).ruleset == game.ruleset, "the ruleset is whole"
