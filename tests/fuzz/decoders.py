"""Fuzzes one target of tests/fuzz/targets.py, with the changes of tests/fuzz/mutations.py.

    python -m tests.fuzz.decoders views --runs 100000 --seed 1

In the traced build that scripts/fuzz.sh makes, atheris (libFuzzer) guides it by the coverage of
the compiled extensions. With --plain, inputs are only drawn at random, in any build and several
times as fast. An input that causes a fault is written to a file; to repeat the fault:

    python -m tests.fuzz.decoders views --fault build/faults/views-crash-...
"""

import argparse
import ctypes
import faulthandler
import hashlib
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

COUNTERS = Path(__file__).with_name("block_counters.c")
# Seconds for one input, of the processor where fuzzing is plain. Most take less than a millisecond.
TIMEOUT = 20
MAX_SECONDS = 6 * 3600  # For one process of plain fuzzing.
MAX_GROWTH = 200  # MiB of memory, after the first tenth of the runs.
MAX_POOL = 5000  # Accepted inputs that plain fuzzing keeps, to change them further.


def load_counters(folder):
    """Compile and load the library that the extensions of the traced build call."""
    library = Path(folder, "block_counters.so")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, COUNTERS], check=True)
    return ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)


def register(counters, core):
    """Connect the counters to libFuzzer, which is a part of an extension of atheris."""
    fuzzer = ctypes.CDLL(core)
    find_type = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)

    def find(name):
        return ctypes.cast(fuzzer[name.decode()], ctypes.c_void_p).value

    counters.block_counters_register(find_type(find))


def memory():
    """The memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def fuzz_plainly(name, runs, seed, faults=None):
    """Run a target with inputs drawn at random; return how many it accepted."""
    from tests.fuzz.mutations import Mutator
    from tests.fuzz.targets import MAX_BYTES, TARGETS, Refused

    target = TARGETS[name]()
    rng = random.Random(f"{name}/{seed}")
    mutator = Mutator(rng)
    pool = list(target.seeds())
    accepted = 0
    for number in range(runs):
        data = target.mutate(rng.choice(pool), mutator, rng.choice(pool))[:MAX_BYTES]
        try:
            target.run(data)
        except Refused:
            continue
        except Exception as error:
            error.add_note(f"{name}, seed {seed}, input {number}: {data.hex()}")
            if faults is not None:
                faults.mkdir(parents=True, exist_ok=True)
                Path(faults, f"{name}-plain-{seed}-{number}").write_bytes(data)
            raise
        accepted += 1
        if len(pool) < MAX_POOL:
            pool.append(data)
        else:
            pool[rng.randrange(MAX_POOL)] = data
    return accepted


def fuzz(name, runs, seed, faults, folder, counters):
    """Run a target, guided by coverage, and exit with the status of libFuzzer."""
    import atheris

    from tests.fuzz.mutations import Mutator
    from tests.fuzz.targets import MAX_BYTES, TARGETS, Refused

    if not counters.block_counters_used():
        sys.exit("the extensions were built without BUILD_FUZZ=1: use scripts/fuzz.sh")
    target = TARGETS[name]()
    corpus = Path(folder, "corpus")
    corpus.mkdir()
    pool = []
    for data in target.seeds():
        pool.append(data)
        (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)
    done = accepted = 0
    settled = None

    def run(data):
        nonlocal done, accepted, settled
        if not done:
            # Not before: atheris loads this extension, which holds libFuzzer, when it starts.
            register(counters, sys.modules["atheris.core_with_libfuzzer"].__file__)
        try:
            target.run(data)
        except Refused:
            pass
        else:
            accepted += 1
        done += 1
        # By then the caches are full.
        if done == max(runs // 10, 1000):
            settled = memory()
        if done == runs:
            # libFuzzer ends the process without Python's own end.
            report()

    def mutate(data, max_size, mutation_seed):
        rng = random.Random(mutation_seed)
        return target.mutate(data, Mutator(rng), rng.choice(pool))[:max_size]

    def report():
        grown = 0 if settled is None else memory() - settled
        print(f"{name}: {done} executions, {accepted} accepted, {grown:+.0f} MiB", flush=True)
        if grown > MAX_GROWTH:
            print(f"{name}: the memory has grown by {grown:.0f} MiB", flush=True)
            os._exit(1)

    faults.mkdir(parents=True, exist_ok=True)
    arguments = [sys.argv[0], f"-runs={runs}", f"-seed={seed}", f"-max_len={MAX_BYTES}"]
    arguments += ["-len_control=0", f"-timeout={TIMEOUT}", "-rss_limit_mb=4096", "-reload=0"]
    arguments += [f"-artifact_prefix={faults}/{name}-", "-print_final_stats=1", str(corpus)]
    atheris.Setup(arguments, run, custom_mutator=mutate)
    atheris.Fuzz()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target")
    parser.add_argument("--plain", action="store_true", help="draw inputs at random")
    parser.add_argument("--fault", type=Path, help="a file to run the target with, once")
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=Path, default=Path("build/faults"))
    options = parser.parse_args()
    faults = options.faults.absolute()
    with tempfile.TemporaryDirectory() as folder:
        # The extensions look for the counters when they are loaded.
        counters = load_counters(folder)
        from tests.fuzz.targets import TARGETS

        if options.fault:
            TARGETS[options.target]().run(options.fault.read_bytes())
        elif options.plain:
            before = memory()
            # A hang shows where it hangs.
            faulthandler.dump_traceback_later(MAX_SECONDS, exit=True)
            accepted = fuzz_plainly(options.target, options.runs, options.seed, faults)
            grown = memory() - before
            print(
                f"{options.target}: {options.runs} executions, {accepted} accepted, "
                f"{grown:+.0f} MiB"
            )
        else:
            fuzz(options.target, options.runs, options.seed, faults, folder, counters)


if __name__ == "__main__":
    main()
