"""Principals: who calls, as limits count it."""

from contextvars import ContextVar
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """How a principal is known."""

    KEY = "key"  # By the API key of a front end.
    PLAYER = "player"  # By the name that a front end with a key gives its player.
    SUBJECT = "subject"  # By the subject of a signed token (JWT).
    MATCH = "match"  # By the match of the token that came with the call.
    ADDRESS = "address"  # By the address from which the call came.


class Principal(NamedTuple):
    """Who calls, as limits count it. Equal principals share their budgets."""

    kind: Kind
    name: str


NOBODY = Principal(Kind.ADDRESS, "")

# Of the call that the current task answers; the interceptor sets it.
current_principal: ContextVar[Principal] = ContextVar("current_principal", default=NOBODY)
