"""The commands of documentation pages do what they say."""

import re
import subprocess
from pathlib import Path

from service.web.door import WebOptions

DOCS = Path(__file__).parents[1] / "docs"
END = 120


def test_a_match_with_curl(servers, tmp_path):
    server, _ = servers.start(web=WebOptions(port=0), search_threads=2)
    blocks = re.findall(
        r"^```sh\n(.*?)^```", (DOCS / "web.md").read_text(), re.MULTILINE | re.DOTALL
    )
    script = "\n".join(["set -euo pipefail", *blocks])
    assert "http://127.0.0.1:8080\n" in script
    script = script.replace("http://127.0.0.1:8080\n", server.web_url.rstrip("/") + "\n")
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=END
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "games/skystones" in done.stdout
    assert '"code": "invalid_argument"' in done.stdout and "curl ended with 22" in done.stdout
    assert '"finalReport":true' in done.stdout
    assert '"scores":' in done.stdout
    *_, deadline = done.stdout.splitlines()
    assert deadline.startswith('{"code":"failed_precondition"')  # The match is over.
    servers.stop(server)
