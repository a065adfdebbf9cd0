"""Fuzzes all targets, then a server over the wire, and says how many executions that were.

    python -m tests.fuzz --share 0.1

`--share` scales the numbers of executions: at 1 they are ten million of decoders and a million of
requests over the wire, which takes hours. The processes of the decoders run side by side.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# By target: executions guided by coverage, and without. Records are replayed, so they take longest.
DECODERS = {
    "views": (200_000, 1_000_000),
    "view_bytes": (200_000, 1_500_000),
    "state_bytes": (100_000, 2_400_000),
    "rulesets": (200_000, 700_000),
    "actions": (100_000, 300_000),
    "records": (10_000, 40_000),
    "snapshots": (50_000, 1_500_000),
    "requests": (200_000, 1_000_000),
    "tokens": (100_000, 400_000),
}
REQUESTS = 1_000_000
TRACED = Path("build/fuzz")  # The build that scripts/fuzz.sh makes where there is atheris.
PART = 100_000  # Executions of one process.


def decoders(share, seed, guided):
    """The arguments of each process, with its number of executions."""
    for target, numbers in DECODERS.items():
        left = round(numbers[0] * share) if guided else round(numbers[1] * share)
        part = 0
        while left > 0:
            runs = min(left, PART)
            more = [] if guided else ["--plain"]
            yield [target, *more, "--runs", str(runs), "--seed", str(seed + part)]
            left -= runs
            part += 1


def run(arguments):
    """Run a process of decoders; return its arguments, its output and whether it found nothing."""
    faults = ["--faults", str(Path("build/faults").absolute())]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.decoders", *arguments, *faults],
        cwd=None if "--plain" in arguments else TRACED,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return arguments, done.stdout, done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", choices=("guided", "plain", "requests"))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    failed = False
    for guided in (True, False):
        if options.only not in (None, "guided" if guided else "plain"):
            continue
        if guided and not TRACED.exists():
            continue
        began = time.monotonic()
        total = 0
        with ThreadPoolExecutor(options.jobs) as pool:
            parts = decoders(options.share, options.seed, guided)
            for arguments, output, passed in pool.map(run, parts):
                said = re.search(r"^\w+: (\d+) executions.*", output, re.MULTILINE)
                total += int(said[1]) if said else 0
                coverage = re.findall(r"cov: (\d+)", output)
                print(said[0] if said else f"{arguments[0]}: no result", end="")
                print(f", {coverage[-1]} blocks" if coverage else "", flush=True)
                if not passed:
                    failed = True
                    print(f"FAULT in {' '.join(arguments)}\n{output[-4000:]}", flush=True)
        how = "guided by coverage" if guided else "plain"
        took = time.monotonic() - began
        print(f"decoders, {how}: {total} executions in {took:.0f} s", flush=True)
    if options.only in (None, "requests"):
        requests = ["--requests", str(round(REQUESTS * options.share)), "--seed", str(options.seed)]
        requests.append("--small-caches")
        done = subprocess.run([sys.executable, "-m", "tests.fuzz.requests", *requests])
        failed = failed or done.returncode != 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
