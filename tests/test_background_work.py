"""`make check` finds background work that is started by itself, in whatever form."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "scripts"))  # Its programs import each other without the folder.
bare_starts = importlib.import_module("check_layers").bare_starts
sys.path.pop()

FUNCTIONS = (
    "import asyncio\nasyncio.create_task",
    "import asyncio as a\na.ensure_future",
    "from asyncio import create_task as c\nc",
    "import asyncio\nspawn = asyncio.create_task\nspawn",
    "import asyncio\nasyncio.gather",
    "from asyncio import TaskGroup\nTaskGroup",
    "import asyncio\nasyncio.shield",
    "import threading\nthreading.Thread",
    "from concurrent.futures import ThreadPoolExecutor as Pool\nPool",
)
METHODS = ("create_task", "run_in_executor", "add_done_callback")
CALLBACKS = ("call_later", "call_soon", "call_soon_threadsafe", "call_at")


@pytest.mark.parametrize("file", ["service/api/any.py", "cli/any.py", "croupier/any.py"])
@pytest.mark.parametrize("text", FUNCTIONS)
def test_a_function_that_starts_some(file, text):
    command = [sys.executable, "-m", "ruff", "check", "--stdin-filename", file, "-"]
    ended = subprocess.run(
        command, input=f"{text}()\n", text=True, cwd=ROOT, stdout=subprocess.PIPE
    )
    assert "TID251" in ended.stdout


def test_a_method_that_starts_some(tmp_path):
    for folder in ("service", "cli", "croupier"):
        file = tmp_path / folder / "any.py"
        file.parent.mkdir()
        file.write_text("".join(f"spawn = loop.{name}\n" for name in (*METHODS, *CALLBACKS)))
    found = [each.split()[4] for each in bare_starts(tmp_path)]
    both = sorted([*METHODS, *CALLBACKS])
    assert sorted(each.rstrip(":") for each in found) == sorted([*METHODS, *both, *both])
