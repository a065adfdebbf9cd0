"""`make check` finds what breaks the layers of `scripts/layers.toml`, in TypeScript too."""

import importlib
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "scripts"))  # Its programs import each other without the folder.
check_layers = importlib.import_module("check_layers")
sys.path.pop()
LAYERS, NEVER, TABLE = check_layers.read_layers(ROOT)


@pytest.mark.parametrize(
    ("module", "target"),
    [
        ("engine.game", "ai.search"),
        ("service.store.sqlite", "service.listening.http"),  # Beside each other.
        ("ai.search", "games.skystones.rules.rules"),  # Below, and yet not to be imported.
        ("web.src.games.module", "web.src.match.picker"),
        ("games.skystones.web.board", "web.src.match.table"),
        ("web.src.puzzle.screen", "web.src.replay.screen"),
    ],
)
def test_an_arrow_between_layers_goes_down(module, target):
    assert [*check_layers.upward({module: {target}}, LAYERS, NEVER)] == [
        f"{module} may not import {target}: see scripts/layers.toml"
    ]
    own, other = (check_layers.layer_of(each, LAYERS) for each in (module, target))
    if own.rank < other.rank:
        assert not [*check_layers.upward({target: {module}}, LAYERS, {})]


def test_a_module_without_a_layer_is_found():
    with pytest.raises(SystemExit, match=r"web\.src\.menu\.screen"):
        check_layers.layer_of("web.src.menu.screen", LAYERS)


def test_the_compiler_tells_of_imports_in_typescript(tmp_path):
    for name in ("web/src/ui/a.ts", "web/src/ui/b.tsx", "games/g/web/c.ts", "web/tests/d.ts"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("// A file.\n")
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    by = "   Imported via \"./x\" from file '{}'\n"
    explained = "node_modules/p/index.d.ts\n" + by.format("src/ui/a.ts") + "src/ui/a.ts\n"
    explained += by.format("src/ui/b.tsx") + by.format("tests/d.ts") + "src/ui/b.tsx\n"
    explained += by.format("../games/g/web/c.ts") + by.format("src/ui/a.ts") + "tests/d.ts\n"
    graph = check_layers.read_web(tmp_path, explained)
    assert graph == {
        "web.src.ui.a": {"web.src.ui.b"},
        "web.src.ui.b": {"web.src.ui.a"},
        "games.g.web.c": {"web.src.ui.b"},
    }
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(("name", "found"), [("ai/a.pyx", 1), ("web/a.css", 1), ("tests/a.py", 0)])
def test_long_code_of_the_product_is_found(tmp_path, name, found):
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text("\n" * (check_layers.MAX_LINES + 1))
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    assert len([*check_layers.too_long(tmp_path)]) == found


def test_the_page_has_the_table():
    assert TABLE in (ROOT / check_layers.PAGE).read_text()
