"""Certificates for tests, made by the program openssl."""

import itertools
import subprocess
from pathlib import Path

HOSTS = "DNS:localhost,IP:127.0.0.1"


class Authority:
    """An authority with its certificate, in a directory."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = name
        self._numbers = itertools.count()
        self.cert = directory / f"{name}.crt"
        self._key = directory / f"{name}.key"
        self._new_key(self._key)
        self._run(
            "req", "-x509", "-new", "-key", self._key, "-subj", f"/CN={name}", "-out", self.cert
        )

    def issue(self, hosts: str = HOSTS, days: int = 1) -> tuple[Path, Path]:
        """Issues a certificate, and returns the files of it and its key.

        A certificate of a negative number of days has expired.
        """
        stem = self._directory / f"{self._name}-{next(self._numbers)}"
        cert, key, request, extensions = (
            stem.with_suffix(suffix) for suffix in (".crt", ".key", ".csr", ".ext")
        )
        self._new_key(key)
        self._run("req", "-new", "-key", key, "-subj", "/CN=croupier", "-out", request)
        extensions.write_text(f"subjectAltName={hosts}\n")
        self._run(
            *("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self._key),
            *("-CAcreateserial", "-days", str(days), "-extfile", extensions, "-out", cert),
        )
        return cert, key

    def _new_key(self, path: Path) -> None:
        self._run(
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path
        )

    def _run(self, *arguments: str | Path) -> None:
        done = subprocess.run(["openssl", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
