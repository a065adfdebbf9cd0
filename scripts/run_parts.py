"""Runs targets of make, some beside each other, and says how each ended and how long it took.

    scripts/run_parts.py --beside 2 --last test check 'test ARGS=-rs' 'browser SHORT=1'

A part is a target and its variables, as make takes them. What a part prints is kept in
build/parts/TARGET.log, and shown if the part fails; all parts run, whichever fails. With `--last`,
what that part printed comes at the end. With `--retry 'test ARGS=--lf'` a part that has failed runs
once more in this way, alone, when all others have ended; if it passes then, that is said.

Exit status: 0 if all parts have passed.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "build/parts"


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


def run(words: Sequence[str]) -> Part:
    """Runs a part to its end."""
    log = LOGS / f"{words[0]}.log"
    if log.exists():  # of a first try
        log = log.with_suffix(".again.log")
    began = time.monotonic()
    with log.open("wb") as file:
        # make would hand on what the make above it was told.
        environment = {name: text for name, text in os.environ.items() if name != "MAKEFLAGS"}
        command = ["make", "--no-print-directory", *words]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT
        )
    part = Part(words[0], done.returncode == 0, time.monotonic() - began, log)
    print(part, flush=True)
    return part


def main() -> int:
    """Runs the parts that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="+", metavar="PART", type=shlex.split)
    parser.add_argument("--beside", type=int, default=1, metavar="N", help="so many at a time (1)")
    parser.add_argument("--last", metavar="TARGET", help="the part whose output comes at the end")
    parser.add_argument("--retry", action="append", default=[], metavar="PART", type=shlex.split)
    chosen = parser.parse_args()
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    began = time.monotonic()
    with ThreadPoolExecutor(chosen.beside) as pool:
        parts = list(pool.map(run, chosen.parts))
    retries = {words[0]: words for words in chosen.retry}
    ended = [
        (part, None if part.passed or part.target not in retries else run(retries[part.target]))
        for part in parts
    ]
    failed = [part for part, again in ended if not part.passed and not (again and again.passed)]
    print(f"{len(parts)} parts in {time.monotonic() - began:.0f} s; failed: {len(failed)}")
    for part, again in sorted(ended, key=lambda each: each[0].target == chosen.last):
        if not part.passed or part.target == chosen.last:
            part.show()
        if again:
            print(f"\nmake {part.target} FAILED, AND RAN ONCE MORE. Mend what failed first.")
            again.show()
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
