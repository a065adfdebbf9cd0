"""Models with random weights, and positions to try them on, for tests."""

import math
import random
import struct

from engine.features import SCALE, Features
from engine.model import STRETCH, Model
from engine.net import shapes
from engine.position import Position


def has_features(game_class):
    """Whether something can be learned of a game."""
    return Features.of(game_class()) is not None


def random_model(game, seed, uses=None, most=500):
    """A model whose weights are random, up to `most` units; None: with all uses."""
    chance = random.Random(seed)
    features = Features.of(game)
    weights = {
        kind: {name: chance.randint(-most, most) for name in names}
        for kind, names in features.decisions.items()
    }
    uses = features.uses if uses is None else uses
    net = random_net(len(features.inputs), seed) if features.inputs else None
    return Model(game, weights, uses, net=net)


def calibrated(model):
    """The same model with a calibration: another shift at each moment."""
    shifts = {name: 10 + n for n, name in enumerate(model.features.moments)}
    numbers = {STRETCH: 5, **shifts}
    return Model(model.game, model.weights, model.uses, model.provenance, model.net, numbers)


def random_net(inputs, seed, most=100):
    """The layers of a net with random weights, up to `most`."""
    chance = random.Random(seed)
    return {
        name: [chance.randint(-most, most) for _ in range(rows * columns)]
        for name, (rows, columns) in shapes(inputs).items()
    }


def rows_of(features, position, seat):
    """The kind of a decision, and the features of each legal action; None for no choice."""
    if (found := features.rows(position, seat)) is None:
        return None
    kind, packed = found
    width = 2 * len(features.decisions[kind])
    return kind, [
        struct.unpack(f"{width // 2}h", packed[at : at + width])
        for at in range(0, len(packed), width)
    ]


def likelihoods(position, seat, model, sharpness=1):
    """How likely each legal action is, in proportion, by the weights of a model."""
    legal = position.legal(seat)
    if (found := rows_of(model.features, position, seat)) is None:
        return dict.fromkeys(legal, 1.0)
    kind, rows = found
    weights = model.weights[kind].values()
    sums = [sum(a * b for a, b in zip(row, weights, strict=True)) for row in rows]
    return {
        action: math.exp(sharpness * each / SCALE) for action, each in zip(legal, sums, strict=True)
    }


def shared(likely):
    """Likelihoods as probabilities."""
    whole = sum(likely.values())
    return {key: each / whole for key, each in likely.items()}


def positions(game, seed):
    """Yield the positions of a random match, the last one included."""
    chance = random.Random(seed)
    position = Position.deal(game, seed)
    while not position.over:
        yield position
        joint = {seat: chance.choice(position.legal(seat)) for seat in position.deciders}
        position = position.copy()
        position.apply(joint, chance.getrandbits(64))
    yield position
