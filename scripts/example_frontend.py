"""Plays with the front end in examples/frontend/, in Chromium, as its page says how to run it."""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from example_clients import ENVIRONMENT, ROOT, FailedError

FRONTEND = ROOT / "examples/frontend"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
REQUIREMENTS = FRONTEND / "requirements.txt"
CLIENT = ROOT / "clients/python"


def check_frontend(logs: Path) -> None:
    """Installs the front end beside the client, and runs its test; raises FailedError."""
    if not Path(CHROMIUM).exists():
        print("frontend: SKIPPED, as there is no Chromium here (apt-get install chromium)")
        return
    began = time.monotonic()
    python = install(logs)
    print(f"frontend: installed in {time.monotonic() - began:.0f} s", flush=True)
    began = time.monotonic()
    log = logs / "frontend.log"
    carry_out(["scripts/web.sh", "build"], log)
    carry_out(["scripts/web.sh", "frontend"], log, FRONTEND_PYTHON=str(python))
    took = time.monotonic() - began
    print(f"frontend: two accounts have played each other in {took:.0f} s", flush=True)


def install(logs: Path) -> Path:
    """Returns the Python of an environment with the front end's packages; makes it if need be."""
    folder = logs / "frontend"
    python, made_of = folder / "bin/python", folder / "made_of"
    sources = [REQUIREMENTS, CLIENT / "pyproject.toml", *(ROOT / "croupier").glob("*.py")]
    sources += (ROOT / "proto").rglob("*.proto")
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(sources))).hexdigest()
    if not made_of.exists() or made_of.read_text() != digest:
        shutil.rmtree(folder, ignore_errors=True)
        log = logs / "frontend-install.log"
        carry_out([sys.executable, "-m", "venv", str(folder)], log)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
        pip += ["-c", str(ROOT / "constraints.txt"), "-r", str(REQUIREMENTS), str(CLIENT)]
        carry_out(pip, log)
        made_of.write_text(digest)
    return python


def carry_out(command: list[str], log: Path, **variables: str) -> None:
    """Runs a command in the checkout; its output goes to a file."""
    with log.open("w") as output:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**ENVIRONMENT, **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode:
        end = "\n".join(log.read_text().splitlines()[-40:])
        raise FailedError(f"{' '.join(command)} failed, see {log}\n{end}")
