"""Runs tests that are coroutines; opens the logs, and starts the servers, that tests use."""

import asyncio
import inspect
from contextlib import AsyncExitStack

import pytest

from service.store import postgresql_connections
from tests.support.certificates import Authority
from tests.support.serving import starting
from tests.support.stores import opened
from tests.support.waiting import FOREVER


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs a test that is a coroutine on the event loop of its fixtures."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    runner = pyfuncitem._request.getfixturevalue("runner")
    names = pyfuncitem._fixtureinfo.argnames
    runner.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A database on a busy machine may take its time; a test of the limits sets its own."""
    for limit in ("CONNECT_SECONDS", "ANSWER_SECONDS"):
        monkeypatch.setattr(postgresql_connections, limit, FOREVER)


@pytest.fixture
def runner():
    """Runs coroutines of one test on one event loop."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def enter(runner):
    """Enters an asynchronous context, which ends with the test, and returns what it gives."""
    stack = AsyncExitStack()
    yield lambda context: runner.run(stack.enter_async_context(context))
    runner.run(stack.aclose())


@pytest.fixture
def store(enter, place):
    """A store of the log at a place, open."""
    return enter(opened(place))


@pytest.fixture
def start(servers):
    """Starts a server with options, and returns it with a client. Both end with the test."""
    with starting(servers) as start:
        yield start


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """An authority whose certificates tests trust."""
    return Authority(tmp_path_factory.mktemp("certificates"), "authority")
