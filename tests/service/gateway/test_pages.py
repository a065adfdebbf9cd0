"""What a browser is given: the web app, and the headers that protect it."""

import gzip
import html
import http.client
import json
import os
import re
from urllib.parse import quote, unquote, urlsplit

import pytest

from croupier.v1 import catalog_pb2
from service.admission.budgets import Budget
from service.gateway.site import Site
from tests.service.gateway.conftest import FRIEND
from tests.support.web import get_url, path_of
from wire import hosted_games

LIST = path_of("CatalogService.ListGames")
JSON = {"content-type": "application/json"}
STRANGER = "https://stranger.example.org"


class Http:
    """Requests on one connection."""

    def __init__(self, url):
        self.netloc = urlsplit(url).netloc
        self._connection = http.client.HTTPConnection(self.netloc)

    def __call__(self, method, path, body=None, **headers):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, path, body, sent)
        response = self._connection.getresponse()
        return response, response.read()


@pytest.fixture
def ask(url):
    return Http(url)


def test_the_front_page(ask):
    response, page = ask("GET", "/")
    assert response.status == 200 and b"Croupier" in page
    policy = dict(
        each.split(" ", 1) for each in response.headers["content-security-policy"].split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert all(policy[f"{kind}-src"] == "'self'" for kind in ("script", "style", "connect", "img"))
    assert policy["frame-ancestors"] == "'none'"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["set-cookie"] is None and response.headers["server"] is None
    assert response.headers["date"].endswith("GMT")


def test_a_page_is_sent_again_only_when_it_has_changed(ask):
    response, page = ask("GET", "/")
    again, nothing = ask("GET", "/", if_none_match=response.headers["etag"])
    assert again.status == 304 and not nothing and page
    head, nothing = ask("HEAD", "/")
    assert head.status == 200 and not nothing
    assert head.headers["content-length"] == str(len(page))


@pytest.mark.parametrize("path", ["/index.html", "/x", "//", "/../server.py", "/%2e%2e/server.py"])
def test_there_are_no_other_pages(ask, path):
    response, _ = ask("GET", path)
    assert response.status == 404
    assert "default-src 'none'" in response.headers["content-security-policy"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_pages_are_only_read(ask, method):
    response, _ = ask(method, "/", b"")
    assert response.status == 405 and response.headers["allow"] == "GET, HEAD"


class Sent:
    """Collects what an ASGI application sends."""

    def __init__(self):
        self.messages = []

    async def __call__(self, message):
        self.messages.append(message)

    @property
    def headers(self):
        return dict(self.messages[0]["headers"])


def getter(site, web_servers):
    def get(path, **headers):
        sent = Sent()
        pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
        scope = {"method": "GET", "path": path, "headers": pairs}
        web_servers.run(site(scope, None, sent))
        return sent

    return get


def test_drawings_of_packages(tmp_path, web_servers):
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "drawing.js").write_text("export default (app, game) => game;\n")
    get = getter(Site(tmp_path, {"acme_whist": tmp_path / "web"}), web_servers)
    script = get("/games/acme_whist/drawing.js")
    assert script.messages[1]["body"].startswith(b"export default")
    assert script.headers[b"content-type"].startswith(b"text/javascript")
    assert script.headers[b"cache-control"] == b"no-cache"
    assert b"script-src 'self'" in script.headers[b"content-security-policy"]
    assert get("/games/drawings.json").messages[1]["body"] == b'["acme_whist"]'


def test_a_drawing_has_its_files_and_nothing_else(tmp_path, web_servers):
    (web := tmp_path / "web").mkdir()
    (web / "drawing.js").write_text("")
    os.mkfifo(web / "pipe.js")
    (web / ".#drawing.js").symlink_to("nowhere")  # As an editor leaves it.
    for name in ("one", "two", "up"):
        (web / name).symlink_to("../web" if name == "up" else ".")
    get = getter(Site(tmp_path, {"acme_whist": web}), web_servers)
    assert get("/games/acme_whist/drawing.js").messages[0]["status"] == 200
    for path in ("pipe.js", ".%23drawing.js", "one/two/drawing.js"):
        assert get(f"/games/acme_whist/{path}").messages[0]["status"] == 404


def test_a_link_to_an_invitation_tells_a_preview_the_game(ask):
    for game_id, game in hosted_games().items():
        response, page = ask("GET", f"/i/{game_id}")
        assert response.status == 200
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert response.headers["cache-control"] == "no-cache"
        told = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]*)">', page.decode()))
        assert html.unescape(told["title"]) == f"You are invited to a match of {game.title}"
        assert told["description"].endswith(".")
        assert told["image"].startswith(f"http://{ask.netloc}/i/")
    _, page = ask("GET", "/i/skystones", x_forwarded_proto="https", host="play.example.org")
    assert b'content="https://play.example.org/i/' in page
    _, page = ask("GET", "/i/skystones", x_forwarded_prefix="/cards/", host="play.example.org")
    assert b'content="http://play.example.org/cards/i/' in page


@pytest.mark.parametrize("damage", ["", "skyston", "skystones)", 'sky"><script>', "%3Cb%3E", "x/"])
def test_a_damaged_link_to_an_invitation_leads_on(ask, damage):
    response, page = ask("GET", f"/i/{quote(damage, safe='/%')}")
    assert response.status == 200 and b"invited.js" in page
    assert page.count(b"<script") == 1 and b"<b>" not in page
    response, _ = ask("GET", "/i/skystones/more/x")
    assert response.status == 404


def test_the_games_of_this_repository_are_drawn_by_the_web_app(ask):
    response, listed = ask("GET", "/games/drawings.json")
    assert response.status == 200 and listed == b"[]"
    response, _ = ask("GET", "/games/skystones/index.ts")
    assert response.status == 404


def test_built_files(tmp_path, web_servers):
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html>")
    (tmp_path / "assets" / "table-Dk3.js").write_text("let x = 1;\n" * 1000)
    (tmp_path / "icon.svg").write_text("<svg/>")
    get = getter(Site(tmp_path), web_servers)
    assert get("/").messages[1]["body"] == b"<!doctype html>"
    script = get("/assets/table-Dk3.js", accept_encoding="br, gzip")
    assert script.headers[b"content-encoding"] == b"gzip"
    assert script.headers[b"content-type"].startswith(b"text/javascript")
    assert b"immutable" in script.headers[b"cache-control"]
    assert gzip.decompress(script.messages[1]["body"]) == b"let x = 1;\n" * 1000
    assert b"content-encoding" not in get("/assets/table-Dk3.js").headers
    assert get("/icon.svg").headers[b"content-type"] == b"image/svg+xml"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("{netloc}", 200),
        ("localhost:8080", 200),
        ("LOCALHOST", 200),
        ("play.example.org", 200),
        ("192.0.2.7:8080", 200),
        ("[::1]:8080", 200),
        ("stranger.example.org", 421),
        ("localhost.example.org:8080", 421),
        ("localhost:8080@stranger.example.org", 421),
        ("", 421),
    ],
)
def test_a_page_that_gives_its_own_name_our_address_cannot_call(ask, host, status):
    response, _ = ask("POST", LIST, b"{}", host=host.format(netloc=ask.netloc), **JSON)
    assert response.status == status


def test_a_page_of_another_origin_is_refused(ask):
    for foreign in ({"origin": STRANGER}, {"origin": "null"}, {"sec_fetch_site": "cross-site"}):
        response, body = ask("POST", LIST, b"{}", **JSON, **foreign)
        assert response.status == 403 and b"--web-origin" in body
        assert response.headers["access-control-allow-origin"] is None
        response, _ = ask("OPTIONS", LIST, access_control_request_method="POST", **foreign)
        assert response.status == 403
        assert response.headers["access-control-allow-origin"] is None


@pytest.mark.parametrize("near", ["http://friend.example.org", f"{FRIEND}:444", f"{FRIEND}.org"])
def test_an_origin_is_named_exactly(ask, near):
    response, _ = ask("POST", LIST, b"{}", **JSON, origin=near)
    assert response.status == 403


def test_a_page_of_a_named_origin_may_call(ask):
    response, _ = ask(
        "OPTIONS",
        LIST,
        origin=FRIEND,
        sec_fetch_site="cross-site",
        access_control_request_method="POST",
        access_control_request_headers="authorization,connect-protocol-version,content-type",
    )
    assert response.status == 204
    assert response.headers["access-control-allow-origin"] == FRIEND
    assert "POST" in response.headers["access-control-allow-methods"]
    allowed = response.headers["access-control-allow-headers"].split(", ")
    assert {"authorization", "connect-protocol-version", "connect-timeout-ms"} <= set(allowed)
    assert {"content-type", "x-grpc-web", "grpc-timeout", "x-user-agent"} <= set(allowed)
    assert response.headers["access-control-allow-credentials"] is None
    response, body = ask("POST", LIST, b"{}", origin=FRIEND, sec_fetch_site="cross-site", **JSON)
    assert response.status == 200 and b"skystones" in body
    assert response.headers["access-control-allow-origin"] == FRIEND
    assert "origin" in ", ".join(response.headers.get_all("vary")).lower()
    exposed = response.headers["access-control-expose-headers"]
    assert "grpc-status-details-bin" in exposed


def test_our_own_page_may_call(ask):
    for scheme in ("http", "https"):  # A proxy may speak TLS for the server.
        own = {"origin": f"{scheme}://{ask.netloc}", "sec_fetch_site": "same-origin"}
        response, _ = ask("POST", LIST, b"{}", **JSON, **own)
        assert response.status == 200
        assert response.headers["cache-control"] == "no-store"


def test_a_call_that_gets(ask):
    # Only methods that the schema declares free of side effects.
    path = get_url("CatalogService.ListGames", catalog_pb2.ListGamesRequest())
    response, _ = ask("GET", path)
    assert response.status in (200, 405)
    response, _ = ask("GET", path_of("MatchService.CreateMatch") + "?encoding=json&message={}")
    assert response.status == 405


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [
        ("application/grpc", 415, "gRPC has a port of its own"),
        ("application/grpc+proto", 415, "gRPC has a port of its own"),
        ("text/plain", 415, "application/json or application/proto"),
        ("application/xml", 415, "application/json or application/proto"),
        ("application/connect+json", 415, "application/json or application/proto"),
        ("application/json; charset=utf-8", 200, ""),
    ],
)
def test_content_types(ask, kind, status, said):
    response, body = ask("POST", LIST, b"{}", content_type=kind)
    assert response.status == status
    if status != 200:
        assert error_of(response, body) == "unknown"
        assert said in json.loads(body)["message"]


def error_of(response, body):
    """The code of an error of Connect."""
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"
    error = json.loads(body)
    assert error["message"]
    return error["code"]


UNKNOWN_METHODS = {
    "/croupier.v1.MatchService/Creatematch": "did you mean /croupier.v1.MatchService/CreateMatch?",
    "/MatchService/GetView": "did you mean /croupier.v1.MatchService/GetView?",
    "/croupier.v1.MatchService/Cheat": "/croupier.v1.",
    "/croupier.v1.X/Y": "its services are croupier.v1.CatalogService, croupier.v1.FeedService",
    "/croupier.v1.": "its services are croupier.v1.CatalogService",
    "/api/matches/7": "its services are croupier.v1.CatalogService",
}


@pytest.mark.parametrize("path", UNKNOWN_METHODS)
def test_unknown_methods(ask, path):
    response, body = ask("POST", path, b"{}", **JSON)
    assert response.status == 404 and error_of(response, body) == "unimplemented"
    assert UNKNOWN_METHODS[path] in json.loads(body)["message"]
    # Whoever speaks gRPC-Web reads trailers.
    response, body = ask("POST", path, b"", content_type="application/grpc-web+proto")
    assert response.status == 200 and not body
    assert response.headers["grpc-status"] == "12"
    assert UNKNOWN_METHODS[path] in unquote(response.headers["grpc-message"])


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_calls_are_posted(ask, method):
    response, body = ask(method, path_of("MatchService.CreateMatch"), b"{}", **JSON)
    assert response.status == 405 and response.headers["allow"] == "POST"
    assert error_of(response, body) == "unknown"


def test_a_page_of_a_named_origin_may_read_why_it_is_refused(ask):
    for path, headers in (("/croupier.v1.X/Y", JSON), (LIST, {"content_type": "text/plain"})):
        response, body = ask("POST", path, b"{}", origin=FRIEND, **headers)
        assert error_of(response, body)
        assert response.headers["access-control-allow-origin"] == FRIEND


def test_files_count_as_calls_of_their_address(start_web):
    callers = f'trusted_proxies = ["127.0.0.0/8"]\n[budgets.address]\n{Budget.CALLS} = 3\n'
    server, _ = start_web(callers=callers)
    ask = Http(server.web_url)
    # A budget of calls refills, so a slow machine needs some more of them.
    statuses = []
    while len(statuses) < 100 and 429 not in statuses:
        response, _ = ask("GET", "/", x_forwarded_for="192.0.2.1")
        statuses.append(response.status)
    assert statuses[:3] == [200, 200, 200] and statuses[-1] == 429
    assert response.headers["retry-after"] == "1"
    assert ask("GET", "/", x_forwarded_for="192.0.2.2")[0].status == 200
