"""Check that no import points up, that no imports form a circle, and how work is started.

Prints the number of modules, each arrow (one module imports another) that breaks a layer, a circle
if there is one, and each place of the server, the client or the command line that starts a task, a
thread or a callback by itself: what is not started by `service/common/tasks.py` could end unseen.
Python and Cython count alike, and so do `import` and `cimport`. An import-linter contract would not
do, because that library reads only `.py` files. A `.pyx` and its `.pxd` and `.pyi` are one module.

Exit status: 0 if nothing is wrong, else 1.
"""

import re
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# Lowest first. A module may import from its own layer and from those below. Layers in one group may
# not import each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("engine", "croupier.v1"),
    ("wire", "croupier"),
    # The games are found by their entry points; nothing imports them.
    ("games", "games.*.rules"),
    ("games.*.play",),
    ("games.*.api",),
    ("ai",),
    ("service.common",),
    ("service.observability",),
    ("service.listening", "service.store", "service.wire", "service.admission"),
    ("service.searching",),
    ("service.hosting",),
    ("service.reviewing", "service.puzzles"),
    ("service.api",),
    ("service.gateway",),
    ("service.running", "service"),
    ("adapters",),  # The server must not import them.
    ("lab",),
    ("cli",),
    ("lab.service_bench",),  # This and what follows: not in the wheel.
    ("lab.search_bench", "lab.overload"),
)
# Modules below a layer, or the folder of a layer, that it may not import even so.
FORBIDDEN: dict[str, tuple[str, ...]] = {
    "ai": ("wire", "games"),
    "croupier": ("engine", "wire", "games", "ai"),
    "service": ("croupier.client", "croupier.mcp", "croupier.terminal", "games"),
    "adapters": ("games",),
    "lab": ("games",),
    "cli": ("games",),
}
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
STATEMENT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n#]*)|c?import[ \t]+([\w.]+))",
    re.MULTILINE,
)


def read_modules(root: Path) -> dict[str, set[str]]:
    """The imports of each module of the product, as far as they are modules of the product."""
    folders = sorted({layer.partition(".")[0] for group in LAYERS for layer in group})
    texts: dict[str, str] = {}
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and not re.search(r"_pb2(_grpc)?\.pyi?$", path.name):
                name = ".".join(path.relative_to(root).with_suffix("").parts)
                name = name.removesuffix(".__init__")
                texts[name] = texts.get(name, "") + "\n" + path.read_text(encoding="utf-8")
    return {name: set(imports(name, text, texts)) - {name} for name, text in texts.items()}


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


def layer_of(module: str) -> tuple[int, str]:
    """The height and the name of the layer of a module. The longest matching name counts."""
    found = [
        (len(layer), height, layer)
        for height, group in enumerate(LAYERS)
        for layer in group
        if re.match(layer.replace(".", r"\.").replace("*", r"[^.]+") + r"(\.|$)", module)
    ]
    _, height, layer = max(found)
    return height, layer


def upward(graph: dict[str, set[str]]) -> Iterator[str]:
    """The arrows that break a layer, each as a line."""
    for module, targets in graph.items():
        height, layer = layer_of(module)
        for target in sorted(targets):
            other_height, other = layer_of(target)
            forbidden = FORBIDDEN.get(layer, FORBIDDEN.get(module.partition(".")[0], ()))
            if (
                other_height > height
                or (other_height == height and other != layer)
                or any(f"{target}.".startswith(f"{each}.") for each in forbidden)
            ):
                yield f"{module} may not import {target}: {layer} lies below or beside {other}"


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
    graph = read_modules(root)
    faults = [*upward(graph), *bare_starts(root)]
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        faults.append("circle: " + " -> ".join(error.args[1]))
    print(f"modules: {len(graph)}, faults: {len(faults)}", *faults, sep="\n")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
