"""Files that somebody names: read once, or again when they have changed."""

from pathlib import Path

MAX_SECRET_BYTES = 64 << 10  # Also of certificates.


def read_again(path: Path) -> bytes:
    """The content of a file; raises OSError, and ValueError if it is no regular file.

    Whoever opens a pipe waits until somebody writes to it, and there is nothing the second time.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} must be a regular file, which can be read again")
    return path.read_bytes()


def read_once(path: Path, most: int = MAX_SECRET_BYTES) -> bytes:
    """The content of a file, or of a pipe; raises OSError, and ValueError if it has more than
    `most` bytes, as what a device has is without an end.
    """
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{path} has more than {most >> 10} KiB")
    return data
