import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import wait_until

SCRIPT = Path(__file__).parents[1] / "scripts" / "disturb.py"
ENDS_WHEN_IT_GOES_ON = """
import signal, sys
signal.signal(signal.SIGCONT, lambda *_: sys.exit(7))
while True: signal.pause()
"""


def disturbed(*command, off=("busy", "slow-disk"), **options):
    line = [sys.executable, SCRIPT, *(f"--no-{each}" for each in off), "--", *command]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


def test_a_process_is_stopped_and_goes_on_and_its_status_is_passed_on():
    process = disturbed(sys.executable, "-c", ENDS_WHEN_IT_GOES_ON)
    _, said = process.communicate()
    assert process.returncode == 7
    assert b"1 of 1 runs failed" in said
    assert b"import signal," in said  # The kind of what was stopped.


@pytest.mark.parametrize("number", (signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
def test_nothing_stays_stopped_when_the_script_is_ended(number):
    process = disturbed("sh", "-c", "echo $$; exec sleep 100000")
    child = int(process.stdout.readline())
    wait_until(lambda: state_of(child) == "T", lambda: f"a stop of {child}")
    process.send_signal(number)
    process.wait()
    wait_until(lambda: state_of(child) != "T", lambda: f"{child} to go on")
    if number == signal.SIGKILL:
        os.kill(child, signal.SIGKILL)
    process.communicate()
    assert number == signal.SIGKILL or state_of(child) == "gone"


def test_a_slow_disk_passes_calls_on_and_leaves_other_libraries():
    code = "import os; print(os.environ['LD_PRELOAD'], flush=True); os.fsync(0); os.fsync(99)"
    environment = {**os.environ, "LD_PRELOAD": "libc.so.6"}
    with open(__file__) as file:
        process = disturbed(
            sys.executable, "-c", code, off=("busy", "stops"), env=environment, stdin=file
        )
        said, error = process.communicate()
    assert said.startswith(b"libc.so.6:") and said.endswith(b"slow_disk.so\n")
    assert b"Bad file descriptor" in error.splitlines()[-3]
    assert process.returncode == 1
