"""Check that the paths, names and links in the docs exist.

Reads README.md and docs/**/*.md, and looks up three kinds of names:

    engine/game.pxd                          a path in backquotes: a file or folder of the checkout
    service/hosting/leases.py:leased_status  a path and a name: the file must contain the name
    [text](search.md#known-limits)           a link: the file, and the heading, must exist

In a path, * and <game> stand for any text, and at least one file must match. A word with a slash
counts as a path only if it begins with a folder of the checkout or ends like a source file. Prints
a line for each missing name, and exits with status 1 if there is one.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

CODE = re.compile(r"`(\w[\w.<>*-]*/[\w.<>*/-]*)(?::([\w.]+))?`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
SOURCE = re.compile(r"\.(csv|md|proto|pxd|pyi?|pyx|toml|txt)$")


def pages(root: Path) -> list[Path]:
    """The pages to check."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def missing(root: Path, page: Path) -> Iterator[str]:
    """The names on one page that the checkout does not have, each as a line."""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        where = f"{page.relative_to(root)}:{number}"
        for path, name in CODE.findall(line):
            if not SOURCE.search(path) and not (root / path.partition("/")[0]).is_dir():
                continue
            files = list(root.glob(re.sub(r"<\w+>", "*", path).rstrip("/")))
            if not files:
                yield f"{where}: no {path}"
            elif name and not any(contains(file, name) for file in files):
                yield f"{where}: no {name} in {path}"
        for target in LINK.findall(line):
            yield from (f"{where}: {fault}" for fault in broken(page, target))


def contains(file: Path, name: str) -> bool:
    """Whether a file contains each part of a dotted name as a word."""
    text = file.read_text(encoding="utf-8")
    return all(re.search(rf"\b{part}\b", text) for part in name.split("."))


def broken(page: Path, target: str) -> Iterator[str]:
    """The fault of a link, if it has one."""
    if re.match(r"[a-z]+:", target):
        return
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    if not file.exists():
        yield f"no {target}"
    elif anchor and anchor not in anchors(file):
        yield f"no heading {anchor} in {path or page.name}"


def anchors(page: Path) -> set[str]:
    """The headings of a page in the form that links use."""
    headings = re.findall(r"(?m)^#+ (.+)$", page.read_text(encoding="utf-8"))
    return {
        re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


def main() -> int:
    """Checks one checkout."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="a checkout")
    root = parser.parse_args().root
    found = [line for page in pages(root) for line in missing(root, page)]
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
