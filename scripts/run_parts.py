"""Runs targets of make, some beside each other, and says how each ended and how long it took.

    scripts/run_parts.py --beside 2 --last test check 'test ARGS=-rs' 'browser SHORT=1'

A part is a target and its variables, as make takes them. What a part prints is kept in
build/parts/TARGET.log, and shown if the part fails; all parts run, whichever fails. With `--last`,
what that part printed comes at the end.

With `--retry 'test ARGS=--lf'` a part whose command has ended with 1, as pytest does that ran to
its end and saw tests fail, runs once more in this way, alone, when all others have ended; if it
passes then, that is said. Any other end is not tried again.

A signal ends the parts, too. A part that takes longer than `--minutes` is ended, and has failed.

Exit status: 0 if all parts have passed.
"""

import argparse
import contextlib
import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "build/parts"
# What make would hand on from the make above it, and what the part shall not take for its own.
NOT_HANDED_ON = {"MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKELEVEL", "ARGS", "SHORT"}
# As vitest says it, and the tests of the page.
RETRIED = re.compile(r"^.*(?:\(retry x\d+\)|A try has failed, ).*$", re.MULTILINE)
TO_ITS_END = re.compile(rb"^make: \*\*\* \[.*\] Error 1$", re.MULTILINE)
SECONDS_TO_END = 2

_running = set[subprocess.Popen[bytes]]()
_starting = threading.Lock()  # Lest a signal comes when a part runs and is not known to.


class Part(NamedTuple):
    """How a part has ended."""

    target: str
    passed: bool
    seconds: float
    log: Path

    def __str__(self) -> str:
        return f"make {self.target}: {'passed' if self.passed else 'FAILED'}, {self.seconds:.0f} s"

    def show(self) -> None:
        """Prints what the part has printed."""
        print(f"\n--- {self} ({self.log.relative_to(ROOT)})", flush=True)
        sys.stdout.buffer.write(self.log.read_bytes())
        sys.stdout.flush()


def run(words: Sequence[str], minutes: float) -> Part:
    """Runs a part to its end."""
    log = LOGS / f"{words[0]}.log"
    if log.exists():  # of a first try
        log = log.with_suffix(".again.log")
    began = time.monotonic()
    with log.open("wb") as file:
        environment = {name: text for name, text in os.environ.items() if name not in NOT_HANDED_ON}
        with _starting:
            process = subprocess.Popen(
                ["make", "--no-print-directory", *words],
                cwd=ROOT,
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # To end it with all that it has started.
            )
            _running.add(process)
        try:
            process.wait(minutes * 60)
        except subprocess.TimeoutExpired:
            end(process)
            process.wait()
            file.write(f"\nEnded after {minutes:g} minutes.\n".encode())
        _running.discard(process)
    part = Part(words[0], process.returncode == 0, time.monotonic() - began, log)
    print(part, *RETRIED.findall(log.read_text(errors="replace")), sep="\n", flush=True)
    return part


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a part, with all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        time.sleep(SECONDS_TO_END)
        os.killpg(process.pid, signal.SIGKILL)


def end_all(number: int, frame: object) -> None:
    """Ends all parts, and then this process, at a signal."""
    with _starting:
        for process in list(_running):
            end(process)
        os._exit(128 + number)


def main() -> int:
    """Runs the parts that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", metavar="PART", type=shlex.split)
    parser.add_argument("--beside", type=int, default=1, metavar="N", help="so many at a time (1)")
    parser.add_argument("--last", metavar="TARGET", help="the part whose output comes at the end")
    parser.add_argument("--retry", action="append", default=[], metavar="PART", type=shlex.split)
    parser.add_argument("--minutes", type=float, default=120, help="of a part, at most (120)")
    chosen = parser.parse_args()
    LOGS.parent.mkdir(exist_ok=True)
    lock = os.open(LOGS.with_suffix(".lock"), os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("Parts run here already: two runs need two clones.")
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end_all)
    began = time.monotonic()
    with ThreadPoolExecutor(chosen.beside) as pool:
        running = [pool.submit(run, words, chosen.minutes) for words in chosen.parts]
        # A signal that comes just before this thread waits is seen when it wakes.
        while wait(running, timeout=1).not_done:
            pass
        parts = [each.result() for each in running]
    retries = {words[0]: words for words in chosen.retry}

    def again(part: Part) -> Part | None:
        if part.passed or part.target not in retries:
            return None
        to_its_end = TO_ITS_END.search(part.log.read_bytes())
        return run(retries[part.target], chosen.minutes) if to_its_end else None

    ended = [(part, again(part)) for part in parts]
    failed = [part for part, second in ended if not (part.passed or (second and second.passed))]
    print(f"{len(parts)} parts in {time.monotonic() - began:.0f} s; failed: {len(failed)}")
    for part, second in sorted(ended, key=lambda each: each[0].target == chosen.last):
        if not part.passed or part.target == chosen.last:
            part.show()
        if second:
            print(f"\nmake {part.target} FAILED, AND RAN ONCE MORE. Mend what failed first.")
            second.show()
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
