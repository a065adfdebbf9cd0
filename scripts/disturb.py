"""Run a command on a machine that is busy, stops its processes, and has a slow disk.

    scripts/disturb.py                                  # make test
    scripts/disturb.py --times 10 --seed 7 -- COMMAND   # another command, ten times

A test that fails here and passes alone knows how fast the machine is. Meanwhile

- a process keeps one core busy;
- the processes that the command starts are stopped, one at a time, each for about a second. make
  and the process that runs pytest are not, nor is one that a test has stopped before; one that a
  test stops within that second goes on at its end;
- whatever waits for the disk sleeps up to 50 ms first (tests/support/slow_disk.c).

A signal is handed on to the command, and what it leaves running is ended with it.

The seed decides which kinds of processes are stopped, and for how long, but not what they do then.

Exit status: that of the command, or of the first run that failed.
"""

import argparse
import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[1]
TICK = 0.02  # Seconds between two looks at what has ended.
PR_SET_CHILD_SUBREAPER = 36
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(100_000))"
# A process of its own, so that it lets go what it has stopped whatever becomes of this one.
STOP = "trap '' HUP INT TERM; kill -STOP $0 && sleep $1; kill -CONT $0"
SPARED = ("make", "pytest")
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
SECONDS_TO_END = 60


def main() -> int:
    """Run the command as the arguments say, and say what was done."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument(
        "--times", type=int, default=1, help="how often the command runs, 1 or more"
    )
    parser.add_argument("--no-busy", action="store_true", help="keep no core busy")
    parser.add_argument("--no-stops", action="store_true", help="stop no process")
    parser.add_argument("--no-slow-disk", action="store_true", help="leave the disk as it is")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="after --, or make test")
    options = parser.parse_args()
    if options.times < 1:
        parser.error("--times: must be 1 or more")
    print(f"disturb: --seed {options.seed}", file=sys.stderr, flush=True)
    # So whatever is orphaned becomes a child of this process, which finds it and buries it.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in SIGNALS:
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    stopping = Stopping(random.Random(options.seed))
    statuses: list[int] = []
    environment = dict(os.environ)
    with ExitStack() as disturbances:
        if not options.no_slow_disk:
            library = disturbances.enter_context(slow_disk())
            before = os.environ.get("LD_PRELOAD")
            environment["LD_PRELOAD"] = f"{before}:{library}" if before else library
        if not options.no_busy:
            busy = subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True)
            disturbances.callback(busy.kill)
            stopping.spared.add(busy.pid)
        try:
            for _ in range(options.times):
                command = options.command or ["make", "test"]
                with running(command, environment, stopping.spared) as pid:
                    statuses.append(wait_for(pid, None if options.no_stops else stopping))
        finally:
            failed = sum(map(bool, statuses))
            print(f"disturb: {failed} of {len(statuses)} runs failed", file=sys.stderr)
            stopping.report()
    return next(filter(None, statuses), 0)


@contextmanager
def slow_disk() -> Iterator[str]:
    """Build the library to preload."""
    # Not in TMPDIR: a path to preload has no spaces.
    with tempfile.TemporaryDirectory(prefix="disturb-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)  # PostgreSQL runs as another user.
        library, source = f"{folder}/slow_disk.so", ROOT / "tests" / "support" / "slow_disk.c"
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True
        )
        yield library


@contextmanager
def running(
    command: list[str], environment: dict[str, str] | None = None, spared: Collection[int] = ()
) -> Iterator[int]:
    """Run a command; hand on the signal that ends this block, and end what the command has left."""
    # In a session of its own, so that a key in a terminal does not reach it twice.
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        yield process.pid
    except SystemExit as ended:
        for number in SIGNALS:  # Another one changes nothing.
            signal.signal(number, signal.SIG_IGN)
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, int(ended.code or 0) - 128)
            process.wait(SECONDS_TO_END)
        raise
    finally:
        while left := processes_below(os.getpid(), spared):
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(-1, os.WNOHANG)


def processes_below(parent: int, spared: Collection[int]) -> dict[int, str]:
    """Return the state of each process that this one has started, but for some and theirs."""
    below, states = dict[int, list[int]](), dict[int, str]()
    for entry in Path("/proc").iterdir():
        with suppress(ValueError, OSError):
            state, above = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            below.setdefault(int(above), []).append(int(entry.name))
            states[int(entry.name)] = state
    found = [parent]
    for pid in found:  # Which grows.
        found += [child for child in below.get(pid, ()) if child not in spared]
    return {pid: states[pid] for pid in found[1:] if pid in states}


def wait_for(command: int, stopping: "Stopping | None") -> int:
    """Wait until a child ends, bury others that do, and return its status."""
    while True:
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended == command:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        if not ended:
            if stopping:
                stopping.go_on()
            time.sleep(TICK)


class Stopping:
    """Stops processes below this one, now and then, one at a time."""

    def __init__(self, chance: random.Random) -> None:
        self.spared: set[int] = set()  # With all below them.
        self._chance = chance
        self._next = 0.0
        self._stops: Counter[str] = Counter()

    def go_on(self) -> None:
        """Stop a process if it is time to."""
        if time.monotonic() < self._next or not (kinds := self._processes()):
            return
        kind = self._chance.choice(sorted(kinds))
        pid = self._chance.choice(kinds[kind])
        seconds = self._chance.uniform(0.5, 1.5)
        self._next = time.monotonic() + seconds + self._chance.uniform(0.1, 1)
        self._stops[kind] += 1
        command = ["sh", "-c", STOP, str(pid), str(seconds)]
        self.spared.add(subprocess.Popen(command, start_new_session=True).pid)

    def report(self) -> None:
        """Say how often each kind of process was stopped."""
        print(f"disturb: {self._stops.total()} stops", file=sys.stderr)
        for kind, count in self._stops.most_common():
            print(f"{count:8} {kind}", file=sys.stderr)

    def _processes(self) -> dict[str, list[int]]:  # By kind.
        kinds = dict[str, list[int]]()
        for pid, state in processes_below(os.getpid(), self.spared).items():
            if state in "TtZX":
                continue
            with suppress(OSError):
                kind = kind_of(Path(f"/proc/{pid}/cmdline").read_text(errors="replace"))
                if kind and not kind.startswith(SPARED):
                    kinds.setdefault(kind, []).append(pid)
        return kinds


def kind_of(arguments: str) -> str:
    """What a process runs, in two words: its program, or what runs in Python."""
    words = arguments.replace("\0", " ").split()
    names = " ".join(Path(word).name for word in words if not word.startswith("-"))
    return " ".join(re.sub(r"^python\S* ", "", names).split()[:2])[:40]


if __name__ == "__main__":
    sys.exit(main())
