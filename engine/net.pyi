"""The types of a net; engine/net.pyx says what everything does."""

from collections.abc import Mapping, Sequence

LEAST_HALF_WIDTH: float
MOST: int
SCALES: dict[str, int]

def shapes(inputs: int) -> dict[str, tuple[int, int]]: ...

class Net:
    inputs: int
    def __init__(self, inputs: int, layers: Mapping[str, Sequence[int]]) -> None: ...
    def outputs(self, values: Sequence[int]) -> list[int]: ...
