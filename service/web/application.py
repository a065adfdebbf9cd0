"""The door as one ASGI application: who may come in, and where a request goes."""

import time
from email.utils import formatdate
from functools import lru_cache

from service.api.calls import OUR_METHODS
from service.errors import log_failure
from service.web.asgi import (
    Application,
    Headers,
    Message,
    Receive,
    Scope,
    Send,
    respond,
    respond_text,
)
from service.web.origins import Origins

# Of every response.
COMMON_HEADERS: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
NOT_STORED = (b"cache-control", b"no-store")
# A call by GET needs no token (the schema allows GET for the catalog alone), and is answered alike
# to everybody until a newer server takes over.
STORED = (b"cache-control", b"public, max-age=300")


class WebApplication:
    """Sends calls to the services, and everything else to the site."""

    def __init__(
        self,
        origins: Origins,
        services: Application,
        site: Application,
        prefix: str = OUR_METHODS,
    ) -> None:
        """The paths of the services begin with `prefix`."""
        self._prefix = prefix
        self._origins = origins
        self._services = services
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        started = False

        async def send_all(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                date = (b"date", _date(int(time.time())))
                message["headers"] = [*message["headers"], *COMMON_HEADERS, date]
            await send(message)

        try:
            await self._answer(scope, receive, send_all)
        except Exception as error:
            # The HTTP server would log what the error says, which could name cards.
            log_failure(scope["path"], error)
            if not started:
                await respond_text(send_all, 500, "something went wrong here")

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if not self._origins.knows_host(headers.get(b"host", b"").decode("latin-1")):
            await respond_text(
                send,
                421,
                "this server does not go by that name: open it by its address, or start it with"
                " --web-host NAME",
            )
        elif scope["path"].startswith(self._prefix):
            await self._call(scope, headers, receive, send)
        else:
            await self._site(scope, receive, send)

    async def _call(
        self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        origin = headers.get(b"origin")
        if not self._origins.admits(headers):
            await respond_text(
                send,
                403,
                "pages of other origins may not call this server, unless it is started with"
                " --web-origin ORIGIN",
                [(b"vary", b"origin")],
            )
            return
        if scope["method"] == "OPTIONS":
            if origin is not None and self._origins.names(origin):
                await respond(send, 204, self._origins.preflight(origin))
            else:
                await respond_text(send, 405, "only POST", [(b"allow", b"POST")])
            return
        if headers.get(b"content-type", b"").partition(b"+")[0] == b"application/grpc":
            await respond_text(send, 415, "gRPC has a port of its own; here is gRPC-Web")
            return
        if not all(value.isascii() for _, value in scope["headers"]):
            await respond_text(send, 400, "headers must be ASCII")
            return
        shared = self._origins.shared(origin)

        async def send_shared(message: Message) -> None:
            if message["type"] == "http.response.start":
                stored = scope["method"] == "GET" and message["status"] == 200
                caching = STORED if stored else NOT_STORED
                message["headers"] = [*message["headers"], *shared, caching]
            await send(message)

        await self._services(scope, receive, send_shared)


@lru_cache(1)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()
