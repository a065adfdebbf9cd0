"""Check that a hint has the same bytes whatever compiler built the server, and on whatever libm.

The engine and the search are built several times in build/same_hints/: with gcc, with clang at
another level of optimization, and with flags that ask for fused multiply-adds, over which those of
setup.py must win. Each build answers the same questions; so does the first once more, on a libm
whose results are all a little too large. All answers must be equal. Needs gcc and clang. Exit
status: 0 if they are, else 1.
"""

import math
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build/same_hints"
HINTS = 40  # For each game.
ITERATIONS = 400
WORLDS = 100  # For the beliefs of a hint.
SHOWN = 3  # Answers that differ, of each build.

FUSED = "-ffp-contract=fast" + (" -mfma" if os.uname().machine == "x86_64" else "")
# Each build: its compiler, with what comes after all other flags, and its CFLAGS.
BUILDS = {
    "gcc": ('gcc "$@"', ""),
    "clang": ('clang "$@" -O2', ""),
    "fused": ('gcc "$@"', FUSED),
}

# A libm whose results are too large by 1 in 2^28 or less: far more than any libm is wrong, since a
# difference in the last bit seldom changes an answer, and what depends on libm must show.
LIBM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

static double wrong(double x) {
    unsigned long long bits;
    memcpy(&bits, &x, 8);
    if (x == x && x != 0 && x - x == 0) bits += 1 << 24;
    memcpy(&x, &bits, 8);
    return x;
}
#define ONE(name) double name(double x) { \\
    return wrong(((double (*)(double)) dlsym(RTLD_NEXT, #name))(x)); }
#define TWO(name) double name(double x, double y) { \\
    return wrong(((double (*)(double, double)) dlsym(RTLD_NEXT, #name))(x, y)); }
ONE(exp) ONE(exp2) ONE(expm1) ONE(log) ONE(log2) ONE(log10) ONE(log1p) ONE(erf) ONE(erfc)
ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan) ONE(sinh) ONE(cosh) ONE(tanh)
ONE(cbrt) ONE(lgamma) ONE(tgamma) TWO(pow) TWO(atan2) TWO(hypot)
"""


# What each build answers, in a process of its own


def answers() -> Iterator[str]:
    """Yield the fingerprint of the search, and hints at positions of random matches, as text."""
    from ai.principal_lines import PrincipalLines
    from ai.search import Search
    from engine import games
    from engine.model import learned
    from engine.position import Position
    from engine.sampler import Sampler
    from lab.search_bench.__main__ import fingerprint

    yield f"fingerprint {fingerprint()}"
    for game_id, game_class in games().items():
        for seed in range(HINTS):
            chance = random.Random(seed)
            game = game_class()
            position = Position.deal(game, seed)
            for _ in range(seed):
                before = position.copy()
                joint = {seat: chance.choice(position.legal(seat)) for seat in position.deciders}
                position.apply(joint, chance.getrandbits(64))
                if position.over:
                    position = before
                    break
            view = position.view(position.deciders[0])
            for model in [None, *filter(None, [learned(game)])]:
                sampler = Sampler.of(view, model)
                found = Search(view, seed=seed, sampler=sampler, max_iterations=ITERATIONS)
                found.run(iterations=ITERATIONS)
                result = found.result()
                lines = PrincipalLines(found)
                best = [each.action for each in result.actions[:3]]
                yield f"{game_id}, seed {seed}, {model and model.name}: {result}"
                yield f"  lines {[lines.line(action) for action in best]}"
                yield f"  comparison {lines.compare(best, playouts=50)}"
                yield f"  {sampler.beliefs(WORLDS, seed)}"


# The builds


def build(name: str) -> Path:
    """Build the engine and the search in a folder of their own, and return the folder."""
    compiler, flags = BUILDS[name]
    folder = FOLDER / name
    subprocess.run([ROOT / "scripts/copy_sources.sh", folder.relative_to(ROOT)], check=True)
    for place in ("lab", "service"):
        for source in (folder / place).rglob("*.pyx"):
            source.unlink()
    script = FOLDER / f"{name}.sh"
    script.write_text(f"#!/bin/sh\nexec {compiler}\n")
    script.chmod(0o755)
    environment = {**os.environ, "CC": str(script), "CFLAGS": f"-w {flags}"}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return folder


def answers_of(folder: Path, preload: str = "") -> list[str]:
    """Return what the build in a folder answers."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "LD_PRELOAD": preload}
    command = [sys.executable, "-P", str(Path(__file__)), "--answer"]
    run = subprocess.run(
        command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    where, exponential, *lines = run.stdout.splitlines()
    if Path(where).parents[1] != folder:
        raise RuntimeError(f"the answers are of {where}, not of {folder}")
    if preload and exponential == math.exp(1).hex():
        raise RuntimeError("the libm that is wrong is not used")
    return lines


def main() -> int:
    """Build, ask and compare."""
    if sys.argv[1:] == ["--answer"]:
        import engine

        print(engine.__file__, math.exp(1).hex(), *answers(), sep="\n")
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    source, library = FOLDER / "libm.c", FOLDER / "libm.so"
    source.write_text(LIBM)
    command = ["gcc", "-shared", "-fPIC", "-fno-builtin", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    found = {name: answers_of(build(name)) for name in BUILDS}
    found["another libm"] = answers_of(FOLDER / "gcc", str(library))
    expected = found["gcc"]
    for name, lines in found.items():
        others = [pair for pair in zip(expected, lines, strict=True) if pair[0] != pair[1]]
        print(f"{name:12} gives {len(lines):,} answers, of which {len(others):,} differ")
        for ours, theirs in others[:SHOWN]:
            print(f"  {ours[:300]}\n  {theirs[:300]}")
    return int(any(lines != expected for lines in found.values()))


if __name__ == "__main__":
    sys.exit(main())
