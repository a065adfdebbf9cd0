"""Fixtures of the tests of clients."""

from collections.abc import Iterator

import pytest

from croupier.client import HINT_POLICIES, Client, NewMatch
from tests.support.waiting import FOREVER


@pytest.fixture
def address(shared_server: tuple[object, str]) -> str:
    """The address of a server that tests share."""
    return shared_server[1]


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address, timeout=FOREVER) as client:
        yield client


@pytest.fixture
def match(client: Client) -> NewMatch:
    allowed = HINT_POLICIES["allowed"]
    return client.create_match("champion_chess", seed=1, hint_policy=allowed)
