"""Principals: the identities of callers, as limits count them."""

from contextvars import ContextVar
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """How a principal is known."""

    KEY = "key"  # By the API key of a front end.
    PLAYER = "player"  # By the name that a front end with a key gives its player.
    SUBJECT = "subject"  # By the subject of a signed token (JWT).
    SEAT = "seat"  # By the token of a seat that came with the call.
    ADDRESS = "address"  # By the address from which the call came.


class Principal(NamedTuple):
    """The identity of a caller, as limits count it. Equal principals share their budgets."""

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


NOBODY = Principal(Kind.ADDRESS, "")

# Of the call that the current task answers. Admission sets both.
current_principal: ContextVar[Principal] = ContextVar("current_principal", default=NOBODY)
# The principals whose budgets the call uses: its own, and that of its address or its API key.
current_payers: ContextVar[tuple[Principal, ...]] = ContextVar("current_payers", default=())
