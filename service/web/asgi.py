"""The types of ASGI, by which the parts of the door call each other."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]


async def respond(send: Send, status: int, headers: Headers, body: bytes = b"") -> None:
    """Sends a whole response."""
    if status != 304:
        headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def respond_text(send: Send, status: int, text: str, headers: Headers | None = None) -> None:
    """Sends a plain text for a person."""
    content_type = (b"content-type", b"text/plain; charset=utf-8")
    await respond(send, status, [content_type, *(headers or [])], f"{text}\n".encode())
