"""Check the docs: names, links, and that every command in them is run by a test or says why not.

Reads README.md and the other pages of the checkout, and looks at:

    engine/game.pxd                          a path in backquotes: a file or folder of the checkout
    service/hosting/leases.py:leased_status  a path and a name: the file must contain the name
    [text](search.md#known-limits)           a link: the file, and the heading, must exist
    ```sh ... ```                            commands: tests/test_docs.py runs them, unless a line
                                             <!-- not run: REASON --> is before them
    make serve; croupier play skystones      the target, the options and the scripts must exist

In a path, * and <game> stand for any text, and at least one file must match. A word with a slash
counts as a path only if it begins with a folder of the checkout or ends like a source file. A block
of code names its language and is fenced.

Also finds what no page and no list names: a source file whose first line does not say what it
holds (scripts/list_modules.py), and a folder that the layers of docs/architecture.md leave out.
Prints a line for each fault, and exits with status 1 if there is one.
"""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from list_modules import undescribed, unnamed
from markdown_it import MarkdownIt
from markdown_it.token import Token

from cli.main import make_parser

CODE = re.compile(r"`(\w[\w.<>*-]*/[\w.<>*/-]*)(?::([\w.]+))?`")
SOURCE = re.compile(r"\.(csv|md|proto|pxd|pyi?|pyx|toml|txt)$")
NOT_RUN = re.compile(r"<!-- not run: .+ -->\s*")
RUN = ("sh", "python")  # The languages whose blocks a test runs.
OTHERS = ("csharp", "gdscript", "go", "java", "mermaid", "rust", "text", "toml", "ts")
SNIPPET = re.compile(r'^--8<-- "([^":]+)(?::([\w-]+))?"$', re.MULTILINE)
# The change log speaks of files as they were.
HISTORY = ("CHANGELOG.md",)
PARSER = MarkdownIt("commonmark").enable("table")


class Block(NamedTuple):
    """A fenced block of code."""

    line: int
    language: str
    text: str
    marked: bool  # As not run.


def pages(root: Path) -> list[Path]:
    """The pages to check."""
    found = {*root.glob("*.md"), *(root / "docs").rglob("*.md"), root / "web/README.md"}
    for folder in ("clients", "examples", "games"):
        found |= {*(root / folder).glob("README.md"), *(root / folder).glob("*/README.md")}
    return sorted(found)


@cache
def parse(page: Path) -> list[Token]:
    """The elements of a page."""
    return PARSER.parse(page.read_text(encoding="utf-8"))


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of code of a page."""
    before: Token | None = None
    for token in parse(page):
        if token.type == "fence" and token.map:
            marked = before is not None and before.type == "html_block"
            marked = marked and NOT_RUN.fullmatch(before.content if before else "") is not None
            yield Block(token.map[0] + 1, token.info.strip(), token.content, marked)
        before = token


def faults(root: Path, page: Path) -> Iterator[str]:
    """The faults of one page, each as a line."""
    where = page.relative_to(root)
    if page.name not in HISTORY:
        for number, text in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            yield from (f"{where}:{number}: {fault}" for fault in missing(root, text))
    used = {block.line - 1 for block in blocks(page) if block.marked}
    for token in parse(page):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "code_block":
            yield f"{where}:{line}: code that is indented: fence it, with its language"
        lost = not (token.map and token.map[1] in used)
        if token.type == "html_block" and "not run" in token.content and lost:
            yield f"{where}:{line}: <!-- not run: REASON --> goes right before a block of code"
        for target in targets(token):
            yield from (f"{where}:{line}: {fault}" for fault in broken(page, target))
    for block in blocks(page):
        for fault in wrong(root, block):
            yield f"{where}:{block.line}: {fault}"


def missing(root: Path, line: str) -> Iterator[str]:
    """The names on a line that the checkout does not have."""
    for path, name in CODE.findall(line):
        if not SOURCE.search(path) and not (root / path.partition("/")[0]).is_dir():
            continue
        files = list(root.glob(re.sub(r"<\w+>", "*", path).rstrip("/")))
        if not files:
            if not is_built(root, path):
                yield f"no {path}"
        elif name and not any(contains(file, name) for file in files):
            yield f"no {name} in {path}"


def is_built(root: Path, path: str) -> bool:
    """Whether git ignores a path, since only a build makes it."""
    command = ["git", "-C", str(root), "check-ignore", "--quiet", path]
    return subprocess.run(command, check=False).returncode == 0


def contains(file: Path, name: str) -> bool:
    """Whether a file contains each part of a dotted name as a word."""
    text = file.read_text(encoding="utf-8")
    return all(re.search(rf"\b{part}\b", text) for part in name.split("."))


def targets(token: Token) -> Iterator[str]:
    """Where the links and pictures of an element lead."""
    for child in token.children or []:
        for key in ("href", "src"):
            if isinstance(target := child.attrs.get(key), str):
                yield target


def broken(page: Path, target: str) -> Iterator[str]:
    """The fault of a link, if it has one."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        if parts.scheme not in ("http", "https") or "." not in parts.netloc:
            yield f"not an address: {target}"
        return
    path = unquote(parts.path)
    file = page.parent / path if path else page
    if not file.exists():
        yield f"no {target}"
    elif parts.fragment and file.suffix == ".md" and parts.fragment not in anchors(file):
        yield f"no heading {parts.fragment} in {path or page.name}"


@cache
def anchors(page: Path) -> set[str]:
    """The headings of a page in the form that links use."""
    found: set[str] = set()
    tokens = parse(page)
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            text = "".join(
                child.content
                for child in inline.children or []
                if child.type in ("text", "code_inline")
            )
            slug = re.sub(r"[^\w -]", "", text).strip().lower().replace(" ", "-")
            repeated = sum(1 for each in found if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", each))
            found.add(f"{slug}-{repeated}" if slug in found else slug)
    return found


def wrong(root: Path, block: Block) -> Iterator[str]:
    """The faults of a block of code."""
    if block.language not in (*RUN, *OTHERS):
        yield f"a block of code in {block.language or 'no language'}: one of {(*RUN, *OTHERS)}"
    if block.marked and block.language not in RUN:
        yield "a block that no test would run needs no mark"
    for path, section in SNIPPET.findall(block.text):
        file = root / path
        if not file.is_file():
            yield f"no {path}"
        elif section and f"[start:{section}]" not in file.read_text(encoding="utf-8"):
            yield f"no section {section} in {path}"
    if block.language == "sh":
        for command in commands(block.text):
            yield from unknown(root, command)


def commands(text: str) -> Iterator[list[str]]:
    """The simple commands of a script, as far as they can be told apart without a shell."""
    for line in text.replace("\\\n", " ").splitlines():
        try:
            lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;()<>")
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError:  # A part of a text with several lines.
            continue
        command: list[str] = []
        for word in [*words, ";"]:
            if set(word) <= set("|&;()<>"):
                if word.startswith(">") and command and command[-1].isdigit():
                    command.pop()  # The number of what is redirected, as in 2>log.
                if command:
                    yield command
                command = []
            else:
                command.append(word)


def unknown(root: Path, command: list[str]) -> Iterator[str]:
    """What a command names that does not exist: a target of make, an option, a script."""
    program, *rest = command
    if program == "make":
        makefile = (root / "Makefile").read_text(encoding="utf-8")
        for word in rest:
            if "=" not in word and not re.search(rf"^{re.escape(word)}:", makefile, re.MULTILINE):
                yield f"no target {word} in the Makefile"
    elif program.removeprefix(".venv/bin/") == "croupier":
        errors = io.StringIO()
        try:
            with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
                make_parser().parse_args(rest)
        except SystemExit as end:
            if end.code:
                yield errors.getvalue().strip().splitlines()[-1]
    elif program.startswith("scripts/") and not (root / program).is_file():
        yield f"no {program}"
    elif program.endswith("python") and rest[0].startswith("scripts/"):
        yield from unknown(root, rest)


def check(root: Path) -> list[str]:
    """The faults of a checkout, each as a line."""
    found = [fault for page in pages(root) for fault in faults(root, page)]
    return [*found, *undescribed(root), *unnamed(root, root / "docs/architecture.md")]


def main() -> int:
    """Checks this checkout."""
    found = check(Path(__file__).resolve().parents[1])
    print("\n".join(found), end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
