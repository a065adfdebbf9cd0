"""A signal ends a server at any moment of its start, also as the first process of a container."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.long_form import LONG_FORM
from tests.support.play import seeded

OPTIONS = ("--listen", "127.0.0.1:0", "--web", "off", "--metrics-port", "0")
OPTIONS += ("--search-processes", "0", "--store", "memory")
# A start that waits at an import, by its number, once it handles signals.
WAITING = """if True:
    import os, runpy, signal, sys
    left = int(sys.argv.pop(1))
    class Waiting:
        def find_spec(self, *_):
            global left
            left -= signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
            if left == 0:
                print("waits", flush=True)
                sys.stdin.read()
    sys.meta_path.insert(0, Waiting())
    runpy.run_module("cli", run_name="__main__")
"""
IMPORTS = 600  # At least so many follow.
# As the first process, of processes of its own.
CONTAINER = ("unshare", "--pid", "--fork", "--kill-child")


@pytest.fixture
def start():
    started = []

    def start(*command):
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.communicate()


def waiting(moment):
    """The command of a server that waits at a moment of its start."""
    return (sys.executable, "-c", WAITING, str(moment), "serve", *OPTIONS)


def ends_well(process, pid, number=signal.SIGTERM):
    # What it waits for does not come.
    os.kill(pid, number)
    assert process.wait() == 0
    assert (process.stdout.read(), process.stderr.read()) == ("", "")


def test_a_signal_is_handled_before_anything_large_is_imported():
    code = """if True:
        import os, runpy, signal, sys
        def tell(number, handler):
            print(*sys.modules, flush=True)
            os._exit(0)
        signal.signal = tell
        sys.argv = ["croupier", "serve"]
        runpy.run_module("cli", run_name="__main__")
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    imported = set(done.stdout.split())
    assert "cli" in imported, done.stderr
    assert not imported & {"grpc", "uvloop", "google.protobuf", "asyncio", "argparse", "cli.main"}


def test_a_signal_at_any_moment_of_the_start_ends_it(start):
    rng = seeded("moments")
    for _ in range(12 if LONG_FORM else 3):
        moment = rng.randrange(1, IMPORTS)
        print(f"at the import {moment}")
        server = start(*waiting(moment))
        assert server.stdout.readline() == "waits\n"
        ends_well(server, server.pid, rng.choice([signal.SIGTERM, signal.SIGINT]))


def test_the_first_process_of_a_container_takes_an_early_signal(start):
    if not shutil.which("unshare") or subprocess.run([*CONTAINER, "true"]).returncode:
        pytest.skip("this machine permits no namespaces of processes (unshare --pid)")
    outer = start(*CONTAINER, *waiting(1))
    assert outer.stdout.readline() == "waits\n"
    pid = int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text())
    assert f"NSpid:\t{pid}\t1\n" in Path(f"/proc/{pid}/status").read_text()
    ends_well(outer, pid)


def test_a_server_that_waits_for_its_database_ends(start):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://croupier@127.0.0.1:{silent.getsockname()[1]}/croupier"
        server = start(sys.executable, "-m", "cli", "serve", *OPTIONS[:-1], url)
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(1)
            ends_well(server, server.pid)


def test_files_are_read_again_after_a_start_that_was_told_to(start):
    server = start(*waiting(1))
    assert server.stdout.readline() == "waits\n"
    server.send_signal(signal.SIGHUP)
    server.stdin.close()
    server.stdin = None  # For what reads the rest.
    assert any("reload: the log level" in line for line in server.stderr)
    server.terminate()
    assert server.wait() == 0
