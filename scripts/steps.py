"""What the checks of packages and of the image do: run, install, serve."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venv/bin/python"
SHORT = os.environ.get("SHORT") == "1"


class CheckError(Exception):
    """Something does not hold; the text says what."""


def say(text: str) -> None:
    """Prints a line at once."""
    print(text, flush=True)


def attempt(
    *command: object, cwd: Path = ROOT, umask: int = -1, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program, which may fail, and sees nothing of this checkout unless it runs in it."""
    ours = {"PYTHONPATH", "SHORT"}  # SHORT would leave out the wheel of the server.
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    return subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        env={**inherited, **variables},
        umask=umask,
        capture_output=True,
        text=True,
    )


def run(*command: object, cwd: Path = ROOT, umask: int = -1, **variables: str) -> str:
    """Runs a program; returns what it prints; raises CheckError if it fails."""
    done = attempt(*command, cwd=cwd, umask=umask, **variables)
    if done.returncode:
        text = " ".join(map(str, command))
        raise CheckError(f"{text} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def environment(folder: Path, *packages: object) -> Path:
    """Makes an environment with some packages; returns its Python."""
    run(PYTHON, "-m", "venv", folder)
    pip = [folder / "bin/python", "-m", "pip", "--disable-pip-version-check", "-q"]
    run(*pip, "install", "-c", ROOT / "constraints.txt", *packages)
    return folder / "bin/python"


@contextmanager
def serving(python: Path) -> Iterator[str]:
    """Runs the server of an environment; gives its address."""
    program = str(python.with_name("croupier"))
    command = [program, "serve", "--listen", "127.0.0.1:0", "--web", "off", "--metrics-port", "0"]
    with subprocess.Popen(
        [*command, "--store", "memory"], cwd="/", stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        try:
            said = server.stdout.readline()
            if not said.startswith("croupier serves on "):
                raise CheckError(f"{program} does not serve: {said}")
            yield said.split()[-1]
        finally:
            server.terminate()
    if server.returncode:
        raise CheckError(f"the server ended with {server.returncode}")


def free_port() -> int:
    """Returns a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
