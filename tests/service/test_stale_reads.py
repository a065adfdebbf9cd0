"""Servers that share a database show nothing stale, whatever delays one of them."""

import asyncio
import os
import random

import asyncpg
import pytest

from tests.support.staleness import read_while_paused, read_without_notifications

ROUNDS = 3 * int(os.environ.get("TEST_KILLS", "2"))
SEED = os.environ.get("TEST_SEED", "1")
CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE application_name = 'croupier listens'"
)


@pytest.fixture
def url(postgres):
    """The URL of a database of its own, in which all listening connections can be cut."""
    return postgres.url(postgres.new_schema())


@pytest.fixture
def pair(replicas, url):
    """Two servers that share a database."""
    pair = [replicas("--store", url), replicas("--store", url)]
    for replica in pair:
        replica.ready()
    return pair


def test_a_server_that_was_paused_shows_what_was_committed_meanwhile(pair):
    print("seed", SEED)
    assert read_while_paused(*pair, random.Random(SEED), ROUNDS) == []
    for replica in pair:
        replica.end_well()


def test_a_server_that_is_not_notified_shows_what_was_committed(pair, url):
    async def cut():
        connection = await asyncpg.connect(url)
        await connection.execute(CUT)
        await connection.close()

    assert read_without_notifications(*pair, lambda: asyncio.run(cut()), ROUNDS) == []
    for replica in pair:
        replica.end_well()
