"""A server with a web gateway for the tests that share one."""

import pytest

from service.gateway.listener import WebOptions
from tests.support.serving import Client, Servers, starting
from tests.support.web import Caller

PROTOCOLS = ("connect", "json", "grpc-web")
FRIEND = "https://friend.example.org"


@pytest.fixture(scope="session")
def web_servers():
    """Starts servers in this process, each with a web gateway."""
    servers = Servers()
    yield servers
    servers.close()


@pytest.fixture
def start_web(web_servers):
    """Starts a server with a web gateway, and returns it with a client. Both end with the test."""
    with starting(web_servers) as start:
        yield lambda web=WebOptions(port=0), **options: start(web=web, **options)  # noqa: B008


@pytest.fixture(scope="session")
def web(web_servers):
    """A server with a web gateway, and its gRPC address."""
    options = WebOptions(port=0, origins=(FRIEND,), hosts=("play.example.org",))
    return web_servers.start(web=options, allow_seeds=True, search_threads=2)


@pytest.fixture(scope="session")
def plain(web_servers):
    """A server with a web gateway and no other options."""
    return web_servers.start(web=WebOptions(port=0))[0]


@pytest.fixture(scope="session")
def url(web):
    return web[0].web_url


@pytest.fixture(scope="session")
def grpc_client(web):
    return Client(web[1])


@pytest.fixture(params=PROTOCOLS)
def caller(url, request):
    return Caller(url, request.param)
