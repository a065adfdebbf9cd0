"""Runs commands of `croupier` in the process of a test."""

import contextlib
import io
from typing import NamedTuple

import pytest

from cli.main import main


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    status: object
    out: str
    err: str


def croupier(*words: object) -> Ended:
    """Runs a command to its end."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main([*map(str, words)])
    return Ended(ended.value.code, out.getvalue(), err.getvalue())
