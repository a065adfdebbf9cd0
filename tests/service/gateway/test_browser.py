"""A browser lets a page of another origin call, if and only if the operator named the origin."""

import functools
import http.server
import re
import shutil
import subprocess
import threading

import pytest

from service.gateway.listener import WebOptions
from tests.support.web import path_of

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
PAGE = """<!doctype html><title>page</title><pre id="told">nothing</pre><script>
const tell = (text) => { document.getElementById("told").textContent = text; };
fetch("{url}", {{
  method: "POST",
  headers: {{ "content-type": "application/json", "connect-protocol-version": "1" }},
  body: '{{"name": "games/none"}}',
}}).then(async (response) => tell(`${{response.status}} ${{(await response.json()).code}}`))
  .catch((error) => tell(`failed: ${{error.name}}`));
</script>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_):
        pass


@pytest.fixture
def pages(tmp_path):
    """Serves a directory on an origin of its own, and returns both."""
    handler = functools.partial(Quiet, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield tmp_path, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
@pytest.mark.parametrize("named", [True, False], ids=["named", "foreign"])
def test_a_page_of_another_origin_in_a_browser(start_web, pages, tmp_path, named):
    directory, origin = pages
    server, _ = start_web(WebOptions(port=0, origins=(origin,) if named else ()))
    url = server.web_url.rstrip("/") + path_of("CatalogService.GetGame")
    script = PAGE.replace("{url}", url).replace("{{", "{").replace("}}", "}")
    (directory / "page.html").write_text(script)
    done = subprocess.run(
        [
            *(BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"),
            *("--virtual-time-budget=10000", f"--user-data-dir={tmp_path / 'profile'}"),
            f"{origin}/page.html",
        ],
        capture_output=True,
        text=True,
    )
    told = re.search('<pre id="told">(.*)</pre>', done.stdout)
    assert told, done.stderr
    # GetGame refuses the game, and the page can read that.
    assert told[1] == ("404 not_found" if named else "failed: TypeError")
