"""Count the files, folders and lines that each game costs, and list the longest source files.

    python scripts/count_game.py                    # this checkout, every game
    python scripts/count_game.py skystones --root ../old

A file belongs to a game if a part of its path begins or ends with the game's name, as in
`engine/skystones/rules.pyx` or `croupier/terminal/skystones.py`. The rule fits other layouts, too.
A game is hosted if it has a schema; the others are reference games. Product lines are those outside
`tests/`; shared lines are those of other schemas that name the game.
"""

import argparse
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

LONGEST = 10
SOURCES = {".c", ".proto", ".pxd", ".py", ".pyi", ".pyx", ".ts", ".tsx"}
# The parts of a game, and patterns of their paths. A file counts for the first part that matches.
PARTS = {
    "tests": r"^tests/.*\.py$",
    "facts": r"^tests/",
    "schema": r"\.proto$",
    "data": r"\.(csv|toml)$",
    "wire": r"^service/wire/|/(wire\.py|view_writer\.pyx)$",
    "web": r"^engine/.*/web/|^web/",
    "rules and play": r"^engine/",
    "terminal": r"^(croupier|service)/terminal/",
    "other": r"",
}


def tracked(root: Path) -> list[PurePosixPath]:
    """The existing files of a checkout that git tracks or would add."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [PurePosixPath(name) for name in sorted(set(listed)) if (root / name).is_file()]


def lines(path: Path) -> int:
    """The number of lines of a file."""
    return path.read_bytes().count(b"\n")


def games(files: Iterable[PurePosixPath]) -> list[str]:
    """The games with facts: `tests/games/<game>/facts.txt`, or `tests/games/<game>.txt`."""
    found = set()
    for file in files:
        if match := re.fullmatch(r"tests/games/(\w+)(?:/facts)?\.txt", str(file)):
            found.add(match[1])
    return sorted(found)


def files_of(game: str, files: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    """The files of one game."""
    return [file for file in files if re.search(rf"(^|[/_]){game}([/._]|$)", str(file))]


def part_of(file: PurePosixPath) -> str:
    """The part of its game that a file belongs to."""
    return next(part for part, pattern in PARTS.items() if re.search(pattern, str(file)))


def shared_lines(game: str, root: Path, files: Iterable[PurePosixPath]) -> int:
    """The number of lines, except comments, that name a game in schemas other than its own."""
    own = set(files_of(game, files))
    schemas = [file for file in files if file.suffix == ".proto" and file not in own]
    texts = [(root / file).read_text(encoding="utf-8").splitlines() for file in schemas]
    named = re.compile(rf"^(?! *//).*\b{game}\b")
    return sum(bool(named.search(line)) for text in texts for line in text)


def print_table(rows: list[list[str]]) -> None:
    """Prints a Markdown table. The first row is its head, and all columns but one align right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(
        1, ["-" * width if i == 0 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    )
    for row in rows:
        cells = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    """Prints both tables for one checkout."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("games", nargs="*", metavar="GAME", help="the games; default: all")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="a checkout")
    chosen = parser.parse_args()
    files = tracked(chosen.root)
    known = games(files)
    if unknown := set(chosen.games) - set(known):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; the games are {', '.join(known)}")

    totals = [
        "kind",
        "files",
        "folders",
        "product folders",
        "product lines",
        "test lines",
        "shared lines",
    ]
    rows = [["game", *totals, *PARTS]]
    for game in chosen.games or known:
        own = files_of(game, files)
        counts = dict.fromkeys(PARTS, 0)
        for file in own:
            counts[part_of(file)] += lines(chosen.root / file)
        tested = counts["tests"] + counts["facts"]
        figures = [
            len(own),
            len({file.parent for file in own}),
            len({file.parent for file in own if file.parts[0] != "tests"}),
            sum(counts.values()) - tested,
            tested,
            shared_lines(game, chosen.root, files),
            *(counts[part] for part in PARTS),
        ]
        kind = "hosted" if counts["schema"] else "reference"
        rows.append([game, kind, *(f"{figure:,}" for figure in figures)])
    print_table(rows)

    print()
    sources = [file for file in files if file.suffix in SOURCES]
    longest = sorted(sources, key=lambda file: -lines(chosen.root / file))[:LONGEST]
    print_table(
        [["longest source files", "lines"]]
        + [[str(file), f"{lines(chosen.root / file):,}"] for file in longest]
    )


if __name__ == "__main__":
    main()
