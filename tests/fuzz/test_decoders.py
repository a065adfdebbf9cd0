"""The short form of the fuzzing of decoders. The long form, `make fuzz`, is guided by coverage."""

import os
import random

import pytest

from tests.fuzz.decoders import fuzz_plainly
from tests.fuzz.mutations import Mutator
from tests.fuzz.targets import TARGETS, Refused, Target, Views, read_message

SEED = int(os.environ.get("TEST_FUZZ_SEED", "1"))
RUNS = {"records": 40, "actions": 150, "tokens": 1500, "snapshots": 1500}
MOST = 800  # Executions of the other targets.


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_causes_a_fault(name):
    runs = RUNS.get(name, MOST)
    print(f"{name}: {runs} executions, seed {SEED}")
    fuzz_plainly(name, runs, SEED)


@pytest.mark.parametrize("name", TARGETS)
def test_valid_inputs_are_accepted(name):
    # Otherwise the fuzzing would stop at the first check.
    target = TARGETS[name]()
    accepted = total = 0
    for data in list(target.seeds())[::5]:
        total += 1
        try:
            target.run(data)
        except Refused:
            continue
        accepted += 1
    assert accepted > total / 2


def test_most_changed_messages_can_still_be_read():
    rng = random.Random(SEED)
    mutator = Mutator(rng)
    pool = list(Views().seeds())
    readable = 0
    for _ in range(300):
        data = mutator.mutate(Views.kind, rng.choice(pool), rng.choice(pool))
        try:
            Views.kind.FromString(data)
        except Exception:
            continue
        readable += 1
    assert readable > 200
    with pytest.raises(Refused):
        read_message(Views.kind, b"\xff")


class Faulty(Target):
    """Fails for one input in about a hundred."""

    def seeds(self):
        yield b"seed"

    def run(self, data):
        if data and data[0] == 127:
            raise IndexError("planted")


def test_a_planted_fault_is_found_and_kept(monkeypatch, tmp_path):
    monkeypatch.setitem(TARGETS, "faulty", Faulty)
    with pytest.raises(IndexError, match="planted") as caught:
        fuzz_plainly("faulty", 10_000, SEED, tmp_path)
    assert "faulty, seed" in caught.value.__notes__[0]
    (kept,) = tmp_path.iterdir()
    with pytest.raises(IndexError):
        Faulty().run(kept.read_bytes())
