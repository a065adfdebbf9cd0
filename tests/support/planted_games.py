"""Distributions with games, usable or not, beside the installed ones."""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from cli import new_game
from engine.building import compile_schema

ROOT = Path(__file__).parents[2]
RULES = """
    from games.kuhn_poker.rules.rules import KuhnPoker

    class Planted(KuhnPoker):
        id = {id!r}
        abi = {abi}
        reference = {reference}
"""


def plant(folder, game_id="planted", rules="", **values):
    """Writes the distribution `acme-planted 1.2` with a package; returns the package's folder."""
    info = folder / "acme_planted-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-planted\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[croupier.games]\n{game_id} = acme_planted\n")
    package = folder / "acme_planted"
    (package / "rules").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    given = {"id": game_id, "abi": 2, "reference": False} | values
    (package / "rules/rules.py").write_text(dedent(rules or RULES.format(**given)))
    return package


def add_schema(package, text):
    """Writes the schema of a planted package, and compiles it."""
    (package / "api").mkdir()
    (package / f"api/{package.name}.proto").write_text(dedent(text))
    _compile_schema(package)


def _compile_schema(package):
    with contextlib.chdir(package.parent):
        compile_schema(Path(package.name))


def plant_new_game(folder):
    """Writes what `croupier new-game high_card` writes, as an installed distribution."""
    chosen = argparse.Namespace(name="high_card", title=None, output=folder / "new")
    new_game.run(chosen)
    plant_entry(folder, "high_card")
    shutil.move(folder / "new/high_card", folder / "high_card")
    _compile_schema(folder / "high_card")


def plant_example(folder, game_id):
    """Makes a game of examples/games/, but for what only searches need, an installed one."""
    unused = shutil.ignore_patterns("sampler.*", "playout.*", "*.c", "*.so")
    shutil.copytree(ROOT / "examples/games" / game_id / game_id, folder / game_id, ignore=unused)
    plant_entry(folder, game_id)
    build_example(folder, game_id)


BUILD = """
import sys
from engine import building
building.FLAGS[0] = "-O0"
building.setup_game(sys.argv.pop(1))
"""


def build_example(folder, game_id):
    """Compiles the schema and the extensions of a planted game."""
    command = [sys.executable, "-c", BUILD, game_id, "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, env=environment_of(folder), check=True)


def plant_entry(folder, game_id):
    """Makes the package of a game, which has its name, an installed one."""
    name = f"croupier-{game_id}".replace("_", "-")
    # A hyphen would end the name of the distribution, and hide others.
    info = folder / f"croupier_{game_id}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n")
    (info / "entry_points.txt").write_text(f"[croupier.games]\n{game_id} = {game_id}\n")


def environment_of(folder):
    """The environment of a process that finds the planted distributions."""
    return os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


def run(folder, *arguments, **variables):
    """Runs `croupier` with the planted distributions beside the installed ones."""
    environment = environment_of(folder) | variables
    command = [sys.executable, "-m", "cli", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=environment, cwd=folder
    )
