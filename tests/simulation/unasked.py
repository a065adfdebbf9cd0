"""Which faults at the seams (`seams.py`) no judge notices: `python -m tests.simulation --seams`.

First some worlds without faults note what could go wrong in them, and when for the first time. Then
each fault has the world in which it comes first, which ends with the first alarm, and another one
if nobody noticed it. Worlds are children of processes that have imported everything.
"""

import json
import os
import random
import secrets
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from queue import SimpleQueue

HOURS, MATCHES, PACE = 0.12, 5, 6.0
RUN_SECONDS = 240  # Of the processor, for one world.
# Seeds, logs and what goes wrong in the worlds: little, so that nothing else excuses a fault.
WORLDS = (
    (7003, "sqlite", []),
    (7002, "postgresql", []),
    (7010, "sqlite", []),
    (7007, "postgresql", []),
    (7011, "sqlite", []),
    (7005, "postgresql", ["stops"]),
)
TRIES = 2
NOTHING = "nobody notices"
LEAST = 0.9  # The share that must be noticed, as 97 of 100 that were drawn are.

# What changes nothing that the API or the store promises, and why.
HARMLESS = {
    "store list_updates told.updates.created *": "only `list_running` is asked for it",
    "store save_snapshot *": "a snapshot may be missing, old or of another branch",
    "store append  refused": "who is told so reads the log, and finds its entry",
    "store replace_ahead  refused": "as with `append`",
    "store reschedule  *": "the match is due earlier or later, and looked at again",
    "store list_* asked.limit more": "a page may be a little longer",
    "search bot report.hint.[!a]*": "a bot takes the action alone",
    "search bot report.hint.actions*": "a bot takes the action alone",
    "search bot report.*_time *": "a bot takes the action alone",
    "search * task.requester.rank *": "it is a matter of speed",
    "search * task.details *": "it is a matter of speed",
    "answer * *.message *": "words for people",
    "request *.record.result.ending*": "a match is played on by the entries of a record",
    "request * timeout lost": "the client keeps its deadlines itself",
}


def harmless(name):
    """Why nobody need notice a fault; empty if somebody must."""
    return next((why for each, why in HARMLESS.items() if fnmatchcase(name, each)), "")


# One process, and a child for each world


def serve():
    """Runs the worlds that are asked for in lines of the standard input."""
    from tests.simulation import replaced

    replaced.install()
    from tests.simulation import seams, world  # noqa: F401  # Once for all children.

    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            signal.setitimer(signal.ITIMER_PROF, RUN_SECONDS)  # Which ends it.
            with open(writing, "w") as told:
                json.dump(_run(**json.loads(line)), told)
            os._exit(0)
        os.close(writing)
        with open(reading) as told:
            found = told.read()
        os.waitpid(child, 0)
        print(found or json.dumps({"met": {}, "violations": ["the run does not end"]}), flush=True)


def _run(seed, store, faults, fault):
    from tests.simulation.replaced import real_process_time
    from tests.simulation.seams import Seams, read
    from tests.simulation.world import World

    world = World(seed, hours=HOURS, matches=MATCHES, faults=faults, store=store, pace=PACE)
    seams = Seams(read(fault) if fault else None)
    seams.plant(world.loop)
    try:
        violations = world.run()
    except Exception as error:  # An answer that no client can make anything of is noticed.
        where = traceback.extract_tb(error.__traceback__)[-1]
        violations = [f"{type(error).__name__} in {where.name}, line {where.lineno}: {error}"]
    return {"met": seams.met, "violations": violations, "seconds": real_process_time()}


class Worlds:
    """Processes that run worlds."""

    def __init__(self, number):
        command = [sys.executable, "-m", "tests.simulation", "--seams-child"]
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        self._free = SimpleQueue()
        self.pool = ThreadPoolExecutor(number)
        self._processes = [
            subprocess.Popen(
                command,
                cwd=Path(__file__).resolve().parents[2],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(number)
        ]
        for each in self._processes:
            self._free.put(each)

    def run(self, world, fault=""):
        """What a world shows."""
        process = self._free.get()
        try:
            asked = dict(zip(("seed", "store", "faults"), world, strict=True), fault=fault)
            process.stdin.write(f"{json.dumps(asked)}\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())
        finally:
            self._free.put(process)

    def note(self, worlds=WORLDS):
        """The faults that could be in some worlds, each with its worlds, the earliest first."""
        met = {}
        for world, found in zip(worlds, self.pool.map(self.run, worlds), strict=True):
            if found["violations"]:
                raise SystemExit(f"world {world} fails without a fault: {found['violations']}")
            for name, at in found["met"].items():
                met.setdefault(name, []).append((at, world))
        return {name: [world for _, world in sorted(found)] for name, found in met.items()}

    def judge(self, name, worlds):
        """By what a fault shows in one of the worlds; NOTHING, or empty if it is never met."""
        shown = ""
        for world in worlds[:TRIES]:
            found = self.run(world, name)
            if found["violations"]:
                return " ".join(found["violations"][0].split())
            shown = NOTHING if found["met"] else shown
        return shown

    def close(self):
        """Ends the processes."""
        self.pool.shutdown(cancel_futures=True)
        for each in self._processes:
            each.stdin.close()
            each.wait()


def find_all(globs, sample, seed, workers):
    """Judges all faults whose names fit, or some of them, and prints what nobody notices."""
    from tests.simulation.seams import described

    worlds = Worlds(workers)
    try:
        return _find_all(worlds, globs, sample, seed, set(map(str, described())))
    finally:
        worlds.close()


def _find_all(worlds, globs, sample, seed, all_described):
    met = worlds.note()
    known = sorted({*met, *all_described})
    chosen = [each for each in known if any(fnmatchcase(each, glob) for glob in globs or ["*"])]
    if sample:
        chosen = [each for each in chosen if each in met and not harmless(each)]
    if sample and sample < len(chosen):
        seed = seed or secrets.randbelow(10**6)
        print(f"{sample} of {len(chosen)} are drawn by --seed {seed}", flush=True)
        chosen = sorted(random.Random(str(seed)).sample(chosen, sample))
    print(f"{len(chosen)} of {len(known)} faults, of which {len(met)} can be met", flush=True)
    counts, began = Counter(), time.monotonic()
    meeting = [each for each in chosen if each in met and not harmless(each)]
    counts["harmless"] = sum(bool(harmless(each)) for each in chosen)
    judging = worlds.pool.map(lambda each: worlds.judge(each, met[each]), meeting)
    for number, (name, shown) in enumerate(zip(meeting, judging, strict=True)):
        what = {NOTHING: NOTHING, "": "never met"}.get(shown, "noticed")
        counts[what] += 1
        left = (time.monotonic() - began) / (number + 1) * (len(meeting) - number - 1)
        if what != "noticed" or globs:
            print(f"{name}: {shown[:160] or what}", flush=True)
        if number % 20 == 19:
            print(f"-- {number + 1} of {len(meeting)}, {left / 60:.0f} min left", flush=True)
    counts["never met"] += len(chosen) - len(meeting) - counts["harmless"]
    for each in chosen:
        if each not in met and not harmless(each):
            print(f"{each}: never met", flush=True)
    judged = counts["noticed"] + counts[NOTHING]
    share = counts["noticed"] / judged if judged else 1.0
    told = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
    print(f"{told}; {share:.1%} of those that were met are noticed", flush=True)
    return int(share < LEAST)
