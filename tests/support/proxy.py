"""A proxy in front of a Unix socket, which can break connections at chosen moments."""

import asyncio
import contextlib
import tempfile
from pathlib import Path

PASS, CUT, SWALLOW = "pass", "cut", "swallow"


class Proxy:
    """Passes requests and answers on.

    In mode CUT an answer of the server breaks its connection. In mode SWALLOW answers are dropped.
    """

    def __init__(self, target):
        self._target = target
        self._home = tempfile.TemporaryDirectory(prefix="proxy-")
        self.host = Path(self._home.name)
        self.mode = PASS
        self.cuts = 0
        self._server = None
        self._streams = set()
        self._clients = set()

    async def __aenter__(self):
        path = self.host / ".s.PGSQL.5432"
        self._server = await asyncio.start_unix_server(self._connected, path)
        return self

    async def __aexit__(self, *_):
        self._server.close()
        self.drop()
        self._home.cleanup()

    def turn_to(self, target):
        """Passes new connections on to another socket; those that exist stay."""
        self._target = target

    def drop(self):
        """Breaks all connections."""
        for stream in self._streams:
            stream.close()

    def say(self, data):
        """Sends bytes to all clients as if they came from the server."""
        for writer in self._clients:
            writer.write(data)

    async def _connected(self, reader, writer):
        with contextlib.suppress(OSError):
            from_server, to_server = await asyncio.open_unix_connection(self._target)
            mine = {writer, to_server}
            self._streams |= mine
            self._clients.add(writer)
            try:
                await asyncio.gather(
                    self._pass_on(reader, to_server), self._pass_back(from_server, writer)
                )
            finally:
                self._streams -= mine
                self._clients.remove(writer)
                for stream in mine:
                    stream.close()

    async def _pass_on(self, reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def _pass_back(self, reader, writer):
        while data := await reader.read(65536):
            if self.mode == CUT:
                self.cuts += 1
                break
            if self.mode == PASS:
                writer.write(data)
                await writer.drain()
        writer.close()
