"""The types of the principal lines; ai/principal_lines.pyx says what everything does."""

from collections.abc import Sequence
from typing import Self

from ai.search import Search
from ai.worker import Stop

class PrincipalLines:
    def __new__(cls, search: Search) -> Self: ...
    def line(self, action: int) -> tuple[tuple[int, int], ...]: ...
    def compare(
        self, actions: Sequence[int], playouts: int, seconds: float = 0.0, stop: Stop | None = None
    ) -> tuple[int, list[float]]: ...
