"""The options of the web gateway.

They need nothing of the gateway: a server without one does not import it, which would take a tenth
of its start.
"""

from typing import NamedTuple
from urllib.parse import urlsplit


class WebOptions(NamedTuple):
    """The options of the web gateway."""

    host: str = "127.0.0.1"
    port: int = 8080  # 0: a free one.
    may_move: bool = False  # Whether another port will do if this one is taken.
    origins: tuple[str, ...] = ()  # The foreign origins whose pages may call.
    hosts: tuple[str, ...] = ()  # The names of this server, besides its addresses.
    take_unknown: bool = False  # Whether unknown fields of JSON are left out instead of refused.


def read_origin(text: str) -> str:
    """Reads an origin as browsers send it; raises ValueError."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{text!r} is not an origin such as https://play.example.org")
    if f"{parts.scheme}://{parts.netloc}" != text or text.lower() != text or "@" in text:
        raise ValueError(f"{text!r} is not an origin: no path, no user, lower case")
    return text
