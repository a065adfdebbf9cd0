"""Calls of the Python client that must be refused."""

from collections.abc import Callable
from typing import Any

import pytest

from croupier.client import CroupierError


def refused(call: Callable[..., object], *arguments: Any, **fields: Any) -> CroupierError:
    """Makes a call that must be refused, and returns the refusal."""
    with pytest.raises(CroupierError) as caught:
        call(*arguments, **fields)
    return caught.value
