"""How the clients in examples/ are built and run, and the servers that they are tested with."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from lab.service_bench.ports import free_port

ROOT = Path(__file__).parents[1]
BIN = ROOT / ".venv/bin"
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}  # For its protoc.


class Step(NamedTuple):
    """One command of a build."""

    folder: str
    command: Sequence[str]


class Language(NamedTuple):
    """How the client in one language is built and run."""

    tools: Sequence[str]
    build: Sequence[Step]
    run: Sequence[str]


LANGUAGES = {
    "go": Language(
        tools=("go",),
        build=(
            Step("examples/go", ("go", "generate")),
            Step("examples/go", ("go", "vet", "./...")),
            Step("examples/go", ("go", "build", "-o", "bin/", ".")),
        ),
        run=("examples/go/bin/client",),
    ),
    "typescript": Language(
        tools=("node", "npm"),
        build=(
            Step("clients/typescript", ("npm", "ci", "--no-audit", "--no-fund")),
            Step("clients/typescript", ("npm", "run", "check")),
            Step("clients/typescript", ("npm", "run", "build")),
            Step("examples/typescript", ("npm", "ci", "--no-audit", "--no-fund")),
            Step("examples/typescript", ("npm", "run", "check")),
            Step("examples/typescript", ("npm", "run", "build")),
        ),
        run=("node", "examples/typescript/dist/main.js"),
    ),
    "java": Language(
        tools=("java", "mvn"),
        build=(Step("examples/java", ("mvn", "--batch-mode", "package")),),
        run=("java", "-jar", "examples/java/target/croupier-client.jar"),
    ),
    "rust": Language(
        tools=("cargo",),
        build=(Step("examples/rust", ("cargo", "build", "--locked")),),
        run=("examples/rust/target/debug/croupier-client",),
    ),
}


class FailedError(Exception):
    """A build or a match that did not end as it should."""


class Certificate:
    """The certificate of a server on this machine, and of the authority that has issued it."""

    def __init__(self, folder: Path) -> None:
        self.authority, self.cert, self.key = (
            folder / name for name in ("authority.pem", "server.pem", "server.key")
        )
        issuer = folder / "authority.key"
        self._issue(issuer, self.authority, "authority", "basicConstraints=critical,CA:TRUE")
        self._issue(
            *(self.key, self.cert, "server", "basicConstraints=critical,CA:FALSE"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-CA", str(self.authority), "-CAkey", str(issuer)),
        )

    def _issue(self, key: Path, cert: Path, name: str, kind: str, *options: str) -> None:
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-days", "2", "-nodes"]
        command += ["-pkeyopt", "ec_paramgen_curve:P-256", "-subj", f"/CN={name}", "-addext", kind]
        command += ["-keyout", str(key), "-out", str(cert), *options]
        subprocess.run(command, check=True, capture_output=True)


class Server:
    """A server that can be killed and started again with the same port and the same log."""

    def __init__(self, folder: Path, certificate: Certificate | None, budgets: str) -> None:
        callers = folder / "callers.toml"
        callers.write_text(budgets)
        self.address = f"127.0.0.1:{free_port()}"
        self._command = [str(BIN / "croupier"), "serve", "--listen", self.address, "--web", "off"]
        self._command += ["--metrics-port", "0", "--allow-seeds"]
        self._command += ["--data", str(folder / "data"), "--callers-file", str(callers)]
        if certificate:
            self._command += ["--tls-cert", str(certificate.cert)]
            self._command += ["--tls-key", str(certificate.key)]
        self.start()

    def start(self) -> None:
        """Starts the server; returns when it serves."""
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout
        said = self._process.stdout.readline()
        if self.address not in said:
            raise FailedError(f"the server did not start: {said}")

    def stop(self) -> None:
        """Stops the server in order."""
        self._process.terminate()
        self._process.communicate()

    def kill(self) -> None:
        """Kills the server, like a crash."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def serving(folder: Path, certificate: Certificate | None, budgets: str) -> Iterator[Server]:
    """Serves until the block is left; `budgets` are those of a callers file."""
    server = Server(folder, certificate, budgets)
    try:
        yield server
    finally:
        server.kill()


def command_of(language: str) -> list[str]:
    """Returns the command of a client, with absolute paths."""
    return [
        str(ROOT / part) if part.startswith("examples/") else part
        for part in LANGUAGES[language].run
    ]
