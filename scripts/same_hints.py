"""Check that a hint has the same bytes whatever compiler built the server, and on whatever libm.

The engine and the search are built several times in build/same_hints/: with gcc, with clang at
another level of optimization, and with flags that ask for fused multiply-adds, over which those of
setup.py must win. Each build answers the same questions; so does the first once more, on a libm
whose results are all a little too large. All answers must be equal. Needs gcc and clang. Exit
status: 0 if they are, else 1.
"""

import argparse
import difflib
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.game import Game
    from engine.model import Model

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build/same_hints"
HINTS = 40  # For each game.
ITERATIONS = 400
WORLDS = 100  # For the beliefs of a hint.
MAX_WEIGHT = 500  # Of a model,
MAX_NET_WEIGHT = 100  # and of its net.

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
            # Random weights: more of the model then counts than of one that was learned.
            models = [None, *filter(None, [random_model(game, chance)])]
            for model in models:
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


def random_model(game: "Game", chance: random.Random) -> "Model | None":
    """A model of a game with random weights; None if nothing can be learned of it."""
    from engine.features import Features
    from engine.model import Model
    from engine.net import shapes

    features = Features.of(game)
    if features is None:
        return None
    weights = {
        kind: {name: chance.randint(1, MAX_WEIGHT) for name in names}
        for kind, names in features.decisions.items()
    }
    net = {
        name: [chance.randint(-MAX_NET_WEIGHT, MAX_NET_WEIGHT) for _ in range(rows * columns)]
        for name, (rows, columns) in shapes(len(features.inputs)).items()
    }
    return Model(game, weights, features.uses, net=net if features.inputs else None)


# The builds


def build(name: str) -> Path:
    """Build the engine and the search in a folder of their own, and return the folder."""
    compiler, flags = BUILDS[name]
    folder = FOLDER / name
    first = FOLDER / next(iter(BUILDS))
    if folder == first:
        subprocess.run([ROOT / "scripts/copy_sources.sh", folder.relative_to(ROOT)], check=True)
        for place in ("lab", "service"):
            for source in (folder / place).rglob("*.pyx"):
                source.unlink()
    else:
        # What Cython has translated, but not what was compiled. The links lead out of the copy.
        compiled = shutil.ignore_patterns("*.so", "inplace")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(first, folder, symlinks=True, ignore=compiled)
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
    where, *lines = run.stdout.splitlines()
    if Path(where).parents[1] != folder:
        raise RuntimeError(f"the answers are of {where}, not of {folder}")
    return lines


def build_libm() -> Path:
    """Build the libm that is wrong, and return its path; raise RuntimeError if it is not used."""
    source, library = FOLDER / "libm.c", FOLDER / "libm.so"
    source.write_text(LIBM)
    command = ["gcc", "-shared", "-fPIC", "-fno-builtin", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    shown = {
        subprocess.run(
            [sys.executable, "-c", "import math; print(math.exp(1).hex())"],
            env={**os.environ, "LD_PRELOAD": preload},
            check=True,
            stdout=subprocess.PIPE,
        ).stdout
        for preload in ("", str(library))
    }
    if len(shown) == 1:
        raise RuntimeError("the libm that is wrong is not used")
    return library


def same(name: str, found: list[str], expected: list[str]) -> bool:
    """Show whether two lists of answers are equal, and their first differences."""
    if found == expected:
        print(f"{name:12} gives the same {len(found):,} answers", flush=True)
        return True
    print(f"{name:12} gives other answers:", flush=True)
    shown = difflib.unified_diff(expected, found, "gcc", name, lineterm="", n=0)
    for line, _ in zip(shown, range(12), strict=False):
        print(line[:300])
    return False


def main() -> int:
    """Build, ask and compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    if parser.parse_args().answer:
        import engine

        print(engine.__file__, *answers(), sep="\n")
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    folders = {name: build(name) for name in BUILDS}
    expected = answers_of(folders["gcc"])
    equal = [same(name, answers_of(folders[name]), expected) for name in BUILDS if name != "gcc"]
    equal.append(same("another libm", answers_of(folders["gcc"], str(build_libm())), expected))
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
