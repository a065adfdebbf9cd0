"""Check that no import points up or in a circle, that no game is named, and how work is started.

Prints the number of modules; each arrow (one module imports another) that breaks a layer of
`scripts/layers.toml`; a circle if there is one; the table of docs/architecture.md if it tells
another tale; each file of code that is too long; each line that names a game where all games are
alike; and each place of the server, the client or the command line that starts a task, a thread or
a callback by itself: what is not started by `service/common/tasks.py` could end unseen.
Python and Cython count alike, and so do `import` and `cimport`. An import-linter contract would not
do, because that library reads only `.py` files. A `.pyx` and its `.pxd` and `.pyi` are one module.
What TypeScript imports is told by its compiler.

Exit status: 0 if nothing is wrong, else 1.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from count_code import kind_of
from list_modules import tracked

PAGE = "docs/architecture.md"
MAX_LINES = 600  # Of a file of code.
# Only here is background work started. Functions that start some are forbidden in `pyproject.toml`;
# these are methods, by whatever name their object goes. What fails in a callback of the event loop
# is logged in the server, where `Tasks.watch` sees to it; the context of a gRPC call starts none.
TASKS = {"service/common/tasks.py", "croupier/streams.py"}
STARTS = re.compile(
    r"(?<!context)\.(create_task|run_in_executor|add_done_callback|set_exception_handler"
    r"|set_default_executor)\b"
)
CALLBACKS = re.compile(r"\.(call_at|call_later|call_soon|call_soon_threadsafe)\b")
SUFFIXES = {".py", ".pyx", ".pxd", ".pyi"}
# Here no game is named, by its id or by the first word of it. In `proto/` each game has a file, and
# fields in the `oneof`s of one file more.
NAMELESS = ("adapters", "ai", "cli", "croupier", "engine", "proto", "service", "web/src", "wire")
ONEOFS = "proto/croupier/v1/game.proto"
CODE = SUFFIXES | {".css", ".mjs", ".sh", ".ts", ".tsx"}
TEXTS = SUFFIXES | {".css", ".proto", ".toml", ".ts", ".tsx", ".txt"}
# A file that the compiler of TypeScript has read, or one of those that import it, from `web/`.
EXPLAINED = re.compile(r"^(?:(\S+)$| +Imported via .* from file '([^']+)')", re.MULTILINE)
STATEMENT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n#]*)|c?import[ \t]+([\w.]+))",
    re.MULTILINE,
)


class Layer(NamedTuple):
    """A folder of a layer."""

    folder: str  # As the page names it.
    modules: re.Pattern[str]  # What the folder is called in the name of a module.
    rank: int  # That of its layer; those beside each other have the same.
    row: int  # Of the table.


def read_layers(root: Path) -> tuple[list[Layer], dict[str, list[str]], str]:
    """The folders of all layers, what a folder may not import even so, and the page's table."""
    told = tomllib.loads((root / "scripts/layers.toml").read_text(encoding="utf-8"))
    layers: list[Layer] = []
    rows = []
    rank = 0
    for row, each in enumerate(told["layer"]):
        rank += not each.get("beside", False)
        for folder in each["folders"]:
            name = folder.rstrip("/").replace("/", r"\.").replace("<game>", r"[^.]+")
            layers.append(Layer(folder, re.compile(name), rank, row))
        rows.append(
            f"| {', '.join(f'`{folder}`' for folder in each['folders'])} | {each['holds']} |"
        )
    return layers, told["never"], "\n".join(rows)


def read_modules(root: Path, layers: list[Layer]) -> dict[str, set[str]]:
    """The imports of each module in Python or Cython, as far as they are modules of the product."""
    folders = {layer.folder.partition("/")[0] for layer in layers} - {"web"}
    texts: dict[str, str] = {}
    for path in tracked(root):
        if path.suffix in SUFFIXES and path.parts[0] in folders:
            name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
            texts[name] = texts.get(name, "") + "\n" + (root / path).read_text(encoding="utf-8")
    return {name: set(imports(name, text, texts)) - {name} for name, text in texts.items()}


def read_web(root: Path, explained: str) -> dict[str, set[str]]:
    """The same in TypeScript, as its compiler explains why it has read each file."""
    ours = ("web/src/*", "games/*/web/*")
    known = {path for path in tracked(root) if any(fnmatch(str(path), each) for each in ours)}
    graph: dict[str, set[str]] = {}
    imported = ""
    for file, importer in EXPLAINED.findall(explained):
        path = Path(os.path.normpath(Path("web", file or importer)))
        name = ".".join(path.with_suffix("").parts) if path in known else ""
        if file:
            imported = name
        elif name and imported:
            graph.setdefault(imported, set())
            graph.setdefault(name, set()).add(imported)
    return graph


def imports(module: str, text: str, known: dict[str, str]) -> Iterator[str]:
    """The known modules that a text imports."""
    for package, names, whole in STATEMENT.findall(text):
        parts = names.strip("()").replace("\n", ",").split(",") if package else [""]
        for part in parts:
            target = package or whole
            name = part.split(" as ")[0].strip()
            while target:
                if name and f"{target}.{name}" in known:
                    yield f"{target}.{name}"
                    break
                if target in known:
                    yield target
                    break
                target, name = target.rpartition(".")[0], ""


def layer_of(module: str, layers: list[Layer]) -> Layer:
    """The layer of a module: of the folder that it is, or else that it is in."""
    for name in (module, module.rpartition(".")[0]):
        for layer in layers:
            if layer.modules.fullmatch(name):
                return layer
    sys.exit(f"{module}: no layer of scripts/layers.toml has its folder")


def upward(
    graph: dict[str, set[str]], layers: list[Layer], never: dict[str, list[str]]
) -> Iterator[str]:
    """The arrows that break a layer, each as a line."""
    for module, targets in graph.items():
        own = layer_of(module, layers)
        forbidden = never.get(module.partition(".")[0], ())
        for target in sorted(targets):
            other = layer_of(target, layers)
            if (
                other.rank > own.rank
                or (other.rank == own.rank and other.row != own.row)
                or any(f"{target}.".startswith(f"{each}.") for each in forbidden)
            ):
                yield f"{module} may not import {target}: see scripts/layers.toml"


def too_long(root: Path) -> Iterator[str]:
    """The files of code that are too long, each as a line."""
    for path in tracked(root):
        if path.suffix in CODE and kind_of(str(path)) == "product":
            lines = len((root / path).read_bytes().splitlines())
            if lines > MAX_LINES:
                yield f"{path} has {lines} lines, of at most {MAX_LINES}"


def named_games(root: Path) -> Iterator[str]:
    """The lines that name a game where none may be named, each with its place."""
    ids = {path.parent.name for path in (root / "games").glob("*/rules")}
    names = re.compile("|".join(sorted({each.partition("_")[0] for each in ids})), re.IGNORECASE)
    for path in tracked(root):
        own = str(path) == ONEOFS or (path.suffix == ".proto" and path.stem in ids)
        if path.suffix in TEXTS and not own and any(map(path.is_relative_to, NAMELESS)):
            text = (root / path).read_text(encoding="utf-8")
            for number, line in enumerate(text.splitlines(), 1):
                if found := names.search(line):
                    yield f"{path}:{number} may not name a game: {found.group()}"


def bare_starts(root: Path) -> Iterator[str]:
    """The places of the product that start background work by themselves, each as a line."""
    for folder, patterns in (
        ("service", [STARTS]),
        ("cli", [STARTS, CALLBACKS]),
        ("croupier", [STARTS, CALLBACKS]),
    ):
        for path in sorted((root / folder).rglob("*.py*")):
            name = str(path.relative_to(root))
            if path.suffix not in SUFFIXES or name in TASKS:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                for start in (found for each in patterns for found in each.findall(line)):
                    yield f"{name}:{number} may not use {start}: see service/common/tasks.py"


def main() -> int:
    """Checks this checkout."""
    root = Path(__file__).parents[1]
    layers, never, table = read_layers(root)
    explained = subprocess.run(
        ["scripts/web.sh", "imports"], cwd=root, stdout=subprocess.PIPE, text=True
    )
    web = read_web(root, explained.stdout)
    graph = read_modules(root, layers) | web
    faults = [
        *upward(graph, layers, never),
        *too_long(root),
        *named_games(root),
        *bare_starts(root),
    ]
    if not web:
        faults.append("scripts/web.sh imports: nothing is told of the web app")
    if table not in (root / PAGE).read_text(encoding="utf-8"):
        faults.append(f"{PAGE}: its table of layers has to be\n{table}")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        faults.append("circle: " + " -> ".join(error.args[1]))
    print(f"modules: {len(graph)}, faults: {len(faults)}", *faults, sep="\n")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
