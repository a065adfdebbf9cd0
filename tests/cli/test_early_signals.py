"""A signal ends a server at any moment of its start, also as the first process of a container."""

import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.support.play import seeded

SERVE = (sys.executable, "-m", "cli", "serve", "--listen", "127.0.0.1:0", "--web", "off")
OPTIONS = ("--metrics-port", "0", "--search-processes", "0", "--store", "memory")
# As the first process, of processes of its own.
CONTAINER = ("unshare", "--pid", "--fork", "--kill-child")
END = 30
PROMPTLY = 2.0  # Seconds: by far less than a start takes on a busy machine, or a database's answer.


@pytest.fixture
def start():
    started = []

    def start(*command):
        started.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.communicate()


def handles(pid):
    """Whether a process has a handler of its own for SIGTERM."""
    found = re.search(r"^SigCgt:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return bool(found) and int(found[1], 16) >> (signal.SIGTERM - 1) & 1


def libraries(pid):
    """The shared libraries that a process has loaded so far."""
    return set(re.findall(r"\S+\.so\S*$", Path(f"/proc/{pid}/maps").read_text(), re.MULTILINE))


def has_loaded(pid, count):
    return len(libraries(pid)) >= count


def wait_for(condition):
    until = time.monotonic() + END
    while not condition():
        assert time.monotonic() < until


def ends_well(process, pid, number=signal.SIGTERM):
    began = time.monotonic()
    subprocess.run(["kill", f"-{number}", str(pid)], check=True)
    out, errors = process.communicate(timeout=END)
    assert (process.returncode, out, errors) == (0, "", "")
    assert time.monotonic() - began < PROMPTLY


def test_a_signal_is_handled_before_anything_large_is_imported():
    # From outside, a busy machine sees the moment too late.
    code = """if True:
        import os, runpy, signal, sys
        def tell(number, handler):
            print(*sys.modules, flush=True)
            os._exit(0)
        signal.signal = tell
        sys.argv = ["croupier", "serve"]
        runpy.run_module("cli", run_name="__main__")
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=END)
    imported = set(done.stdout.split())
    assert "cli" in imported, done.stderr
    assert not imported & {"grpc", "uvloop", "google.protobuf", "asyncio", "argparse", "cli.main"}


def test_a_signal_at_any_moment_of_the_start_ends_it(start):
    rng = seeded("moments")
    for _ in range(8):
        server = start(*SERVE, *OPTIONS)
        wait_for(partial(handles, server.pid))
        # A start loads ninety libraries, one after the other, and may serve after the last twenty.
        moment = rng.randrange(70)
        print(f"when it has loaded {moment} libraries")
        wait_for(partial(has_loaded, server.pid, moment))
        ends_well(server, server.pid, rng.choice([signal.SIGTERM, signal.SIGINT]))


def test_the_first_process_of_a_container_takes_an_early_signal(start):
    if not shutil.which("unshare") or subprocess.run([*CONTAINER, "true"]).returncode:
        pytest.skip("this machine permits no namespaces of processes (unshare --pid)")
    outer = start(*CONTAINER, *SERVE, *OPTIONS)
    children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
    wait_for(lambda: children.read_text().strip())
    pid = int(children.read_text())
    wait_for(partial(handles, pid))
    assert f"NSpid:\t{pid}\t1\n" in Path(f"/proc/{pid}/status").read_text()
    ends_well(outer, pid)


def test_a_server_that_waits_for_its_database_ends(start):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(END)
        url = f"postgresql://croupier@127.0.0.1:{silent.getsockname()[1]}/croupier"
        server = start(*SERVE, *OPTIONS[:-1], url)
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(1)
            ends_well(server, server.pid)
