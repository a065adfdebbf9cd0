"""The net of whole numbers gives what its docstring says, computed in another way."""

import random

import pytest

from engine.net import MOST, SCALES, Net, shapes
from tests.support.models import random_net

NETS = 30


def clipped(x):
    return min(SCALES["first"], max(0, x))


def as_written(inputs, layers, values):
    """The outputs, row by row in plain Python; sums of the first layer have 16 bits."""

    def row(name, i):
        columns = shapes(inputs)[name][1]
        return layers[name][i * columns : (i + 1) * columns]

    sums = list(layers["first_bias"])
    for i, value in enumerate(values):
        sums = [a + value * b for a, b in zip(sums, row("first", i), strict=True)]
    first = [clipped((each + (1 << 15)) % (1 << 16) - (1 << 15)) for each in sums]
    second = [
        clipped((bias + sum(a * b for a, b in zip(first, row("second", i), strict=True))) >> 6)
        for i, bias in enumerate(layers["second_bias"])
    ]
    outputs = [
        bias + sum(a * b for a, b in zip(second, row("output", i), strict=True))
        for i, bias in enumerate(layers["output_bias"])
    ]
    outputs[0] += sum(a * b for a, b in zip(layers["direct"], values, strict=True))
    return outputs


@pytest.mark.parametrize("most", [3, 100, MOST])
def test_outputs_are_those_of_a_naive_computation(most):
    for seed in range(NETS):
        chance = random.Random(seed)
        inputs = chance.randrange(1, 200)
        layers = random_net(inputs, seed, most)
        net = Net(inputs, layers)
        assert net.inputs == inputs
        for _ in range(5):
            values = [chance.choice((0, 0, 0, 1, 2, -3)) for _ in range(inputs)]
            assert net.outputs(values) == as_written(inputs, layers, values), seed


def test_what_is_no_net_is_refused():
    layers = random_net(4, 1)
    with pytest.raises(ValueError, match="the layers must be first, first_bias"):
        Net(4, {**layers, "third": []})
    with pytest.raises(ValueError, match="first must have 160 weights"):
        Net(5, layers)
    for wrong in (MOST + 1, -MOST - 1, 0.5, True):
        with pytest.raises(ValueError, match="of the layer direct is no whole number in range"):
            Net(4, {**layers, "direct": [0, 0, 0, wrong]})
