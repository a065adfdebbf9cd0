"""The folder of one generation of a training: what is done so far, so that it can be continued.

`settings.json` has what the result depends on. Everything else is written in an order that the
settings decide: one line for each match (`matches.jsonl`), the fits (`fit.json`, `net.json`), and
one line for each pair of each gate (`gate-<use>.jsonl`). A line that was cut off is written again.
"""

import fcntl
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from croupier.files import naming, write_whole

_BROKEN = (ValueError, RecursionError)  # What is no JSON, or nested too deeply.


class StateError(Exception):
    """The folder cannot be used."""


class State:
    """The folder of one generation."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        """Makes the folder, or continues in it. Raises StateError if it has other settings."""
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StateError(f"{folder} cannot be made: {error.strerror}") from None
        before = self.read("settings.json")
        if before is None:
            self.write("settings.json", settings)
            return
        if not isinstance(before, dict):
            raise StateError(f"{folder}: settings.json has no settings: name another folder")
        for name, value in settings.items():
            if before.get(name) != value:
                raise StateError(
                    f"{folder}: was begun with {name} {before.get(name)!r}, not {value!r}: "
                    "continue with that, or name another folder"
                )

    def lock(self) -> None:
        """Keeps the folder for this object. Raises StateError if another process has it."""
        self._lock = (self.folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateError(f"{self.folder} is in use by another process") from None

    def read(self, name: str) -> Any:
        """The document in a file; None if there is no such file."""
        path = self.folder / name
        try:
            return json.loads(path.read_bytes()) if path.exists() else None
        except _BROKEN as error:
            raise StateError(f"{path}: {error}: name another folder") from error

    def write(self, name: str, document: object) -> None:
        """Writes a document to a file, all of it or nothing."""
        write_whole(self.folder / name, (json.dumps(document, allow_nan=False) + "\n").encode())

    def lines(self, name: str, keys: tuple[str, ...] = ()) -> Iterator[Any]:
        """The documents in the lines of a file, but for one that was cut off, which is removed.

        Raises StateError for a line that is none, or has not these keys.
        """
        path = self.folder / name
        if not path.exists():
            return
        whole = 0
        with path.open("rb") as file:
            for n, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    document = json.loads(line)
                    _ = [document[key] for key in keys]
                except (LookupError, TypeError, *_BROKEN) as error:
                    text = f"{path}, line {n}: {error!r}: remove it and all lines after it"
                    raise StateError(text) from error
                yield document
                whole += len(line)
        with path.open("rb+") as file:
            file.truncate(whole)

    def add_line(self, name: str, document: object) -> None:
        """Adds a line to a file."""
        text = json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"
        path = self.folder / name
        with naming(path), path.open("a") as file:
            file.write(text)
