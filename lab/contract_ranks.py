"""Checks the worlds of a sampler in matches of a usual ruleset: `croupier check-game`.

The truth and nine worlds that are drawn for its view are ten draws of one distribution, if the
sampler is right and both seats play at random. So whatever is counted in them, each rank of the
truth among the ten is as likely as the others. No view has to come up twice. Ranks tell what is
wrong with a Bayesian sampler: S. Talts et al., "Validating Bayesian Inference Algorithms with
Simulation-Based Calibration", 2018.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from random import Random

from engine.encoding import labels, numbers
from engine.game import SEATS, SPECTATOR, Game, SeatView
from engine.position import Position
from engine.sampler import Sampler
from lab.chi_squared import upper_tail
from lab.contract import Watch, random_joint, seeded

RANKS = 10  # The truth, and nine worlds.
LEAST = 100  # Views in which a quantity differs between the ten, so that it is tested.
AHEAD = 4  # The most decisions that are played on, to see what was in what order.
# Of a right sampler that is called wrong, all quantities together. The tail of the chi-squared
# distribution is too thin by some where ten are expected of a rank, so this is less than 1 in 10^4.
P = 1e-5
MATCHES_A_VIEW = 5  # At most: many are over at the step that was drawn.
WORST = 5  # Quantities that a failure names.

Values = tuple[float, ...]  # Of a quantity, in the truth and in each of the nine worlds.
# By the kind of an event, and the kind of card: how many of these the other seat has shown by it.
Shown = Counter[tuple[str, str]]


def check_ranks(game: Game, seed: int, views: int, watch: Watch = iter) -> str:
    """Checks the ranks of the truth in so many views, each of a random match of its own.

    Counted are the copies of each card, of each kind and of each number of cards at the hidden
    places; each field of the other seat's view; and each field of the seat's own view some
    decisions later. Returns what was tested.
    """
    rng = seeded("ranks", game.id, sorted(game.ruleset.items()), seed)
    length = _longest(game, rng)
    ranks: dict[str, list[int]] = defaultdict(lambda: [0] * RANKS)
    left = views
    for _ in watch(range(MATCHES_A_VIEW * views)):
        # The step is drawn before the match, whose length tells something about its cards.
        position, seat = Position.deal(game, rng.getrandbits(64)), rng.randrange(SEATS)
        shown = _watch(position, rng.randrange(length), seat, rng)
        if position.over:
            continue
        for name, values in _quantities(position, seat, shown, rng).items():
            less = sum(value < values[0] for value in values)
            ranks[name][less + rng.randrange(values.count(values[0]))] += 1
        left -= 1
        if not left:
            break
    tested = {name: of for name, of in ranks.items() if sum(of) >= LEAST}
    if not tested:
        return "NOT TESTED: nothing differs between the worlds of a view often enough"
    worst = sorted(tested, key=lambda name: _p(tested[name]))[:WORST]
    p = len(tested) * _p(tested[worst[0]])
    assert p > P, "\n    ".join(
        [
            f"worlds are not as likely as they should be (p = {p:.1e}). What differs most, with how"
            " often the truth had each rank among ten, from the lowest:",
            *(f"{name}: {tested[name]}, mean rank {_mean(tested[name]):.2f}" for name in worst),
        ]
    )
    return f"yes: {len(tested)} quantities, p = {min(p, 1):.2g} of {worst[0]}"


def _p(ranks: list[int]) -> float:
    # Of a right sampler: by how even the ranks are, or by their mean.
    expected = sum(ranks) / RANKS
    uneven = sum((count - expected) ** 2 for count in ranks) / expected
    aside = (_mean(ranks) - (RANKS - 1) / 2) ** 2 * sum(ranks) * 12 / (RANKS**2 - 1)
    return 2 * min(upper_tail(uneven, RANKS - 1), upper_tail(aside, 1))


def _mean(ranks: list[int]) -> float:
    return sum(rank * count for rank, count in enumerate(ranks)) / sum(ranks)


def _longest(game: Game, rng: Random) -> int:
    lengths = []
    for _ in range(20):
        position = Position.deal(game, rng.getrandbits(64))
        lengths.append(0)
        while not position.over:
            position.apply(random_joint(position, rng), rng.getrandbits(64))
            lengths[-1] += 1
    return max(lengths)


def _watch(position: Position, steps: int, seat: int, rng: Random) -> Shown:
    # Plays at random; returns the cards, hidden until then, in the events of the other seat.
    kinds = [card["kind"] for card in position.game.cards()]
    shown: Shown = Counter()
    hidden = _unseen(position, seat)
    for _ in range(steps):
        if position.over:
            break
        happened = position.apply(random_joint(position, rng), rng.getrandbits(64))
        before, hidden = hidden, _unseen(position, seat)
        gone = [card for card, copies in enumerate(before) if copies > hidden[card]]
        for event in happened:
            if event.seat == 1 - seat and event.seen_by(SPECTATOR):
                for card in gone:  # The rules number cards from 0 or from 1.
                    for first in (0, 1):
                        if card + first in event.values:
                            shown[f"{event.kind}" + " (from 1)" * first, kinds[card]] += 1
    return shown


def _unseen(position: Position, seat: int) -> list[int]:
    # The copies of each card that the seat does not see.
    return [*map(sum, zip(*position.hidden(seat).values(), strict=True))] or [0] * len(
        position.game.cards()
    )


def _play(position: Position, steps: int, rng: Random) -> None:
    for _ in range(steps):
        if not position.over:
            position.apply(random_joint(position, rng), rng.getrandbits(64))


def _quantities(position: Position, seat: int, shown: Shown, rng: Random) -> dict[str, Values]:
    # Those that are not the same in the truth and in nine worlds of its view.
    sampler = Sampler.of(position.view(seat))
    ten = [position.copy(), *(sampler.sample(rng.getrandbits(64)) for _ in range(RANKS - 1))]
    counted = [dict(_counts(world, seat, shown)) for world in ten]
    found: dict[str, Values] = {
        name: tuple(counts.get(name, 0) for counts in counted)
        for name in sorted(set().union(*counted))
    }
    found |= _fields("the other seat's view, ", [world.view(1 - seat) for world in ten])
    steps = rng.randint(1, AHEAD)
    for world in ten:
        _play(world, steps, rng)
    found |= _fields("the view some decisions later, ", [world.view(seat) for world in ten])
    return {name: values for name, values in found.items() if values.count(values[0]) < RANKS}


def _fields(what: str, views: list[SeatView]) -> dict[str, Values]:
    columns = zip(*(numbers(view.fields) for view in views), strict=True)
    return {
        f"{what}{label}": values
        for label, values in zip(labels(views[0].game), columns, strict=True)
    }


def _counts(world: Position, seat: int, shown: Shown) -> Iterator[tuple[str, float]]:
    cards = world.game.cards()
    for place, copies in world.hidden(seat).items():
        totals: dict[str, float] = defaultdict(int)
        for card, count in zip(cards, copies, strict=True):
            if count:
                yield f"{card['title']} at {place}", count
                totals[f"{card['kind']} at {place}"] += count
                for (event, kind), times in shown.items():
                    if kind == card["kind"]:
                        totals[f"cards of the kinds at {place} that {event} has shown"] += (
                            count * times
                        )
                for number, value in card["numbers"].items():
                    totals[f"the sum of {number} at {place}"] += count * value
        yield from totals.items()
