"""A line between a client and a server that is slow, is cut, or dies in silence."""

import asyncio
import contextlib
import random
import threading

PIECE = 700  # Bytes of a slow line: less than a view.


class Line:
    """A TCP proxy in a thread of its own."""

    def __init__(self, target: int) -> None:
        self.cuts = 0  # Connections that were cut.
        self.slow = False
        self._target = target
        self._writers: set[asyncio.StreamWriter] = set()
        self._dead: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()
        self._started.wait()

    def cut(self) -> None:
        """Breaks all connections, in the middle of whatever passes."""
        self._loop.call_soon_threadsafe(self._cut)

    def lose(self) -> None:
        """Lets nothing pass on the connections that there are, which stay open; new ones live."""
        self._dead |= self._writers

    def _cut(self) -> None:
        self.cuts += len(self._writers) // 2
        for writer in list(self._writers):
            writer.transport.abort()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._connected, "127.0.0.1", 0)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine = {writer}
        self._writers |= mine
        try:
            with contextlib.suppress(OSError):
                back, on = await asyncio.open_connection("127.0.0.1", self._target)
                mine.add(on)
                self._writers |= mine
                await asyncio.gather(self._pass(reader, on), self._pass(back, writer))
        finally:
            self._writers -= mine
            self._dead -= mine
            for each in mine:
                each.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if writer in self._dead:
                continue
            if self.slow:
                for at in range(0, len(data), PIECE):
                    await asyncio.sleep(random.uniform(0, 0.05))
                    if writer.is_closing():
                        return
                    writer.write(data[at : at + PIECE])
            else:
                writer.write(data)
            await writer.drain()
        writer.close()
