"""Runs simulated worlds: `python -m tests.simulation`, or `make simulate`.

Each world is a number, its seed, and a process of its own. The same seed gives the same run, byte
for byte. If a world finds a fault of the product, it is run again with less and less in it, and the
story of the smallest world that still shows a fault is printed. With --mutants, faults are planted
(tests/simulation/mutants.txt) to find out which of them the simulation finds. With --deaths, each
piece of background work dies once, in a world of its own. With --seams, what is told at the seams
is changed, and what no judge notices of that is printed (tests/simulation/unasked.py).
"""

import argparse
import hashlib
import json
import math
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.simulation import FAULTS, MEMORY, STORES, mutants, unasked
from tests.support import faulty_disk

ROOT = Path(__file__).resolve().parents[2]
HOURS, MATCHES, PACE = 0.5, 8, 6.0
STORY_LINES = 60
RUN_SECONDS = 1800
SHRINK_SECONDS = 600  # In which a smaller world is looked for.
MUTANT_HOURS = 6.0
FAILED = "the run has failed"


def main():
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--seed", help="the first seed (default: a random number, which is printed)")
    add("--seeds", type=int, default=4, help="how many worlds (default: %(default)s)")
    add("--hours", type=float, default=HOURS, help="of each world (default: %(default)s)")
    add("--matches", type=int, default=MATCHES, help="at a time (default: %(default)s)")
    add("--pace", type=float, default=PACE, help="seconds a player thinks (default: %(default)s)")
    known = ", ".join(FAULTS)
    add("--faults", help=f"what goes wrong, of {known} (default: all, or two, as the seed says)")
    add("--store", choices=STORES, help="the log (default: as the seed says)")
    add("--story", action="store_true", help="print the whole story of the first world")
    add("--mutants", nargs="*", metavar="NAME", help="plant these faults, or all")
    add("--mutant-hours", type=float, default=MUTANT_HOURS, help="for each (default: %(default)s)")
    add("--deaths", nargs="*", metavar="NAME", help="let this background work die, or all")
    add("--seams", nargs="*", metavar="GLOB", help="change what is told where names fit, or all")
    add("--sample", type=int, help="so many of the faults at seams, drawn by --seed")
    add("--workers", type=int, default=os.cpu_count(), help="processes (default: %(default)s)")
    add("--child", action="store_true", help=argparse.SUPPRESS)
    add("--seams-child", action="store_true", help=argparse.SUPPRESS)
    add("--plant", help=argparse.SUPPRESS)
    add("--death", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.faults is not None:
        chosen.faults = [each for each in chosen.faults.split(",") if each]
    if unknown := set(chosen.faults or ()) - set(FAULTS):
        parser.error(f"there is no fault {', '.join(sorted(unknown))}; there are {known}")
    if chosen.child:
        _be_a_world(chosen)
    if chosen.seams_child:
        sys.exit(unasked.serve())
    if chosen.seams is not None:
        sys.exit(unasked.find_all(chosen.seams, chosen.sample, chosen.seed, chosen.workers))
    with tempfile.TemporaryDirectory(prefix="croupier-simulation-") as folder:
        disk = faulty_disk.build(Path(folder))
        if chosen.mutants is not None:
            sys.exit(_find_all(chosen, disk))
        if chosen.deaths is not None:
            sys.exit(_survive_all(chosen, disk))
        sys.exit(_simulate(chosen, disk))


# One world


def _be_a_world(chosen):
    if chosen.plant:
        mutants.plant(chosen.plant)
    from tests.simulation import replaced

    replaced.install()
    from tests.simulation.deaths import Death, drawn
    from tests.simulation.world import World

    began = replaced.real_process_time()
    world = World(
        chosen.seed,
        hours=chosen.hours,
        matches=chosen.matches,
        faults=chosen.faults,
        store=chosen.store,
        pace=chosen.pace,
    )
    world.death = Death(chosen.death) if chosen.death else drawn(world)
    try:
        violations = world.run()
    except Exception as error:  # Whatever it is, it belongs to the story.
        violations = [f"{type(error).__name__}: {error}"]
        import traceback

        world.story += traceback.format_exc().splitlines()
    story = "\n".join(world.story)
    json.dump(
        {
            "violations": violations,
            "hours": world.now / 3600,
            "store": world.store,
            "faults": sorted(world.faults),
            "counts": dict(world.counts),
            "called": sorted(world.called),
            "history": hashlib.sha256(story.encode()).hexdigest(),
            "seconds": replaced.real_process_time() - began,
            "story": story,
        },
        sys.stdout,
    )
    sys.stdout.flush()
    # The tasks of dead servers must not come to their ends now.
    os._exit(0)


def _run(disk, seed, *, plant=None, death=None, timeout=RUN_SECONDS, **options):
    hours, matches, faults, store, pace = (
        options[name] for name in ("hours", "matches", "faults", "store", "pace")
    )
    command = [sys.executable, "-m", "tests.simulation", "--child", "--seed", str(seed)]
    command += ["--hours", str(hours), "--matches", str(matches), "--pace", str(pace)]
    command += [] if faults is None else ["--faults", ",".join(faults)]
    command += ["--store", store] if store else []
    command += ["--plant", plant] if plant else []
    command += ["--death", death] if death else []
    with tempfile.TemporaryDirectory(prefix="croupier-disk-", dir=MEMORY) as folder:
        environment = faulty_disk.FaultyDisk(Path(folder), disk).environment
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env={**environment, "PYTHONHASHSEED": "0"},
                capture_output=True,
                text=True,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            return {"violations": ["the run does not end"], "hours": 0.0, "story": "", "store": ""}
    try:
        return json.loads(done.stdout)
    except ValueError:
        why = done.stderr.strip().splitlines()[-1:] or ["nothing"]
        return {
            "violations": [f"{FAILED}: {why[0]}"],
            "hours": 0.0,
            "story": done.stderr[-3000:],
            "store": "",
        }


# Many worlds


def _simulate(chosen, disk):
    seed = chosen.seed or str(secrets.randbelow(10**6))
    first = int(seed) if seed.isdecimal() else None
    seeds = [seed] if first is None else [first + number for number in range(chosen.seeds)]
    options = {
        "hours": chosen.hours,
        "matches": chosen.matches,
        "faults": chosen.faults,
        "store": chosen.store,
        "pace": chosen.pace,
    }
    print(f"{len(seeds)} worlds from seed {seeds[0]}, {chosen.hours:g} h each", flush=True)
    hours = seconds = 0.0
    with ThreadPoolExecutor(chosen.workers) as pool:
        runs = [(each, pool.submit(_run, disk, each, **options)) for each in seeds]
        for each, run in runs:
            found = run.result()
            hours += found["hours"]
            seconds += found.get("seconds", 0.0)
            _print_world(each, found)
            if chosen.story and each == seeds[0]:
                print(found["story"])
            if found["violations"]:
                pool.shutdown(cancel_futures=True)
                faults = found.get("faults", options["faults"] or FAULTS)
                _tell_smallest(disk, each, {**options, "faults": faults}, found)
                return 1
    rate = 3600 * hours / seconds if seconds else 0.0
    print(f"{hours:.1f} h in {seconds:.0f} s of a processor: {rate:.0f} h an hour; no fault found")
    return 0


def _print_world(seed, found):
    counts = ", ".join(
        f"{number} {what}" for what, number in sorted(found.get("counts", {}).items())
    )
    what = "; ".join(found["violations"]) or "well"
    print(
        f"seed {seed}: {found['hours']:.2f} h, {found['store']}, {counts}; "
        f"history {found.get('history', '')[:12]}: {what}",
        flush=True,
    )


def _tell_smallest(disk, seed, options, found):
    # Each run has less in it than the smallest one so far, and all of them together an end.
    print("a smaller world is looked for", flush=True)
    smaller, shape = dict(options), _shape(found)
    hours = math.ceil(100 * found["hours"]) / 100
    changes = [("hours", hours), ("matches", 1), ("matches", 2), ("matches", 4)]
    until = time.monotonic() + SHRINK_SECONDS
    for name, value in [*changes, *(("faults", less) for less in options["faults"])]:
        left = until - time.monotonic()
        if left <= 0:
            print(f"no longer than {SHRINK_SECONDS} s", flush=True)
            break
        if name == "faults":
            value = [each for each in smaller["faults"] if each != value]
        elif value >= smaller[name]:
            continue
        tried = _run(disk, seed, **{**smaller, name: value}, timeout=min(left, RUN_SECONDS))
        what = "not the same fault"
        if _shape(tried) == shape:
            smaller[name], found = value, tried
            what = _command(seed, smaller, found)
        print(f"  {name} {value}: {what}", flush=True)
    lines = found["story"].splitlines()
    # What led to the fault, and below it the entries of the matches that it names.
    failed = (number for number, line in enumerate(lines) if "VIOLATION" in line)
    print("\n".join(lines[max(0, next(failed, len(lines)) - STORY_LINES) :]))
    print("; ".join(found["violations"]))
    print(f"again: {_command(seed, smaller, found)}", flush=True)


def _command(seed, options, found):
    faults = ",".join(options["faults"]) or "''"
    return (
        f"python -m tests.simulation --seed {seed} --seeds 1 --hours {options['hours']:g} "
        f"--matches {options['matches']} --faults {faults} --store {found['store'] or 'sqlite'}"
    )


def _shape(found):
    # How a fault shows, without names and numbers: another fault would not explain this one.
    first = next(iter(found["violations"]), "")
    return re.sub(r"matches/\w+ \(\w+\)|'[a-z0-9]{20,}'|[\d.]+", "_", first)


# Planted faults


def _find_all(chosen, disk):
    known = {each.name: each for each in mutants.MUTANTS}
    if unknown := set(chosen.mutants) - set(known):
        sys.exit(f"there is no planted fault {', '.join(sorted(unknown))}")
    named = [known[name] for name in chosen.mutants or known]
    print(f"{len(named)} planted faults, at most {chosen.mutant_hours:g} h each", flush=True)
    missed = []
    with ThreadPoolExecutor(chosen.workers) as pool:
        runs = [pool.submit(_find, chosen, disk, each) for each in named]
        for each, run in zip(named, runs, strict=True):
            hours, why = run.result()
            print(f"{each.name:40}{hours:8.2f} h  {why or 'NOT FOUND'}", flush=True)
            if not why or why.startswith(FAILED):
                missed.append(each.name)
    found = len(named) - len(missed)
    print(f"{found} of {len(named)} found ({found / len(named):.1%})")
    return 0


def _survive_all(chosen, disk):
    from tests.simulation import deaths

    names = chosen.deaths or deaths.NAMES
    dying = [
        (f"{name}/{way}", store)
        for name in names
        for way in deaths.WAYS
        for store in ((chosen.store,) if chosen.store else deaths.stores_of(name))
    ]
    with ThreadPoolExecutor(chosen.workers) as pool:
        runs = [pool.submit(_survive, chosen, disk, *each) for each in dying]
        for (death, store), run in zip(dying, runs, strict=True):
            print(f"{death:24}{store:12}{run.result()[:300]}", flush=True)
    return 0


def _survive(chosen, disk, death, store):
    # What is felt of a death, or missing after it, in the first world in which the work begins.
    from tests.simulation import deaths

    options = {"hours": chosen.hours, "matches": chosen.matches, "pace": chosen.pace}
    options["faults"] = chosen.faults or deaths.FAULTS.get(death.partition("/")[0], [])
    first = int(chosen.seed or 1)
    for seed in range(first, first + deaths.WORLDS):
        found = _run(disk, seed, death=death, store=store, **options)["violations"]
        if found != [deaths.NEVER]:
            break
    return " ".join("; ".join(found).split()) or "well"


def _find(chosen, disk, mutant):
    # The simulated hours until a fault is found, and how it shows.
    hours, seed = 0.0, int(chosen.seed or 1)
    stores = [each for each in STORES if f".{each}" in mutant.module] or STORES
    stores = (chosen.store,) if chosen.store else stores
    # Worlds without other faults have deaths of background work.
    faults = [] if mutant.module == "service.common.tasks" else chosen.faults
    while hours < chosen.mutant_hours:
        found = _run(
            disk,
            seed,
            hours=chosen.hours,
            matches=chosen.matches,
            faults=faults,
            store=stores[seed % len(stores)],
            pace=chosen.pace,
            plant=mutant.name,
        )
        hours += found["hours"]
        if found["violations"]:
            return hours, " ".join(found["violations"][0].split())[:160]
        seed += 1
    return hours, ""


if __name__ == "__main__":
    main()
