"""The health check of the image tells a server that is ready from one that is not."""

import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.support.ports import free_port
from tests.support.server_process import ServerProcess

PROGRAM = Path(__file__).parents[1] / "deploy/healthcheck"


def check(port, host="0.0.0.0"):
    """Runs it without other programs; returns its status and what it says."""
    variables = {"CROUPIER_METRICS_PORT": str(port), "CROUPIER_METRICS_HOST": host}
    done = subprocess.run(
        ["/bin/bash", PROGRAM], env=variables | {"PATH": "/nowhere"}, capture_output=True, text=True
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1", "127.0.0.2"])
def test_a_server_is_ready_and_then_gone(host):
    port = free_port()
    options = ("--store", "memory", "--metrics-host", host, "--metrics-port", str(port))
    with ServerProcess(*options):
        assert check(port, host) == (0, "HTTP/1.1 200 OK\n")
    assert check(port, host) == (1, "")


@pytest.mark.parametrize(("host", "given"), [("127.0.0.1", "0.0.0.0"), ("::1", "[::]")])
@pytest.mark.parametrize(("status", "expected"), [(200, 0), (503, 1), (404, 1)])
def test_only_200_is_ready(host, given, status, expected):
    paths = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            paths.append(self.path)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"200 things\n")

        def log_message(self, *_):
            pass

    class Server(HTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    with Server((host, 0), Handler) as server:
        threading.Thread(target=server.handle_request).start()
        assert check(server.server_port, given)[0] == expected
    assert paths == ["/readyz"]
