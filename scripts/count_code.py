"""Counts what is written by hand, by folder, and holds it against the budget.

    python scripts/count_code.py            the table
    python scripts/count_code.py --check    fails above the budget in scripts/budget.toml

It counts the lines of the files that git tracks, blank ones and comments too: of the product; of
tests, wherever they lie; and the words of the docs. Nothing counts that a tool has written (locks,
what is learned, packed or drawn) and no license.
"""

import argparse
import collections
import os
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUDGET = ROOT / "scripts/budget.toml"
# The first pattern that fits a path says what it is. `*` fits a slash, too.
KINDS = (
    ("", "LICENSE"),
    ("", "*/LICENSE"),
    ("", "CHANGELOG.md"),  # It grows with each release.
    ("", "constraints.txt"),  # Locks.
    ("", "*.lock"),
    ("", "*/go.sum"),
    ("", "*/package-lock.json"),
    ("", "*/weights.json"),  # Data.
    ("", "*.gz"),
    ("", "*.svg"),
    ("", "*.png"),
    ("words", "*.md"),
    ("tests", "tests/*"),
    ("tests", "*/tests/*"),
    ("tests", "*_test.go"),
    ("product", "*"),
)


def kind_of(path: str) -> str:
    """Returns what the file counts as: "product", "tests", "words", or "" for nothing."""
    return next(kind for kind, pattern in KINDS if fnmatch(path, pattern))


def count() -> dict[str, collections.Counter[str]]:
    """Returns how much there is of each kind, by the first folder of the path."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    counted: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    # A path that is being merged is listed three times.
    for path in set(os.fsdecode(listed.stdout).split("\0")):
        file = ROOT / path
        kind = kind_of(path)
        if kind and file.is_file() and not file.is_symlink():
            content = file.read_bytes()
            folder = path.split("/")[0] + "/" if "/" in path else "./"
            counted[folder][kind] += len(
                content.split() if kind == "words" else content.splitlines()
            )
    return counted


def main() -> None:
    """Prints the table, or the kinds that exceed their budget."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only compare with the budget")
    checks = parser.parse_args().check
    counted = count()
    total = sum(counted.values(), collections.Counter())
    budget = tomllib.loads(BUDGET.read_text())
    if budget.keys() != {kind for kind, _ in KINDS if kind} or not all(
        type(most) is int for most in budget.values()
    ):
        sys.exit(f"{BUDGET.relative_to(ROOT)}: a whole number each for product, tests and words")
    if not checks:
        print(f"{'':12}{'product':>9}{'tests':>9}{'words':>9}")
        for name, row in [*sorted(counted.items()), ("total", total), ("budget", budget)]:
            print(f"{name:12}{row['product']:9,}{row['tests']:9,}{row['words']:9,}")
    too_much = [
        f"{total[kind]:,} {'words of docs' if kind == 'words' else f'lines of {kind}'}"
        f" exceed the budget of {most:,} in {BUDGET.relative_to(ROOT)}"
        for kind, most in budget.items()
        if total[kind] > most
    ]
    if too_much:
        sys.exit("\n".join(too_much))


if __name__ == "__main__":
    main()
