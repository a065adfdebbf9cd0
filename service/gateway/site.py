"""The files of the web app, served from memory.

The build of `web/` puts them into `service/gateway/static/`. A file under `assets/` has a hash of
its contents in its name, so that a browser may keep it for ever; of any other file it asks each
time whether it has changed.

A package of a game may draw its game itself: the files of its folder `web/` are served under
`/games/<game>/`, if `drawing.js` is among them, and `/games/drawings.json` lists such games.

A link to an invitation goes to `/i/<game>`: who shows a preview of it reads there which game it is.
The browser goes on to the app with the fragment, which holds the secret and is sent to nobody.
"""

import gzip
import hashlib
import json
import mimetypes
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

import wire
from engine.game import Game
from engine.parts import contents, package_of
from service.listening.http import Headers, Receive, Scope, Send, respond, respond_text

HASHED = "/assets/"
DRAWING = "drawing.js"
MIN_COMPRESSED = 1000  # Bytes; a smaller file fits into one packet anyway.
NOT_BUILT = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Croupier</title>
<h1>Croupier</h1>
<p>The server runs, but the web app was not built. To build it, run
<code>make web</code> in a checkout, and start the server again.</p>
<p>Connect, gRPC-Web and JSON work on this address without it.</p>
</html>
"""

INVITATIONS = "/i/"
PREVIEW = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<meta name="description" content="{text}">
<meta property="og:type" content="website">
<meta property="og:title" content="{title}">
<meta property="og:description" content="{text}">
<meta property="og:image" content="{picture}">
<meta property="og:image:alt" content="{game}">
<meta name="twitter:card" content="summary_large_image">
<script src="../invited.js"></script>
<p><a href="../">{game}</a> needs JavaScript.</p>
</html>
"""

# All else is refused: no outside resource, no frame, no inline script or style.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "connect", "img", "font")),
        *(f"{kind}-src 'self'" for kind in ("manifest", "worker")),
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
PAGE_HEADERS: Headers = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]


class _File(NamedTuple):
    """A file with what is sent of it."""

    content: bytes
    compressed: bytes | None
    headers: Headers  # Without those that depend on the request.
    tag: bytes


class Site:
    """The files as an ASGI application."""

    def __init__(
        self,
        folder: Traversable | None = None,
        drawings: Mapping[str, Traversable] | None = None,
    ) -> None:
        """Reads a folder, by default that of the package, and the drawings by game."""
        found = _read(folder or files("service.gateway").joinpath("static"), "/")
        if drawings is None:
            drawn = wire.of_each("its folder web cannot be read", _drawing_of)
        else:
            drawn = {each: _read(at, f"/games/{each}/") for each, at in drawings.items()}
        for drawing in drawn.values():
            found |= drawing
        listed = "/games/drawings.json"
        found[listed] = _file(listed, json.dumps(sorted(filter(drawn.get, drawn))).encode())
        if "/index.html" not in found:
            found["/index.html"] = _file("/index.html", NOT_BUILT.encode())
        found["/"] = found.pop("/index.html")
        self._files = found

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        file = self._files.get(scope["path"]) or self._invitation(scope)
        if file is None:
            await respond_text(send, 404, "there is no such page", PAGE_HEADERS)
            return
        if scope["method"] not in ("GET", "HEAD"):
            await respond_text(send, 405, "only GET and HEAD", [(b"allow", b"GET, HEAD")])
            return
        sent = dict(scope["headers"])
        if file.tag in sent.get(b"if-none-match", b""):
            await respond(send, 304, file.headers)
        elif file.compressed is not None and b"gzip" in sent.get(b"accept-encoding", b""):
            headers = [*file.headers, (b"content-encoding", b"gzip")]
            await respond(send, 200, headers, file.compressed)
        else:
            await respond(send, 200, file.headers, file.content)

    def _invitation(self, scope: Scope) -> _File | None:
        """The page of an invitation to a game; to any, where the link was damaged."""
        match = re.fullmatch(rf"{INVITATIONS}(\w{{0,64}})[^/]{{0,64}}/?", scope["path"])
        if match is None:
            return None
        game = wire.hosted_games().get(match[1])
        picture = f"{INVITATIONS}{match[1]}.png"
        if picture not in self._files:
            picture = f"{INVITATIONS}game.png"
        title = "You are invited to a match" + (f" of {game.title}" if game else "")
        text = re.split(r"(?<=[.!?])\s", game.summary.strip())[0] if game else "Take your seat."
        sent = dict(scope["headers"])
        # A proxy that speaks TLS says so, or that the site lies below a path. Whoever makes it up
        # misleads nobody else.
        scheme = "https" if sent.get(b"x-forwarded-proto") == b"https" else scope["scheme"]
        below = sent.get(b"x-forwarded-prefix", b"").decode("latin-1").rstrip("/")
        site = f"{scheme}://{sent.get(b'host', b'').decode('latin-1')}{below}"
        page = PREVIEW.format(
            title=escape(title),
            text=escape(" ".join(text.split())),
            game=escape(game.title if game else "Croupier"),
            picture=escape(site + picture),
        )
        return _file("/index.html", page.encode())


def _drawing_of(game: type[Game]) -> dict[str, _File]:
    folder = files(package_of(game)).joinpath("web")
    return _read(folder, f"/games/{game.id}/") if folder.joinpath(DRAWING).is_file() else {}


def _read(folder: Traversable, path: str) -> dict[str, _File]:
    found = contents(folder, path) if folder.is_dir() else ()
    return {path: _file(path, file.read_bytes()) for path, file in found}


def _file(path: str, content: bytes) -> _File:
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    if kind.startswith("text/") or kind == "application/json":
        kind += "; charset=utf-8"
    hashed = path.startswith(HASHED)
    tag = b'"%s"' % hashlib.sha256(content).hexdigest()[:32].encode()
    compressed = gzip.compress(content, mtime=0) if len(content) >= MIN_COMPRESSED else None
    if compressed is not None and len(compressed) > 0.9 * len(content):
        compressed = None
    return _File(
        content,
        compressed,
        [
            (b"content-type", kind.encode()),
            (b"cache-control", b"public, max-age=31536000, immutable" if hashed else b"no-cache"),
            (b"etag", tag),
            (b"vary", b"accept-encoding"),
            *PAGE_HEADERS,
        ],
        tag,
    )
