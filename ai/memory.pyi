"""The types of the memory of the searches; ai/memory.pyx says what everything does."""

from typing import Self, final

@final
class Grant:
    refused: bool

class Account:
    bound: int
    @property
    def grow_bound(self) -> int: ...
    @property
    def held(self) -> int: ...
    def reserve(self, count: int, size: int, limit: int, most: int) -> list[Grant] | None: ...
    def grant(self) -> Grant: ...

account: Account

# For compiled code only.
@final
class Arena:
    def __new__(cls, grant: Grant | None = None) -> Self: ...

@final
class HashIndex: ...
