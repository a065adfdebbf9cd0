"""The types of ASGI, by which the parts of the door call each other."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import quote

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]

UNREADABLE = "unreadable"  # In the state of a scope, for what is no request: the status to answer.


async def respond(send: Send, status: int, headers: Headers, body: bytes = b"") -> None:
    """Sends a whole response."""
    if status not in (204, 304):
        headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def respond_text(send: Send, status: int, text: str, headers: Headers | None = None) -> None:
    """Sends a plain text for a person."""
    content_type = (b"content-type", b"text/plain; charset=utf-8")
    await respond(send, status, [content_type, *(headers or [])], f"{text}\n".encode())


def peer_of(host: str) -> str:
    """An address as gRPC writes it, but without its port, so that it is read once for a host."""
    return f"ipv6:{quote(f'[{host}]')}:0" if ":" in host else f"ipv4:{host}:0"
