"""Prints which lines of Cython the tests reached, from what gcov counted in the compiled code.

    python scripts/count_lines.py build/inplace

A build with BUILD_COVERAGE=1 writes what it counts beside the objects in that folder. Prints a
line for each source with lines that were not reached, then the total.
"""

import collections
import json
import re
import subprocess
import sys
from pathlib import Path

_LINE = re.compile(r'^#line (\d+) "([^"]+\.p(?:yx|xd))"$', re.MULTILINE)


def count(folder: Path) -> dict[str, dict[int, int]]:
    """Return how often each line of each source ran, by path and line number."""
    counted: dict[str, dict[int, int]] = collections.defaultdict(dict)
    for notes in sorted(folder.rglob("*.gcno")):
        # gcc numbers the lines of C on from the last line of Cython that the C names, and so names
        # lines that have no code.
        text = notes.relative_to(folder).with_suffix(".c").read_text()
        named = {(path, int(number)) for number, path in _LINE.findall(text)}
        done = subprocess.run(
            ["gcov", "--json-format", "--stdout", str(notes)], capture_output=True, check=True
        )
        # One document for each object.
        for line in done.stdout.splitlines():
            for file in json.loads(line)["files"]:
                path = file["file"]
                for each in file["lines"]:
                    number = each["line_number"]
                    if (path, number) in named and Path(path).exists():
                        lines = counted[path]
                        lines[number] = lines.get(number, 0) + each["count"]
    return counted


def ranges(numbers: list[int]) -> str:
    """Return line numbers as text: "1-3, 7"."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def main() -> None:
    """Prints the coverage of the build in a folder; fails if nothing was counted."""
    counted = count(Path(sys.argv[1]))
    reached = total = 0
    for path, lines in sorted(counted.items()):
        missed = sorted(number for number, times in lines.items() if not times)
        reached += len(lines) - len(missed)
        total += len(lines)
        if missed:
            share = 100 * (len(lines) - len(missed)) / len(lines)
            print(f"{path:44} {len(lines):5} lines {share:4.0f} %   not {ranges(missed)}")
    if not reached:
        sys.exit("no line of Cython was counted")
    print(f"{'Cython':44} {total:5} lines {100 * reached / total:6.1f} %")


if __name__ == "__main__":
    main()
