"""Runs the server with bare methods, with which its own are compared.

Echo answers with the bytes of the request. Act and Follow are the bare pattern of play: Act answers
with bytes of the size that the request names, and sends a message of another size to the streams of
Follow for the same match: to both, or to that of the other seat.
"""

import argparse
import asyncio
import logging
import struct
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import uvloop

from service.running.process import run
from service.running.server import Options, Server

_BARE = "croupier.bench.Bare"
ECHO, ACT, FOLLOW = f"/{_BARE}/Echo", f"/{_BARE}/Act", f"/{_BARE}/Follow"

# Of Act: the match, its version after the action, whether it is over then, the seat whose stream is
# sent nothing, and the sizes of the response and of a message of the streams. Of Follow: the match,
# the seat, and the size of the first message.
_ACT, _FOLLOW = struct.Struct("<IH?BHH"), struct.Struct("<IBH")
NO_SEAT = 255
_VERSION = struct.Struct("<BBB")  # The field 1 of a message, as a varint of two bytes.


def main() -> None:
    """Serves a SQLite log on a free port of the loopback interface."""
    parser = argparse.ArgumentParser(prog="lab.service_bench.serve", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the directory of the log")
    parser.add_argument("--token-key-file", type=Path, required=True, help="the key of the tokens")
    parser.add_argument("--store", default="sqlite", help="as for croupier serve")
    parser.add_argument("--operator-token-file", type=Path, help="as for croupier serve")
    parser.add_argument("--allow-seeds", action="store_true", help="as for croupier serve")
    parser.add_argument("--search-processes", type=int, default=Options().search_processes)
    parser.add_argument("--metrics-port", type=int, default=0, help="as for croupier serve")
    chosen = parser.parse_args()
    logging.getLogger("service").setLevel(logging.WARNING)
    # The server offers no way to add a method, because only this benchmark needs one.
    grpc.aio.server = _with_bare(grpc.aio.server)
    options = Options(
        port=0,
        store=chosen.store,
        allow_seeds=chosen.allow_seeds,
        operator_token_file=chosen.operator_token_file,
        data=chosen.data,
        token_key_file=chosen.token_key_file,
        search_processes=chosen.search_processes,
        metrics_port=chosen.metrics_port,
    )
    uvloop.run(run(lambda: Server(options)))


def _with_bare(make: Any) -> Any:
    # Makes a server, and adds the bare methods to it.
    def make_with_bare(*arguments: Any, **options: Any) -> Any:
        made = make(*arguments, **options)
        bare = _Bare()
        handlers: dict[str, Any] = {
            "Echo": grpc.unary_unary_rpc_method_handler(bare.echo),
            "Act": grpc.unary_unary_rpc_method_handler(bare.act),
            "Follow": grpc.unary_stream_rpc_method_handler(bare.follow),
        }
        made.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(_BARE, handlers)])
        return made

    return make_with_bare


def write_act(
    match: int,
    version: int,
    over: bool,
    skipped_seat: int,
    answer_size: int,
    push_size: int,
    size: int,
) -> bytes:
    """A request of Act of a size in bytes."""
    packed = _ACT.pack(match, version, over, skipped_seat, answer_size, push_size)
    return packed.ljust(size, b"\0")


def write_follow(match: int, seat: int, push_size: int, size: int) -> bytes:
    """A request of Follow of a size in bytes."""
    return _FOLLOW.pack(match, seat, push_size).ljust(size, b"\0")


class _Bare:
    """The bare methods."""

    def __init__(self) -> None:
        # By match, then by seat.
        self._streams: dict[int, dict[int, asyncio.Queue[bytes]]] = defaultdict(dict)

    async def echo(self, data: bytes, context: Any) -> bytes:
        return data

    async def act(self, data: bytes, context: Any) -> bytes:
        match, version, over, skipped, answer_size, push_size = _ACT.unpack_from(data)
        pushed = _VERSION.pack(0x08, version & 0x7F | 0x80, version >> 7).ljust(push_size, b"\0")
        for seat, stream in self._streams[match].items():
            if seat != skipped:
                stream.put_nowait(pushed)
            if over:
                stream.put_nowait(b"")
        return bytes(answer_size)

    async def follow(self, data: bytes, context: Any) -> AsyncIterator[bytes]:
        match, seat, push_size = _FOLLOW.unpack_from(data)
        stream: asyncio.Queue[bytes] = asyncio.Queue()
        self._streams[match][seat] = stream
        yield bytes(push_size)
        while pushed := await stream.get():
            yield pushed
        self._streams.pop(match, None)


if __name__ == "__main__":
    main()
