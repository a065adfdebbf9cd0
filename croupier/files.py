"""Files that somebody names: read once, or again when they have changed, and written whole."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MAX_SECRET_BYTES = 64 << 10  # Also of certificates.
MAX_BYTES = 4 << 20  # Of all authorities that a system trusts, several times.


def read_again(path: Path) -> bytes:
    """The content of a file; raises OSError, and ValueError if it is no regular file, or large.

    Whoever opens a pipe waits until somebody writes to it, and there is nothing the second time.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} must be a regular file, which can be read again")
    return read_once(path, MAX_BYTES)


def read_once(path: Path, most: int = MAX_SECRET_BYTES) -> bytes:
    """The content of a file, or of a pipe; raises OSError, and ValueError if it has more than
    `most` bytes, as what a device has is without an end.
    """
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{path} has more than {most >> 10} KiB")
    return data


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """An OSError of this block names the file, which that of a full disk does not."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def write_whole(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Writes a file, of which others see what was there before, or all of this.

    Raises OSError, and leaves nothing else behind then. With `sync`, a crash loses nothing either.
    """
    special = path.exists() and not path.is_file()  # A device, or a pipe, is not to be replaced,
    target = path if special else path.resolve()  # nor is a link.
    beside = path if special else target.with_name(f".{path.name}.{os.getpid()}")
    with naming(path):
        try:
            with beside.open("wb") as file:
                file.write(data)
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            if not special:
                beside.replace(target)
        except BaseException:
            if not special:
                beside.unlink(missing_ok=True)
            raise
