"""How the benches print figures and progress."""

import sys


def ms(seconds: float) -> str:
    """Returns a time in milliseconds."""
    return f"{1e3 * seconds:.2f} ms"


def us(seconds: float) -> str:
    """Returns a time in microseconds."""
    return f"{1e6 * seconds:.0f} µs"


def progress(what: str) -> None:
    """Prints what begins now, apart from the figures."""
    print(f"... {what}", file=sys.stderr, flush=True)
