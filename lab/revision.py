"""The search of another git revision, to measure a change against what was before it.

The revision is built once, from its own sources, in a cache folder. Its search runs in a process of
its own (lab/revision_host.py), which reads requests and writes answers in JSON. Views go there and
actions come back as fields, so the two revisions only need to agree about what a view holds. This
needs a clone of the project and the tools that build it.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from engine.game import SeatView
from lab.player import Choice, ConfigurationError, Share

ROOT = Path(__file__).parent.parent
HOST = Path(__file__).parent / "revision_host.py"


class Answer(NamedTuple):
    """What a search in another process has found."""

    action: int
    iterations: int
    # The processor time of the search.
    processor_seconds: float
    stop_reason: str
    # The actions that it may play, with their probabilities.
    shares: tuple[Share, ...]


def folder_of(revision: str) -> Path:
    """The folder of a revision's build; raises ConfigurationError if there is no such revision."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--verify", "-q", f"{revision}^{{commit}}"]
    try:
        found = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise ConfigurationError(f"@{revision}: cannot run git: {error}") from None
    if found.returncode:
        raise ConfigurationError(f"@{revision}: no such revision in {ROOT}")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "croupier" / "revisions" / found.stdout.strip()


def build(revision: str) -> Path:
    """Builds a revision unless that has been done, and returns its folder.

    Raises ConfigurationError.
    """
    folder = folder_of(revision)
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Built in a scratch folder and moved into place, so that what is in place is complete.
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        sources = Path(scratch, "sources")
        archive = Path(scratch, "sources.tar")
        git = ["git", "-C", str(ROOT), "archive", "-o", str(archive), folder.name]
        subprocess.run(git, check=True)
        with tarfile.open(archive) as tar:
            tar.extractall(sources, filter="data")
        # Its games are found by its own entry points, which `egg_info` writes beside it.
        command = [sys.executable, "setup.py", "-q", "egg_info", "build_ext", "--inplace"]
        built = subprocess.run(command, cwd=sources, capture_output=True, text=True)
        if built.returncode:
            raise ConfigurationError(f"@{revision} cannot be built:\n{built.stderr[-2000:]}")
        with contextlib.suppress(FileExistsError):  # Another process has built it meanwhile.
            shutil.move(sources, folder)
    return folder


class SearchProcess:
    """The search of the code in a folder, in a process of its own."""

    def __init__(self, folder: Path = ROOT) -> None:
        self._process = subprocess.Popen(
            # -P: Python must not look for modules in the folder of the script.
            [sys.executable, "-P", str(HOST)],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin and self._process.stdout
        self._to: IO[str] = self._process.stdin
        self._from: IO[str] = self._process.stdout

    def ask(self, view: SeatView, seed: int, options: Mapping[str, Any]) -> Answer:
        """What a search from a view finds.

        `options` are `iterations`, `ms`, `threads` and Parameters.
        """
        game = view.game
        request = {
            "game": game.id,
            "ruleset": game.ruleset,
            "view": view.fields,
            "seed": seed,
            "options": {name: str(value).lower() for name, value in options.items()},
        }
        print(json.dumps(request), file=self._to, flush=True)
        line = self._from.readline()
        if not line:
            raise RuntimeError(f"the revision in {self._process.args!r} has failed")
        found = json.loads(line)
        shares = tuple((game.make_action(action), share) for action, share in found.pop("shares"))
        return Answer(**{**found, "action": game.make_action(found["action"])}, shares=shares)

    def close(self) -> None:
        """Ends the process."""
        self._to.close()
        self._from.close()
        self._process.wait()


@cache
def search_process(revision: str | None) -> SearchProcess:
    """The search of a revision, or of this code (None), for as long as this process runs."""
    return SearchProcess(build(revision) if revision else ROOT)


class RevisionPlayer:
    """The search of the code in a folder as a player of the arena."""

    def __init__(self, folder: Path, options: Mapping[str, str]) -> None:
        self._options = dict(options)
        self._process = SearchProcess(folder)

    def choose(self, view: SeatView, legal: Sequence[int], chance: int) -> Choice:
        found = self._process.ask(view, chance % 2**64, self._options)
        return Choice(found.action, found.iterations, found.shares)

    def close(self) -> None:
        """Ends the process."""
        self._process.close()
