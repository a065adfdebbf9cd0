"""A network in memory: connections that are slow, cut or half open, and the calls that they carry.

A connection keeps the order of what it carries, as TCP does; two connections do not. What is on
its way when a connection is cut is lost. One that is half open carries nothing, and neither end is
told. A server handles each call with the handlers of `GrpcListener`.
"""

import asyncio
import itertools
import random
from collections import deque
from contextlib import aclosing
from types import SimpleNamespace
from typing import NamedTuple

import grpc
from google.rpc import error_details_pb2, status_pb2

from service.api.grpc_listener import ServiceHandlers
from service.api.grpc_services import grpc_services

WINDOW = 4  # Responses of a stream that may be on their way: then the server waits for its reader.
KEEPALIVE_SECONDS = 40.0  # After which a server gives a connection up that is half open.
RESET_SECONDS = 0.001  # Until a client is told that nobody listens.
LOST = "the connection was lost"
GONE = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED")


class CallError(Exception):
    """A call that was not answered, or was refused."""

    def __init__(self, code, details, status=None):
        super().__init__(code, details)
        self.code = code
        self.details = details
        self.reason, self.retry_seconds, self.metadata = "", 0.0, {}
        if status is not None:
            info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
            for detail in status.details:
                if detail.Unpack(info):
                    self.reason, self.metadata = info.reason, dict(info.metadata)
                elif detail.Unpack(retry):
                    self.retry_seconds = retry.retry_delay.ToMilliseconds() / 1000

    @property
    def unanswered(self):
        """Whether the outcome is unknown, or the call may be repeated."""
        return self.code in GONE


class Delays(NamedTuple):
    """How long a message is on its way, in seconds: less than what judges call late."""

    least: float = 0.0005
    mean: float = 0.01
    slow: float = 0.5  # Of one message in a hundred.
    most: float = 4.0


class Network:
    """All connections of a world."""

    def __init__(self, loop, seed, delays=Delays()):  # noqa: B008
        self.loop = loop
        self.delays = delays
        self.listeners = {}  # By address.
        self.cut_off = lambda path, seconds: None  # Called where a call is not answered in time.
        self.refused = lambda error: None  # Called for each refusal with a reason.
        self.connections = set()
        self._rng = random.Random(f"network/{seed}")
        self.numbers = itertools.count(1)

    def delay(self):
        rng, delays = self._rng, self.delays
        mean = delays.slow if rng.random() < 0.01 else delays.mean
        return delays.least + min(rng.expovariate(1 / mean), delays.most)

    def open_connections(self):
        """The connections that carry something, in the order in which they were opened."""
        return sorted(self.connections, key=lambda each: each.number)


class Connection:
    """A connection of a client to a server."""

    def __init__(self, network, client, address, peer):
        """`client` is the owner whose connection it is; `peer` as gRPC writes it."""
        self.network = network
        self.loop = network.loop
        self.number = next(network.numbers)
        self.client = client
        self.peer = peer
        self.address = address
        self.listener = network.listeners.get(address)
        self.state = "open" if self.listener is not None else "refused"
        self.calls = {}  # Of the client, by number.
        self.served = {}  # Of the server, by number.
        self.end = None  # Of the server, where it speaks HTTP/1.1.
        self._arrivals = [0.0, 0.0]  # Of the last messages to the server and to the client.
        self._on_the_way = (deque(), deque())
        if self.listener is not None:
            network.connections.add(self)
            self.listener.open_ones.add(self)

    def send(self, to_server, function, *args):
        """Sends a message: the other end calls the function."""
        if self.state != "open":
            return
        direction = 0 if to_server else 1
        owner = self.listener.owner if to_server else self.client
        loop = self.loop
        at = max(self._arrivals[direction], loop.now + self.network.delay())
        self._arrivals[direction] = at
        self._on_the_way[direction].append((function, args))
        loop.call_at_as(owner, at, self._arrive, direction)

    def _arrive(self, direction):
        # Callbacks of one moment come in any order, what a connection carries does not.
        function, args = self._on_the_way[direction].popleft()
        if self.state == "open":
            function(*args)

    def cut(self):
        """Ends the connection; both ends are told."""
        if self.state in ("open", "half open"):
            self._end("cut")
            self.loop.call_at_as(self.client, self.loop.now + self.network.delay(), self._lose)
            self.loop.call_at_as(
                self.listener.owner, self.loop.now + self.network.delay(), self._drop
            )

    def half_open(self):
        """From now on nothing arrives; the server gives it up later, and the client by itself."""
        if self.state == "open":
            self.state = "half open"
            at = self.loop.now + KEEPALIVE_SECONDS
            self.loop.call_at_as(self.listener.owner, at, self._drop)

    def finish(self):
        """The server ends the connection, after all that it has sent."""
        if self.state == "open":
            self.send(False, self.cut)
        else:
            self.cut()

    def close(self):
        """The client has no use for it any more."""
        if self.state == "open":
            self._end("closed")
            self.loop.call_at_as(
                self.listener.owner, self.loop.now + self.network.delay(), self._drop
            )

    def _end(self, state):
        self.state = state
        self.network.connections.discard(self)
        self.listener.open_ones.discard(self)

    def _lose(self):
        for call in list(self.calls.values()):
            call.fail(CallError("UNAVAILABLE", LOST))

    def _drop(self):
        if self.state == "half open":
            self._end("cut")
        for served in list(self.served.values()):
            served.cancel()
        if self.end is not None:
            self.end.cancel()


class ClientCall:
    """One call, as its client sees it."""

    def __init__(self, connection, path, request, metadata, timeout, streams):
        self.connection = connection
        loop = self.loop = connection.loop
        self.number = next(connection.network.numbers)
        self._responses = []
        self._news = loop.create_future()
        self._error = None
        self._ended = False
        self._timer = None
        self.streams = streams
        self.refused = lambda error: None  # Called if it is, for a reason.
        # Of the response that was read last: when it came, as some readers are slow, and when its
        # server had room for it and sent it, as the network is slow too.
        self.arrived = self.asked = self.sent = 0.0
        if timeout is not None:
            self._timer = loop.call_later(
                timeout, self.fail, CallError("DEADLINE_EXCEEDED", "by the client")
            )
        if connection.state in ("refused", "cut", "closed"):
            loop.call_later(
                RESET_SECONDS, self.fail, CallError("UNAVAILABLE", "nobody listens there")
            )
            return
        connection.calls[self.number] = self
        self._send(path, request, metadata, timeout)

    def _send(self, path, request, metadata, timeout):
        data, connection = request.SerializeToString(), self.connection
        connection.send(
            True, connection.listener.receive, connection, self, path, data, metadata, timeout
        )

    def _wake(self):
        if not self._news.done():
            self._news.set_result(None)

    def receive(self, data, asked, sent):
        """A response has come."""
        if not self._ended:
            self._responses.append((self.loop.now, asked, sent, data))
            self._wake()

    def end(self, error):
        """The server has ended the call."""
        if error is not None and error.reason:
            self.connection.network.refused(error)
            self.refused(error)
        if not self._ended:
            self._finish(error)

    def fail(self, error):
        """It ends without the server, which is told if that is possible."""
        if not self._ended:
            self._finish(error)
            self._tell_cancelled()

    def _finish(self, error):
        self._ended, self._error = True, error
        if self._timer is not None:
            self._timer.cancel()
        self.connection.calls.pop(self.number, None)
        self._wake()

    def _tell_cancelled(self):
        self.connection.send(True, _cancel, self.connection, self.number)

    def cancel(self):
        """The client does not want the rest."""
        self.fail(CallError("CANCELLED", "by the client"))

    async def read(self):
        """The next response; None at the end. Raises CallError."""
        while not self._responses:
            if self._ended:
                if self._error is not None:
                    raise self._error
                return None
            self._news = self.loop.create_future()
            await self._news
        self.arrived, self.asked, self.sent, data = self._responses.pop(0)
        self._take()
        return data

    def _take(self):
        # A response was read, so there is room for another one.
        if self.streams and not self._ended:
            self.connection.send(True, _give_credit, self.connection, self.number)


def _cancel(connection, number):
    served = connection.served.get(number)
    if served is not None:
        served.cancel()


def _give_credit(connection, number):
    served = connection.served.get(number)
    if served is not None:
        served.credit.release()


class _ServedCall:
    # One call, as its server sees it: the context of a handler of gRPC.

    def __init__(self, connection, client_call, metadata, timeout):
        self.connection = connection
        self._client_call = client_call
        self._metadata = metadata
        self._deadline = None if timeout is None else connection.loop.now + timeout
        self.credit = asyncio.Semaphore(WINDOW)
        self._code, self._details, self._trailing = None, "", ()
        self.task = None
        self._data, self._done = b"", []

    # What a handler asks of it

    def invocation_metadata(self):
        return self._metadata

    def peer(self):
        return self.connection.peer

    def time_remaining(self):
        return None if self._deadline is None else self._deadline - self.connection.loop.now

    def set_trailing_metadata(self, metadata):
        self._trailing = metadata

    async def send_initial_metadata(self, metadata):
        pass

    async def read(self):
        # The request comes a little later than its head.
        await asyncio.sleep(self.connection.network.delays.least)
        return self._data

    def add_done_callback(self, callback):
        self._done.append(callback)

    def set_code(self, code):
        self._code = code

    def set_details(self, details):
        self._details = details

    async def abort(self, code, details, trailing_metadata):
        self._code, self._details, self._trailing = code, details, trailing_metadata
        raise grpc.aio.AbortError

    # What the listener does

    def start(self, handler, data, path):
        loop = self.connection.loop
        number = self._client_call.number
        self.connection.served[number] = self
        self._data = data
        serve = self._stream if handler.response_streaming else self._answer
        self.task = loop.create_task(serve(handler))
        timer = None
        if self._deadline is not None:
            unary = "" if handler.response_streaming else path
            timer = loop.call_at(self._deadline, self._expire, unary, self.time_remaining())

        def ended(task):
            if timer is not None:
                timer.cancel()
            for callback in self._done:
                callback(self)
            self.connection.served.pop(number, None)
            self.connection.listener.ended(self)
            if not task.cancelled() and task.exception() is not None:
                self._send_end(CallError("UNKNOWN", repr(task.exception())))

        self.task.add_done_callback(ended)

    def _expire(self, unary, seconds):
        self.cancel()
        if unary:
            self.connection.network.cut_off(unary, seconds)

    def cancel(self):
        if self.task is not None:
            self.task.cancel()

    async def _answer(self, handler):
        asked = self.connection.loop.now
        response = await handler.stream_unary(None, self)
        if self._code is None:
            self._send(handler, response, asked)
        self._send_end(self._error())

    async def _requests(self):
        # Of a call whose requests are a stream: there is one.
        yield self._data

    async def _stream(self, handler):
        loop = self.connection.loop
        async with aclosing(handler.stream_stream(self._requests(), self)) as responses:
            await self.credit.acquire()
            asked = loop.now
            async for response in responses:
                self._send(handler, response, asked)
                await self.credit.acquire()
                asked = loop.now
        self._send_end(self._error())

    def _send(self, handler, response, asked):
        serialized = handler.response_serializer(response)
        now = self.connection.loop.now
        self.connection.send(False, self._client_call.receive, serialized, asked, now)

    def _send_end(self, error):
        self.connection.send(False, self._client_call.end, error)

    def _error(self):
        if self._code is None:
            return None
        status = None
        for key, value in self._trailing:
            if key == "grpc-status-details-bin":
                status = status_pb2.Status.FromString(value)
        return CallError(self._code.name, self._details, status)


class SimulatedListener:
    """Takes the place of `GrpcListener`: the same handlers, called through the network."""

    network = None  # Set by the world.
    most_connections = 1000

    def __init__(self, calls, limits, credentials=None, listeners=1):
        self._calls = calls
        self._handlers = None
        self.owner = None
        self.open_ones = set()
        self._served = {}
        self._idle = asyncio.Event()
        self.accepting = False

    async def open(self, address, services):
        network = SimulatedListener.network
        self.owner = network.loop.owner
        names = [service.descriptor.full_name for service in services]
        self._health, more = grpc_services(names)
        self._handlers = ServiceHandlers(self._calls, [*services, *more])
        self.address = address
        self.accepting = True
        network.listeners[address] = self
        return address

    def connections(self):
        return len(self.open_ones)

    def begin_to_close(self):
        self._health.stop()

    async def close(self, grace):
        self.unlisten()
        if self._served:
            self._idle.clear()
            try:
                async with asyncio.timeout(grace):
                    await self._idle.wait()
            except TimeoutError:
                pass
        for served in list(self._served):
            served._send_end(CallError("CANCELLED", "the server has closed its port"))
            served.cancel()
        for connection in sorted(self.open_ones, key=lambda each: each.number):
            connection.finish()

    def unlisten(self):
        """Takes no more connections and calls."""
        self.accepting = False
        network = SimulatedListener.network
        if network.listeners.get(self.address) is self:
            del network.listeners[self.address]

    def receive(self, connection, client_call, path, data, metadata, timeout):
        """A call has come."""
        if not self.accepting:
            connection.send(
                False, client_call.end, CallError("UNAVAILABLE", "the server takes no more calls")
            )
            return
        served = _ServedCall(connection, client_call, metadata, timeout)
        self._served[served] = True
        served.start(self._handlers.service(SimpleNamespace(method=path)), data, path)

    def ended(self, served):
        self._served.pop(served, None)
        if not self._served:
            self._idle.set()


assert grpc.StatusCode.UNAVAILABLE.name in GONE
