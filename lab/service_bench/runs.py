"""What a client is told to do, and what it finds."""

from array import array
from typing import NamedTuple


class Run(NamedTuple):
    """An order: to call a method of a server."""

    address: str
    method: str  # "/package.Service/Method".
    streams: int  # Calls in flight at a time.
    seconds: float
    repeat: bool  # Whether to send the calls of the first match again and again.
    over_http: bool = False  # Whether to call the gateway at the address over Connect.


class Measured(NamedTuple):
    """The result of a run."""

    calls: int
    seconds: float
    latencies: "array[float]"  # Of each call, in seconds.
    client_seconds: float  # Processor time of the client for all calls.
