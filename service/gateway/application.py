"""The web gateway as one ASGI application: who may come in, and where a request goes."""

import json
import re
import time
from collections.abc import Awaitable, Callable, Collection
from email.utils import formatdate
from functools import lru_cache
from math import ceil
from typing import Any
from urllib.parse import quote

from google.rpc import code_pb2

from service.api.calls import OUR_METHODS, no_method
from service.common.call import Call, current_call
from service.common.errors import log_failure
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
from wire.errors import Refusal, quoted

# Of every response.
COMMON_HEADERS: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
NOT_STORED = (b"cache-control", b"no-store")
# A call by GET needs no token (the schema allows GET for the catalog alone), and is answered alike
# to everybody until a newer server takes over.
STORED = (b"cache-control", b"public, max-age=300")
# As Connect names the codes of gRPC. Its clients know no code for any other status.
CODES = {
    400: "invalid_argument",
    403: "permission_denied",
    404: "unimplemented",
    414: "invalid_argument",
    421: "permission_denied",
    429: "resource_exhausted",
    500: "internal",
}
BARE = (404, 405, 415)  # What the library answers without a body.
KINDS = (
    "application/json or application/proto, of a stream application/connect+json or"
    " application/connect+proto, of gRPC-Web application/grpc-web+proto"
)
# As a client may write it, which writes to a proxy so. Its host counts (RFC 9112, 3.2.2).
_WHOLE_TARGET = re.compile(r"(?i:https?)://([^/?#]*)(.*)", re.DOTALL)
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
        methods: Collection[str] = (),
    ) -> None:
        """The paths of the services begin with `prefix`, and are `methods`.

        `admit` raises Refusal for what is no call, if its address may not have it. `count`
        is told the status of each response.
        """
        self._prefix = prefix
        self._methods = methods
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
                    await self._refuse(scope, send_admitted, 500, "something went wrong here")
        except Refusal as refusal:
            later = b"%d" % ceil(refusal.wait)
            await self._refuse(scope, send_all, 429, str(refusal), [(b"retry-after", later)])
        finally:
            # An error that was answered may refer to frames that refer to it, and all they hold
            # would stay with them.
            receive = send = _gone

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        if whole := _WHOLE_TARGET.fullmatch(scope["path"]):
            headers[b"host"], scope["path"] = whole[1].encode(), whole[2] or "/"
        if UNREADABLE in scope["state"]:
            await respond_text(send, scope["state"][UNREADABLE], "this is no request of HTTP/1.1")
        elif not self._origins.knows_host(headers.get(b"host")):
            await self._refuse(
                scope,
                send,
                421,
                "this server does not go by that name: open it by its address, or start it with"
                " --web-host NAME",
            )
        elif self._is_call(scope):
            await self._call(scope, headers, receive, send)
        else:
            await self._site(scope, receive, send)

    def _is_call(self, scope: Scope) -> bool:
        # Nothing is posted to a page, so that whoever does has the path of a call wrong.
        path: str = scope["path"]
        return path.startswith(self._prefix) or (scope["method"] == "POST" and path != "/")

    async def _refuse(
        self, scope: Scope, send: Send, status: int, text: str, headers: Headers | None = None
    ) -> None:
        """Refuses what has not become a call: as the caller's protocol does, or for a person."""
        kind: bytes = dict(scope["headers"]).get(b"content-type", b"")
        # Who sends what no protocol sends cannot be expected to read what a protocol answers.
        is_known = status != 415 or kind.startswith((b"application/", b"text/")) or not kind
        if not self._is_call(scope) or not is_known:
            await respond_text(send, status, text, headers)
            return
        code = CODES.get(status, "unknown")
        if kind.startswith(b"application/grpc-web"):
            # Trailers alone: whoever reads this protocol looks at no other status.
            number = b"%d" % code_pb2.Code.Value(code.upper())
            trailers = [(b"grpc-status", number), (b"grpc-message", quote(text).encode())]
            sent = [(b"content-type", b"application/grpc-web+proto"), NOT_STORED, *trailers]
            await respond(send, 200, [*sent, *(headers or [])])
            return
        sent = [(b"content-type", b"application/json"), NOT_STORED, *(headers or [])]
        await respond(send, status, sent, json.dumps({"code": code, "message": text}).encode())

    async def _call(
        self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        origin = headers.get(b"origin")
        if not self._origins.admits(headers):
            await self._refuse(
                scope,
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
                await self._refuse(scope, send, 405, "only POST", [(b"allow", b"POST")])
            return
        shared = self._origins.shared(origin)
        refused = False

        async def send_shared(message: Message) -> None:
            nonlocal refused
            if refused:
                return
            if message["type"] == "http.response.start":
                own: Headers = message["headers"]
                if message["status"] in BARE and b"content-type" not in dict(own):
                    refused = True  # The library says no more of it.
                    text = self._why(scope, message["status"], dict(own))
                    await self._refuse(scope, send, message["status"], text, [*own, *shared])
                    return
                stored = scope["method"] == "GET" and message["status"] == 200
                caching = STORED if stored else NOT_STORED
                message["headers"] = [*own, *shared, caching]
            await send(message)

        # Of two content types, each reader could take another one.
        kinds = [text for name, text in scope["headers"] if name == b"content-type"]
        if any(kind.partition(b"+")[0] == b"application/grpc" for kind in kinds):
            said = "gRPC has a port of its own (--listen); here are Connect, gRPC-Web and JSON"
            await self._refuse(scope, send, 415, said, shared)
            return
        if len(scope["query_string"]) > MAX_QUERY_BYTES:
            said = "a call that needs so much is made by POST"
            await self._refuse(scope, send, 414, said, shared)
            return
        if not all(value.isascii() for _, value in scope["headers"]):
            await self._refuse(scope, send, 400, "headers must be ASCII", shared)
            return
        await self._services(scope, receive, send_shared)

    def _why(self, scope: Scope, status: int, headers: dict[bytes, bytes]) -> str:
        # What is wrong with a request that has become no call.
        if status == 404:
            return no_method(scope["path"], self._methods)
        if status == 405:
            allowed = headers[b"allow"].decode()
            return f"{scope['method']} is not allowed: this method is called by {allowed}"
        if scope["method"] == "GET":
            return "the parameter encoding must be json or proto"
        kind = dict(scope["headers"]).get(b"content-type", b"").decode("latin-1")
        return f"the content-type must be {KINDS}, not {quoted(kind)}"


async def _gone(*_: Message) -> Any:
    raise RuntimeError("this request was answered")


@lru_cache(1)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()
