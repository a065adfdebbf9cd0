"""List what every source file holds: its path, and the first sentence of its first comment.

    python scripts/list_modules.py                    # the whole product
    python scripts/list_modules.py service engine     # these folders

A file says in its first lines what it holds: in its docstring, in Python and Cython; in its first
comment, in every other language. scripts/check_docs.py finds files that do not say it, and folders
that the layers of docs/architecture.md do not name.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CYTHON_OR_PYTHON = {".py", ".pyi", ".pyx", ".pxd"}
SUFFIXES = CYTHON_OR_PYTHON | {".proto", ".sh", ".ts", ".tsx", ".mjs", ".cs", ".gd"}
# Tests are named after the modules that they test; examples are shown on pages of their own.
LEFT_OUT = {"tests", "examples"}
DOCSTRING = re.compile(r'(?:#[^\n]*\n|\s)*"""(.*?)"""', re.DOTALL)
COMMENT = re.compile(r'(?:#![^\n]*\n|syntax = "\w+";|\s)*((?:(?://|#)[^\n]*\n?)+)')
SENTENCE = re.compile(r".*?[.?!](?=\s|$)", re.DOTALL)
LAYERS = re.compile(r"^## Layers$.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([\w.<>*/-]+)/`")


def tracked(root: Path) -> list[Path]:
    """The files of a checkout that git does not ignore, as paths in it."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return sorted(Path(name) for name in set(names) if (root / name).is_file())


def sources(root: Path) -> list[Path]:
    """The source files of the product."""
    return [
        path
        for path in tracked(root)
        if path.suffix in SUFFIXES and not LEFT_OUT.intersection(path.parts)
    ]


def first_sentence(file: Path) -> str:
    """What a source file says that it holds; empty if it does not say it."""
    pattern = DOCSTRING if file.suffix in CYTHON_OR_PYTHON else COMMENT
    found = pattern.match(file.read_text(encoding="utf-8"))
    if not found:
        return ""
    lines = [re.sub(r"^\s*(//|#)?", "", line) for line in found.group(1).splitlines()]
    paragraph = " ".join("\n".join(lines).strip().split("\n\n")[0].split())
    sentence = SENTENCE.match(paragraph)
    return sentence.group() if sentence else paragraph


def undescribed(root: Path) -> Iterator[str]:
    """The source files that do not say what they hold, each as a fault."""
    for path in sources(root):
        if not first_sentence(root / path):
            yield f"{path}: its first line does not say what it holds"


def unnamed(root: Path, page: Path) -> Iterator[str]:
    """The folders that the section "Layers" of a page does not name, each as a fault.

    It has to name each folder of the checkout, and each folder with modules or schemas in it. In a
    name, * and <game> stand for one folder.
    """
    section = LAYERS.search(page.read_text(encoding="utf-8"))
    found = CODE.findall(section.group()) if section else []
    names = [re.sub(r"<\w+>|\*", "[^/]+", name) for name in found]
    folders = {path.parents[-2] for path in tracked(root) if len(path.parts) > 1}
    modules = [path for path in sources(root) if path.suffix in CYTHON_OR_PYTHON | {".proto"}]
    folders |= {path.parent for path in modules if len(path.parts) > 1}
    for folder in sorted(folders):
        hidden = folder.name.startswith(".")
        if not hidden and not any(re.fullmatch(name, str(folder)) for name in names):
            yield f"{page.relative_to(root)}: its layers do not name the folder {folder}/"


def main() -> None:
    """Prints the list."""
    root = Path(__file__).parents[1]
    chosen = sys.argv[1:] or ["."]
    listed = [path for path in sources(root) if any(path.is_relative_to(each) for each in chosen)]
    if not listed:
        sys.exit("no source file there")
    for path in listed:
        print(f"{path}: {first_sentence(root / path)}")


if __name__ == "__main__":
    main()
