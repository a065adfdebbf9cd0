"""The log of a test of hosting: one of the three kinds, or in the long form each of them."""

import zlib

import pytest

from tests.support.long_form import LONG_FORM
from tests.support.stores import MemoryPlace, PostgresPlace, SqlitePlace

KINDS = ("memory", "sqlite", "postgresql")


@pytest.fixture(params=KINDS if LONG_FORM else ["a log"])
def place(request, tmp_path):
    """A place for a log. tests/service/store/ compares the kinds, so here the name draws one."""
    kind = request.param
    if not LONG_FORM:
        kind = KINDS[zlib.crc32(request.node.name.encode()) % len(KINDS)]
    if kind == "memory":
        return MemoryPlace()
    if kind == "sqlite":
        return SqlitePlace(tmp_path / "log")
    return PostgresPlace(request.getfixturevalue("postgres"))
