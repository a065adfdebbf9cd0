"""The distribution croupier works where there is nothing but what it asks for."""

import os
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.server_process import ServerProcess

ROOT = Path(__file__).parents[2]
PLAY = """
import sys
from croupier.client import OPEN, Client, bot
from croupier.v1 import catalog_pb2
from buf.validate import validate_pb2

with Client(sys.argv[1]) as client:
    match = client.create_match("champion_chess", seats=(OPEN, bot("random")))
    seat = match.seats[0]
    for view in seat.turns():
        seat.submit(view.legal_actions[0])
    print(sum(seat.record().result.scores))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The Python of a fresh environment with the client's wheel and what that depends on."""
    folder = tmp_path_factory.mktemp("client")
    # In a copy, since a build writes beside its sources, where builds of other tests would collide.
    built_before = shutil.ignore_patterns("*_pb2*", "schemas", "*.egg-info", "__pycache__", "build")
    shutil.copytree(ROOT / "clients/python", folder / "source", ignore=built_before)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder]
    command += [folder / "source"]  # The sdist, and from that the wheel.
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    [wheel] = folder.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")  # Nothing is compiled.
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv/bin/python"
    target = ["--python", python, "install", "--no-index", "--no-deps", "--quiet", wheel]
    subprocess.run([sys.executable, "-m", "pip", *target], check=True)
    where = run(python, "-c", "import site; print(site.getsitepackages()[0])").stdout.strip()
    link_dependencies("croupier", Path(where), set())
    return python


def run(*command):
    """Runs a program where no other can be found, such as a compiler."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["PATH"] = "/nowhere"
    return subprocess.run(
        list(map(str, command)), cwd="/", env=environment, capture_output=True, text=True
    )


def link_dependencies(name, site, seen, extras=frozenset({""})):
    """Puts what a distribution depends on into another environment, as links to ours."""
    for line in distribution(name).requires or ():
        needed = Requirement(line)
        markers = needed.marker is None or any(
            needed.marker.evaluate({"extra": extra}) for extra in extras
        )
        if not markers or needed.name in seen:
            continue
        seen.add(needed.name)
        found = distribution(needed.name)
        for file in found.files:
            target = site / file
            if ".." in file.parts or "__pycache__" in file.parts:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(found.locate_file(file))
        link_dependencies(needed.name, site, seen, frozenset(needed.extras) | {""})


def test_the_client_plays_without_compiler_and_server_package(python):
    with ServerProcess("--store", "memory") as server:
        done = run(python, "-c", PLAY, server.client.address)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1.0\n", "")
    for package in ("engine", "service", "cli", "rich"):
        assert run(python, "-c", f"import {package}").returncode == 1


def test_the_terminal_client_says_what_it_lacks(python):
    program = python.with_name("croupier-play")
    done = run(python, program, "skystones")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "croupier-play needs rich: pip install 'croupier[terminal]'\n"


def test_the_terminal_client_plays(python):
    site = run(python, "-c", "import site; print(site.getsitepackages()[0])").stdout.strip()
    link_dependencies("croupier", Path(site), installed(python), frozenset({"terminal"}))
    program = python.with_name("croupier-play")
    with ServerProcess("--store", "memory") as server:
        options = [
            "--server",
            server.client.address,
            "--auto",
            "--hint-iterations",
            "50",
            "--no-color",
        ]
        done = run(python, program, "castle_rampage", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Left" not in done.stdout
    refused = run(python, program, "skystones", "--tls-cert", "/nowhere")
    assert refused.returncode == 2
    assert refused.stderr.startswith("croupier-play: ")


def installed(python):
    code = "from importlib.metadata import distributions as d; print(*(x.name for x in d()))"
    return set(run(python, "-c", code).stdout.split())
