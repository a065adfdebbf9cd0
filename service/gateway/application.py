"""The web gateway as one ASGI application: who may come in, and where a request goes."""

import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from functools import lru_cache
from math import ceil
from typing import Any

from service.api.calls import OUR_METHODS
from service.common.call import Call, current_call
from service.common.errors import Refusal, log_failure
from service.gateway.origins import Origins
from service.listening.http import (
    UNREADABLE,
    Application,
    Headers,
    Message,
    Receive,
    Scope,
    Send,
    peer_of,
    respond,
    respond_text,
)

# Of every response.
COMMON_HEADERS: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
NOT_STORED = (b"cache-control", b"no-store")
# A call by GET needs no token (the schema allows GET for the catalog alone), and is answered alike
# to everybody until a newer server takes over.
STORED = (b"cache-control", b"public, max-age=300")
MAX_PATH = 100  # Characters of a path in the log.
MAX_QUERY_BYTES = 2 << 10  # Of a call by GET: the library reads all parameters first.


class WebApplication:
    """Sends calls to the services, and everything else to the site."""

    def __init__(
        self,
        origins: Origins,
        services: Application,
        site: Application,
        admit: Callable[[Call], Awaitable[None]],
        count: Callable[[int], None],
        prefix: str = OUR_METHODS,
    ) -> None:
        """The paths of the services begin with `prefix`.

        `admit` raises Refusal for what is no call, if its address may not have it. `count`
        is told the status of each response.
        """
        self._prefix = prefix
        self._origins = origins
        self._services = services
        self._site = site
        self._admit = admit
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        started = False

        async def receive_all() -> Message:
            return await receive()

        async def send_all(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._count(message["status"])
                date = (b"date", _date(int(time.time())))
                message["headers"] = [*message["headers"], *COMMON_HEADERS, date]
            await send(message)

        async def send_admitted(message: Message) -> None:
            # A file or a refusal is no call, so it has not been admitted yet.
            if message["type"] == "http.response.start" and current_call.get() is None:
                metadata = [
                    (name.decode(), text.decode("latin-1")) for name, text in scope["headers"]
                ]
                await self._admit(Call("", "", metadata, peer_of(scope["client"][0])))
            await send_all(message)

        try:
            try:
                await self._answer(scope, receive_all, send_admitted)
            except Refusal:
                raise
            except Exception as error:
                # The HTTP server would log what the error says, which could name cards.
                log_failure(scope["path"][:MAX_PATH], error)
                if not started:
                    await respond_text(send_admitted, 500, "something went wrong here")
        except Refusal as refusal:
            later = b"%d" % ceil(refusal.wait)
            await respond_text(send_all, 429, str(refusal), [(b"retry-after", later)])
        finally:
            # An error that was answered may refer to frames that refer to it, and all they hold
            # would stay with them.
            receive = send = _gone

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if UNREADABLE in scope["state"]:
            await respond_text(send, scope["state"][UNREADABLE], "this is no request of HTTP/1.1")
        elif not self._origins.knows_host(headers.get(b"host")):
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
        # Of two content types, each reader could take another one.
        kinds = [text for name, text in scope["headers"] if name == b"content-type"]
        if any(kind.partition(b"+")[0] == b"application/grpc" for kind in kinds):
            await respond_text(send, 415, "gRPC has a port of its own; here is gRPC-Web")
            return
        if len(scope["query_string"]) > MAX_QUERY_BYTES:
            await respond_text(send, 414, "a call that needs so much is made by POST")
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


async def _gone(*_: Message) -> Any:
    raise RuntimeError("this request was answered")


@lru_cache(1)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()
