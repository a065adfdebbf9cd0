"""One call: its request, its deadline, and the ways in which it ends."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple, Protocol

from google.rpc import code_pb2

from service.connections import MAX_REQUEST_BYTES
from service.http2.protocol import CANCEL, Fault, Headers, decompress, status, too_large
from service.http2.session import Stream

OVER = object()  # The call of a stream whose call has ended.
# The request of a call that has one must be here by then. The largest takes as long at 35 kB/s.
REQUEST_SECONDS = 30.0
# A reader that takes nothing of a response for that long is given up.
STALLED_SECONDS = 60.0


class Owner(Protocol):
    """The connection of a call."""

    loop: asyncio.AbstractEventLoop
    peer: str

    def ended(self, call: "Call") -> None:
        """The call is over here; its response may still be on its way."""


class Method(NamedTuple):
    """How calls of a method are answered."""

    # With a call and its request; or with None, if the requests are a stream.
    answer: "Callable[[Call, Any], Coroutine[Any, Any, None]]"
    streams_requests: bool = False


class Call:
    """A call, also as `Calls` and the servicers see it."""

    __slots__ = (
        "_deadline",
        "_late",
        "_method",
        "_owner",
        "_requested",
        "_stalled",
        "_task",
        "_timer",
        "metadata",
        "running",
        "stream",
    )

    def __init__(self, owner: Owner, stream: Stream, method: Method, timeout: float | None) -> None:
        self._owner = owner
        self.stream = stream
        self._method = method
        self.metadata = stream.metadata
        self.running = False  # Whether the coroutine of its method has begun.
        self._task: asyncio.Task[None] | None = None
        self._requested: asyncio.Future[None] | None = None
        self._late: asyncio.TimerHandle | None = None  # Until when the request must be here.
        self._stalled: asyncio.TimerHandle | None = None
        self._deadline = self._timer = None
        if timeout is not None:
            self._deadline = owner.loop.time() + timeout
            self._timer = owner.loop.call_at(self._deadline, self._expire)

    # What servicers ask

    def invocation_metadata(self) -> list[tuple[str, str | bytes]]:
        """The metadata, by keys in lower case."""
        return self.metadata

    def peer(self) -> str:
        """The address of the other end of the connection, as gRPC writes it."""
        return self._owner.peer

    def time_remaining(self) -> float | None:
        """The seconds until the deadline; None if there is none."""
        if self._deadline is None:
            return None
        return max(0.0, self._deadline - self._owner.loop.time())

    # The request

    def go_on(self) -> None:
        """More of the request is here, or the caller has gone."""
        stream = self.stream
        if stream.closed:
            self.cancel()
        elif stream.finished:
            return
        elif self._method.streams_requests:
            if self._task is None:
                self._start(None)
            elif self._requested is not None:
                _complete(self._requested)
        elif self._task is None:
            try:
                request = self._only_request()
            except Fault as fault:
                self.fail(fault.headers())
            else:
                if request is not None:
                    self._start(request)
                elif self._late is None:
                    self._late = self._owner.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _start(self, request: bytes | None) -> None:
        if self._late is not None:
            self._late.cancel()
        self._task = self._owner.loop.create_task(self._method.answer(self, request))

    def _give_up(self) -> None:
        text = f"the request was not complete within {REQUEST_SECONDS:.0f} seconds"
        self.fail(status(code_pb2.DEADLINE_EXCEEDED, text))

    def _only_request(self) -> bytes | None:
        # That of a call which has one; None if it is not complete.
        stream = self.stream
        _check(stream)
        if len(stream.messages) > 1:
            raise Fault(code_pb2.UNIMPLEMENTED, "this method takes one message, not more")
        if not stream.ended:
            return None
        message = stream.take()
        if message is None:
            raise Fault(code_pb2.UNIMPLEMENTED, "this method takes one message, not none")
        return self._plain(message)

    def _plain(self, message: tuple[bool, bytes]) -> bytes:
        compressed, data = message
        if not compressed:
            return data
        return decompress(data, self.stream.encoding, MAX_REQUEST_BYTES)

    async def requests(self) -> AsyncGenerator[bytes, None]:
        """The messages of a stream of requests; raises Fault."""
        stream = self.stream
        while True:
            message = stream.take()
            if message is not None:
                yield self._plain(message)
                continue
            _check(stream)
            if stream.ended:
                return
            self._requested = self._owner.loop.create_future()
            await self._requested

    # The response

    async def send(self, message: bytes) -> None:
        """Sends a message of several; waits while the caller does not take them."""
        if self.stream.send(message):
            drained = self._owner.loop.create_future()
            self.stream.drained = partial(_complete, drained)
            self._watch()
            await drained

    def answer(self, message: bytes, trailers: Headers) -> None:
        """Sends the only message, and ends the response."""
        if self.stream.answer(message, trailers):
            self._watch()

    def finish(self, trailers: Headers) -> None:
        """Ends the response."""
        if self.stream.finish(trailers):
            self._watch()

    def _watch(self) -> None:
        if self._stalled is None:
            self._look_again()

    def _look_again(self) -> None:
        self._stalled = self._owner.loop.call_later(STALLED_SECONDS, self._look, self.stream.unsent)

    def _look(self, before: int) -> None:
        self._stalled = None
        if self.stream.closed:
            self.cancel()
        elif self.stream.unsent and self.stream.unsent >= before:
            self.stream.reset(CANCEL)
            self.cancel()
        elif self.stream.unsent:
            self._look_again()

    # The end

    def fail(self, trailers: Headers) -> None:
        """Ends the call with an error, whatever runs for it."""
        self.finish(trailers)
        self.cancel()

    def cancel(self) -> None:
        """Ends what runs for the call: nobody waits for it."""
        if self._task is not None:
            self._task.cancel()
        if not self.running:
            self.close()  # The coroutine will not.

    def close(self) -> None:
        """The call is over here."""
        for timer in (self._timer, self._late):
            if timer is not None:
                timer.cancel()
        # Nothing is left that refers to both, so neither waits for the garbage collector.
        self.stream.call = OVER
        self._owner.ended(self)

    @property
    def task(self) -> "asyncio.Task[None] | None":
        """The task that answers the call."""
        return self._task

    def _expire(self) -> None:
        self.fail(status(code_pb2.DEADLINE_EXCEEDED, "the deadline of the call has passed"))


def _complete(waiting: "asyncio.Future[None]") -> None:
    if not waiting.done():
        waiting.set_result(None)


def _check(stream: Stream) -> None:
    if stream.is_large:
        raise too_large(MAX_REQUEST_BYTES)
    if stream.is_malformed or (stream.ended and stream.is_cut):
        raise Fault(code_pb2.INVALID_ARGUMENT, "the request is not made of messages of gRPC")
