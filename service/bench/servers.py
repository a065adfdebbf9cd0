"""The servers that are measured, each in a process of its own, and what they cost."""

import asyncio
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import uvloop

from service.bench.scripts import KEY

ECHO = "/croupier.bench.Echo/Echo"
SUBMIT = "/croupier.v1.MatchService/SubmitAction"


class Running(NamedTuple):
    """A server that runs."""

    pid: int
    address: str

    def cpu(self) -> float:
        """Seconds of the processor used by its threads, but for those that search."""
        used = 0
        usual = os.getpriority(os.PRIO_PROCESS, self.pid)
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            nice = (task / "stat").read_text().rpartition(")")[2].split()[16]
            # Searches are known by their low priority.
            if int(nice) == usual:
                used += int((task / "schedstat").read_text().split()[0])
        return used / 1e9

    def memory(self) -> int:
        """The bytes that it has in memory."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return 1024 * int(line.split()[1])
        raise AssertionError("Linux always says")


@contextmanager
def echo() -> Iterator[Running]:
    """A bare gRPC server on uvloop that answers with what it was sent."""
    context = multiprocessing.get_context("spawn")
    ours, its = context.Pipe()
    process = context.Process(target=_run_echo, args=(its,), daemon=True)
    process.start()
    try:
        yield Running(process.pid or 0, f"127.0.0.1:{ours.recv()}")
    finally:
        process.terminate()
        process.join()


def _run_echo(pipe: Connection) -> None:
    uvloop.run(_serve_echo(pipe))


async def _serve_echo(pipe: Connection) -> None:
    async def answer(data: bytes, context: Any) -> bytes:
        return data

    service, method = ECHO.strip("/").split("/")
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        [
            grpc.method_handlers_generic_handler(
                service, {method: grpc.unary_unary_rpc_method_handler(answer)}
            )
        ]
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    pipe.send(port)
    await asyncio.Event().wait()


@contextmanager
def serving(data: Path, checkout: Path | None = None) -> Iterator[Running]:
    """`croupier serve` with a SQLite log in a directory; that of another checkout if one is given.

    Raises RuntimeError if it does not start.
    """
    key_file = data / "token-key"
    key_file.write_bytes(KEY)
    command = [sys.executable, "-m", "service", "serve", "--listen", "127.0.0.1:0"]
    command += ["--metrics-port", "0", "--store", "sqlite", "--data", str(data)]
    command += ["--token-key-file", str(key_file), "--log-level", "warning"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=checkout) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError("the server did not start")
            yield Running(process.pid, line.split()[-1])
        finally:
            process.terminate()
