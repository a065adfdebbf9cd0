"""Real proxies with TLS in front of two servers, with the configurations in deploy/."""

import importlib.util
import os
import shutil
import socket
import subprocess
from pathlib import Path

from tests.support.ports import own_port
from tests.support.waiting import wait_until

DEPLOY = Path(__file__).parents[2] / "deploy"


def _nginx():
    return shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")


def _haproxy():
    return shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")


def _envoy():
    package = importlib.util.find_spec("envoy")
    return package and str(Path(package.origin).parent / "_bin" / "envoy")


# By name: its program, its configuration, how that is named on the command line, and who has it.
PROXIES = {
    "nginx": (_nginx, "nginx.conf", ("-g", "daemon off; pid nginx.pid;", "-p", ".", "-c"), "apt"),
    "haproxy": (_haproxy, "haproxy.cfg", ("-db", "-f"), "apt"),
    "envoy": (_envoy, "envoy.yaml", ("--use-dynamic-base-id", "-l", "warn", "-c"), "pip"),
}
_INSTALL = {"apt": "apt-get install {}", "pip": "pip install {}-server"}


def missing(name):
    """How to install a proxy that is not installed; None if it is."""
    find, _, _, source = PROXIES[name]
    return None if find() else _INSTALL[source].format(name)


class TlsProxy:
    """A running proxy in front of two servers."""

    def __init__(self, name, directory, servers, cert, key, limit=600, web=("-:1", "-:1")):
        # `limit` is how many connections, or calls, an address may have where that is counted,
        # and half of the calls that it may begin in a second.
        # `web` has the addresses of the servers for browsers.
        self._web = web
        self._directory = directory
        self._limit = limit
        self.address = f"127.0.0.1:{own_port()}"
        find, config, options, _ = PROXIES[name]
        text = self._fill((DEPLOY / config).read_text(), name, servers, cert, key)
        (directory / config).write_text(text)
        self._log = directory / f"{name}.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [find(), *options, str(directory / config)],
                cwd=directory,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait_until(self._listens, lambda: f"the proxy to listen: {self.log}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()

    def _fill(self, text, name, servers, cert, key):
        # Puts the addresses and paths of a test in the place of those of the configuration.
        port = self.address.rpartition(":")[2]
        ports = [server.rpartition(":")[2] for server in servers]
        pem = self._directory / "tls.pem"
        pem.write_bytes(cert.read_bytes() + key.read_bytes())
        values = {
            "nginx": {
                "listen 443 ": f"listen {self.address} ",
                "10.0.0.1:50051": servers[0],
                "10.0.0.2:50051": servers[1],
                "limit_conn addresses 600;": f"limit_conn addresses {self._limit};",
                "/etc/croupier/tls.crt": str(cert),
                "/etc/croupier/tls.key": str(key),
                # Another user than root cannot write where the package would.
                "http {": f"error_log stderr warn;\nhttp {{\n{_temporary_paths()}",
            },
            "haproxy": {
                "bind :443 ": f"bind {self.address} ",
                "10.0.0.1:50051": servers[0],
                "10.0.0.2:50051": servers[1],
                "conn_cur gt 100": f"conn_cur gt {self._limit}",
                "http_req_rate gt 1000": f"http_req_rate gt {2 * self._limit}",
                "/etc/croupier/tls.pem": str(pem),
            },
            "envoy": {
                "0.0.0.0, port_value: 443": f"127.0.0.1, port_value: {port}",
                "10.0.0.1, port_value: 50051": f"127.0.0.1, port_value: {ports[0]}",
                "10.0.0.2, port_value: 50051": f"127.0.0.1, port_value: {ports[1]}",
                **{
                    f"10.0.0.{number}, port_value: 8080": (
                        f"127.0.0.1, port_value: {address.rpartition(':')[2]}"
                    )
                    for number, address in enumerate(self._web, 1)
                },
                "/etc/croupier/tls.crt": str(cert),
                "/etc/croupier/tls.key": str(key),
            },
        }[name]
        for here, there in values.items():
            assert here in text, here
            text = text.replace(here, there)
        return text

    def _listens(self):
        assert self._process.poll() is None, self.log
        host, port = self.address.split(":")
        with socket.socket() as tried:
            return tried.connect_ex((host, int(port))) == 0

    @property
    def log(self):
        """What the proxy has said."""
        return self._log.read_text()


def _temporary_paths():
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    return "\n".join(f"{kind}_temp_path {kind};" for kind in kinds)
