"""The types of the principal lines; ai/principal_lines.pyx says what everything does."""

from typing import Self

from ai.search import Search

class PrincipalLines:
    def __new__(cls, search: Search) -> Self: ...
    def line(self, action: int) -> tuple[tuple[int, int], ...]: ...
