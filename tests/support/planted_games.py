"""Distributions with games that cannot be used, beside the installed ones."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
RULES = """
    from engine.kuhn_poker.rules import KuhnPoker

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
    package.mkdir()
    (package / "__init__.py").write_text("")
    given = {"id": game_id, "abi": 1, "reference": False} | values
    (package / "rules.py").write_text(dedent(rules or RULES.format(**given)))
    return package


def add_schema(package, text):
    """Writes the schema of a planted package, and compiles it."""
    (package / "acme_planted.proto").write_text(dedent(text))
    command = [sys.executable, "-c", "from engine.building import compile_schema as c; "]
    command[-1] += "from pathlib import Path; c(Path('acme_planted'))"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(command, check=True, cwd=package.parent, env=environment)


def run(folder, *arguments, **variables):
    """Runs `croupier` with the planted distributions beside the installed ones."""
    environment = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", **variables}
    command = [sys.executable, "-m", "cli", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=environment, cwd=folder
    )
