"""Reads and writes records as files: JSON, or croupier.v1.MatchRecord serialized."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from croupier.files import read_once, write_whole
from croupier.terminal.saved import MATCH
from croupier.v1.match_pb2 import MatchRecord

MAX_BYTES = 256 << 20
SUFFIXES = {"json": ".json", "binary": ".binpb"}


def find(paths: Iterable[Path]) -> Iterator[Path]:
    """Yields the files, and those in the directories; raises ValueError for an empty directory."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        files = sorted(each for each in path.iterdir() if each.suffix in SUFFIXES.values())
        if not files:
            raise ValueError(f"{path}: there are no records, *.json or *.binpb, in it")
        yield from files


def read(path: Path) -> MatchRecord:
    """Reads the record in a file of either form; raises OSError or ValueError."""
    data = read_once(path, MAX_BYTES)
    if not data:
        raise ValueError("it is empty, and so no record")
    record = MatchRecord()
    try:
        # No serialized message begins with a brace, which would mean the end of a group.
        if data.lstrip().startswith(b"{"):
            json_format.Parse(data, record)
        else:
            record.ParseFromString(data)
    # Parse raises one of several errors, depending on what is wrong.
    except (
        json_format.ParseError,
        ArithmeticError,
        DecodeError,
        RecursionError,
        SystemError,
        ValueError,
    ) as error:
        what = " ".join(str(error).split())
        raise ValueError(f"it is not a record: {what}") from None
    return record


def write(record: MatchRecord, directory: Path, form: str) -> Path:
    """Writes a record into a directory, as "json" or "binary"; returns its path. Raises OSError."""
    # A name comes from the server, and becomes that of a file.
    if not MATCH.fullmatch(record.name):
        raise OSError(f"{record.name!r} is no name of a match")
    path = directory / f"{record.name.removeprefix('matches/')}{SUFFIXES[form]}"
    if form == "json":
        data = (json_format.MessageToJson(record, indent=1) + "\n").encode()
    else:
        data = record.SerializeToString(deterministic=True)
    write_whole(path, data)
    return path
