"""Fixtures of the tests of clients."""

import pytest


@pytest.fixture
def address(shared_server: tuple[object, str]) -> str:
    """The address of a server that tests share."""
    return shared_server[1]
