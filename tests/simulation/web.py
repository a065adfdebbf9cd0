"""The web gateway in memory: HTTP/1.1, byte by byte, over the connections of the network.

On the side of the server all is real from an accepted connection on: its limits, uvicorn, h11, the
library of Connect, the gateway. On the other side is a browser, which has as many connections as
calls that run, keeps those whose call has ended, and closes one to end its call.
"""

import asyncio
import base64
import json
import struct

import h11
from google.protobuf import descriptor_pool, json_format
from google.protobuf.message_factory import GetMessageClass
from google.rpc import status_pb2

import service.gateway.listener
from service.gateway.options import WebOptions
from service.gateway.rpc import MAX_JSON_BYTES
from tests.simulation.network import CallError, ClientCall, Connection, SimulatedListener

PORT = 8080
# Of what its reader has not read: beyond the first, the server is told to wait, until the second.
HIGH_BYTES, LOW_BYTES = 16 << 10, 4 << 10
_ENVELOPE = struct.Struct(">BI")  # Of each message in a stream: flags, and its size in bytes.
_LAST = 2  # The flag of the last one, which is no message but says how the call has ended.


# The server


def options_of(host):
    """The options of a gateway on a host of the network."""
    return WebOptions(host=host, port=PORT)


def address_of(host):
    """Where the gateway of a host listens."""
    return f"{host}:{PORT}"


class Port:
    """A port of the gateway of one server, and its connections."""

    def __init__(self, options):
        self._network = SimulatedListener.network
        self._name = (options.host, options.port)
        self.address = address_of(options.host)
        self.owner = self._network.loop.owner
        self.open_ones = set()
        self._admit = None

    def getsockname(self):
        """As of a socket."""
        return self._name

    def close(self):
        pass

    async def accept(self, admit):
        """Takes connections until this is cancelled."""
        self._admit = admit
        self._network.listeners[self.address] = self
        try:
            await self._network.loop.create_future()
        finally:
            if self._network.listeners.get(self.address) is self:
                del self._network.listeners[self.address]

    def receive(self, connection, data):
        """Bytes have come from a browser."""
        if connection.end is None:
            if self._network.listeners.get(self.address) is not self:
                connection.cut()  # The operating system refuses it: the port is closed.
                return
            connection.end = _ServerEnd(connection)
            self._admit(connection.end, connection.end.getpeername())
        connection.end.receive(data)


class _ServerEnd(asyncio.Transport):
    # The server's end of a connection: a socket that was accepted, and later its transport.

    def __init__(self, connection):
        super().__init__()
        self._connection = connection
        self._loop = connection.loop
        self._protocol = None
        self._closing = self._lost = self._pausing = self._reading_paused = False
        self._received = []  # And not handed over yet.
        self._unread = 0  # Bytes that were written, and that the other end has not read.
        self._free_since = connection.loop.now  # Since when there is room for the next write.
        self._paused = None  # Since when the next write may have waited for room.

    # As a socket

    def getsockname(self):
        host, _, port = self._connection.address.rpartition(":")
        return host, int(port)

    def getpeername(self):
        _, host, port = self._connection.peer.split(":")
        return host, int(port)

    def setsockopt(self, *_):
        pass

    # As a transport

    def begin(self, protocol):
        """Hands over to a protocol what comes."""
        self._protocol = protocol
        protocol.connection_made(self)
        self._hand_over()

    def get_extra_info(self, name, default=None):
        return self if name == "socket" else default

    def is_closing(self):
        return self._closing

    def get_write_buffer_size(self):
        return self._unread

    def pause_reading(self):
        self._reading_paused = True

    def resume_reading(self):
        self._reading_paused = False
        self._loop.call_soon(self._hand_over)

    def write(self, data):
        if self._closing or not data:
            return
        now = self._loop.now
        self._unread += len(data)
        # What had to wait for room may be as old as the wait.
        sent = now if self._paused is None else self._paused
        self._paused = None
        self._connection.send(False, _arrive, self._connection, bytes(data), self._free_since, sent)
        self._free_since = now
        if self._unread > HIGH_BYTES and not self._pausing:
            self._pausing, self._paused = True, now
            self._protocol.pause_writing()

    def close(self):
        if not self._closing:
            self._closing = True
            self._connection.finish()
            self._loop.call_soon(self.cancel)

    def abort(self):
        self._closing = True
        self._connection.cut()
        self._loop.call_soon(self.cancel)

    # What the network tells

    def receive(self, data):
        """Bytes have come."""
        self._received.append(data)
        self._hand_over()

    def _hand_over(self):
        ready = self._protocol is not None
        while ready and self._received and not (self._reading_paused or self._closing):
            self._protocol.data_received(self._received.pop(0))

    def read(self, size):
        """The other end has read so many bytes."""
        self._unread -= size
        if self._pausing and self._unread <= LOW_BYTES and not self._lost:
            self._pausing, self._free_since = False, self._loop.now
            self._protocol.resume_writing()

    def cancel(self):
        """The connection has ended."""
        if not self._lost:
            self._closing = self._lost = True
            if self._protocol is not None:
                self._protocol.connection_lost(None)


def install():
    """Takes the place of the ports of the gateway."""
    service.gateway.listener._open_port = Port
    service.gateway.listener.accept = Port.accept


# The browser


def _arrive(connection, data, asked, sent):
    for call in list(connection.calls.values()):
        call.receive_bytes(data, asked, sent)


class Browser:
    """The connections of one browser."""

    def __init__(self, network, owner, peer, codec):
        """`codec` is "proto" or "json", the form of its messages."""
        self._network, self._owner, self._peer = network, owner, peer
        self._codec = codec
        self._connections = []

    def begin(self, host, path, request, metadata, timeout, streams):
        """Begins a call to a server."""
        address = address_of(host)
        kept = [each for each in self._connections if each.state == "open"]
        self._connections = kept
        free = (each for each in kept if each.address == address and not each.calls)
        connection = next(free, None)
        if connection is None:
            connection = Connection(self._network, self._owner, address, self._peer)
            self._connections.append(connection)
        return WebCall(connection, path, request, metadata, timeout, streams, self._codec)

    def close(self):
        """Closes all connections."""
        for connection in self._connections:
            connection.close()


class WebCall(ClientCall):
    """One call by Connect, as its browser sees it."""

    def __init__(self, connection, path, request, metadata, timeout, streams, codec):
        self._codec = codec
        self._output = None
        if codec == "json":
            name = path.strip("/").replace("/", ".")
            method = descriptor_pool.Default().FindMethodByName(name)
            self._output = GetMessageClass(method.output_type)
        self._http = h11.Connection(h11.CLIENT)
        self._response = None
        self._last = CallError("UNAVAILABLE", "a stream without an end")
        self._body = bytearray()
        self._unread = 0  # Bytes that have come, and that nobody has read.
        super().__init__(connection, path, request, metadata, timeout, streams)

    def _send(self, path, request, metadata, timeout):
        body = request.SerializeToString()
        if self._codec == "json":
            text = json_format.MessageToJson(request, indent=None).encode()
            if len(text) > MAX_JSON_BYTES:  # As the record of a long match has.
                self._codec, self._output = "proto", None
            else:
                body = text
        kind = f"application/{self._codec}"
        if self.streams:
            kind = f"application/connect+{self._codec}"
            body = _ENVELOPE.pack(0, len(body)) + body
        headers = [
            ("host", self.connection.address),
            ("content-type", kind),
            ("content-length", str(len(body))),
            ("connect-protocol-version", "1"),
            *metadata,
        ]
        if timeout is not None:
            headers.append(("connect-timeout-ms", str(int(1000 * timeout))))
        for event in (
            h11.Request(method="POST", target=path, headers=headers),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            data = self._http.send(event)
            if data:
                self.connection.send(True, self.connection.listener.receive, self.connection, data)

    def _tell_cancelled(self):
        self.connection.close()

    def _take(self):
        # Whoever reads makes room only when all that has come was read, as with a small buffer.
        if not self._responses and self._unread:
            self.connection.send(True, self.connection.end.read, self._unread)
            self._unread = 0

    def receive_bytes(self, data, asked, sent):
        """A part of the response has come."""
        self._unread += len(data)
        self._http.receive_data(data)
        while not self._ended:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                break
            if isinstance(event, h11.Response):
                self._response = event
            elif isinstance(event, h11.Data):
                self._body += event.data
                if self.streams and self._response.status_code == 200:
                    self._read_envelopes(asked, sent)
            elif isinstance(event, h11.EndOfMessage):
                self._complete(asked, sent)
        self._take()

    def _read_envelopes(self, asked, sent):
        while len(self._body) >= _ENVELOPE.size and not self._ended:
            flags, size = _ENVELOPE.unpack_from(self._body)
            if len(self._body) < _ENVELOPE.size + size:
                return
            content = bytes(self._body[_ENVELOPE.size : _ENVELOPE.size + size])
            del self._body[: _ENVELOPE.size + size]
            if flags & _LAST:
                error = json.loads(content).get("error")
                self._last = None if error is None else _call_error(error)
            else:
                self.receive(self._decoded(content), asked, sent)

    def _complete(self, asked, sent):
        status = self._response.status_code
        if status != 200:
            self.end(self._refusal(status))
        elif self.streams:
            self.end(self._last)
        else:
            self.receive(self._decoded(bytes(self._body)), asked, sent)
            self.end(None)

    def _decoded(self, content):
        if self._output is None:
            return content
        return json_format.Parse(content, self._output()).SerializeToString()

    def _refusal(self, status):
        kind = dict(self._response.headers).get(b"content-type", b"")
        if kind.startswith(b"application/json"):
            return _call_error(json.loads(self._body))
        # As the protocol has it for what has no code.
        codes = {429: "UNAVAILABLE", 502: "UNAVAILABLE", 503: "UNAVAILABLE"}
        text = self._body.decode(errors="replace")
        return CallError(codes.get(status, "UNKNOWN"), f"{status}: {text}")


def _call_error(error):
    code = "CANCELLED" if error["code"] == "canceled" else error["code"].upper()
    status = status_pb2.Status()
    for detail in error.get("details", ()):
        value = base64.b64decode(detail["value"] + "=" * (-len(detail["value"]) % 4))
        status.details.add(type_url=f"type.googleapis.com/{detail['type']}", value=value)
    return CallError(code, error.get("message", ""), status)
