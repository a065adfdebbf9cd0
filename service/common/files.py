"""Files that an operator names, and that a running server reads again when they have changed."""

from pathlib import Path


def read_again(path: Path) -> bytes:
    """The content of a file; raises OSError, and ValueError if it is no regular file.

    Whoever opens a pipe waits until somebody writes to it, and there is nothing the second time.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} must be a regular file, which can be read again")
    return path.read_bytes()
