"""Seats that were taken on this machine, kept so that their matches can be resumed.

Each is a file of its own under the XDG state directory, with mode 0600, since a token is the seat.
"""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path

from croupier.files import read_again
from croupier.transport import Security, uses_tls

_FOLDER = Path("croupier", "seats")
MATCH = re.compile(r"matches/[a-z0-9]{1,40}")


@dataclass(frozen=True)
class SavedSeat:
    """What it takes to come back to a seat."""

    match: str  # "matches/{match}".
    server: str  # "HOST:PORT".
    seat: int
    token: str
    game: str  # Its id.
    opponent: str  # As the player reads it.
    created: str  # When the seat was taken: UTC, ISO 8601.
    language: str = ""
    # The fields of `Security` that were given, files by their absolute paths.
    security: Mapping[str, str | bool] = field(default_factory=dict, hash=False)

    @property
    def id(self) -> str:
        """The name of the match without "matches/"."""
        return self.match.removeprefix("matches/")


class SavedSeats:
    """The saved seats of this user."""

    def __init__(self) -> None:
        """Raises OSError where there is no home directory."""
        given = os.environ.get("XDG_STATE_HOME", "")
        # An address that is not absolute is to be ignored, says the XDG specification.
        state = Path(given) if os.path.isabs(given) else Path("~/.local/state").expanduser()
        if not state.is_absolute():
            raise OSError("there is no home directory")
        self._folder = state / _FOLDER
        self.unreadable: list[str] = []  # The files that the last reading has left out.

    def read(self) -> list[SavedSeat]:
        """Returns the saved seats, the newest first; a file that cannot be read is left out."""
        read = {path: _read(path) for path in self._folder.glob("*.json")}
        self.unreadable = sorted(str(path) for path, seat in read.items() if seat is None)
        seats = filter(None, read.values())
        return sorted(seats, key=lambda seat: seat.created, reverse=True)

    def keep(self, seat: SavedSeat) -> None:
        """Saves a seat; raises OSError."""
        # A name comes from the server, and becomes that of a file.
        if not MATCH.fullmatch(seat.match):
            raise OSError(f"{seat.match!r} is no name of a match")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A temporary file has mode 0600 from the start. No reader sees half of it.
        number, name = tempfile.mkstemp(dir=self._folder)
        try:
            with open(number, "w", encoding="utf-8") as file:
                json.dump(asdict(seat), file)
            os.replace(name, self._path(seat))
        except BaseException:
            os.unlink(name)
            raise

    def drop(self, seat: SavedSeat) -> None:
        """Forgets a seat, saved or not."""
        self._path(seat).unlink(missing_ok=True)

    def _path(self, seat: SavedSeat) -> Path:
        return self._folder / f"{seat.id}-{seat.seat}.json"


def _read(path: Path) -> SavedSeat | None:
    # None also for what another version has written, if this one would not know what to do with it.
    try:
        found = json.loads(read_again(path))
        known = {each.name for each in fields(SavedSeat)}
        seat = SavedSeat(**{name: value for name, value in found.items() if name in known})
        datetime.fromisoformat(seat.created)
        security = Security(**seat.security)  # type: ignore[arg-type]
        uses_tls(security)
        files = [file or "" for file in (security.ca, security.cert, security.key)]
        texts = {**asdict(seat), "seat": "", "security": ""}.values()
        sound = all(isinstance(text, str) for text in (*texts, *files))
        sound &= isinstance(seat.seat, int) and bool(MATCH.fullmatch(seat.match))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return seat if sound else None
