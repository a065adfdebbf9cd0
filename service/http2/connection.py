"""One connection: what it receives and sends, and the limits of what its peer may do."""

import asyncio
import random
import socket
import ssl
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast

from google.rpc import code_pb2

from service import connections as limits
from service.connections import MAX_METADATA_BYTES, MAX_REQUEST_BYTES, ConnectionLimits
from service.http2.call import OVER, STALLED_SECONDS, Call
from service.http2.methods import Methods
from service.http2.protocol import (
    ENCODINGS,
    ENHANCE_YOUR_CALM,
    NO_ERROR,
    Fault,
    is_grpc,
    read_timeout,
    status,
    write_peer,
)
from service.http2.session import Session, SessionError, Stream
from service.sockets import drop_unsent

# Of what came at once, no more calls begin in one turn of the event loop.
CALLS_A_TURN = 64
# Of all requests of a connection that no servicer has taken. It is reached by nobody who sends a
# message at a time.
MAX_UNREAD_BYTES = 32 << 20
# A peer that was asked to leave has heard it by then, and begins no more calls.
LEAVING_SECONDS = 1.0
CLOSING_SECONDS = 5.0  # To take the last of what was sent.
# Pings that come too early; the next one ends the connection, as in gRPC.
PING_STRIKES = 2
PING_WITHOUT_CALLS_SECONDS = 7200.0
# Settings and empty frames: at once, and in each second.
USELESS_FRAMES, USELESS_FRAMES_A_SECOND = 1000, 100
AGE_JITTER = 0.1  # So that clients which came together do not leave together.


class Owner(Protocol):
    """All connections of a door."""

    loop: asyncio.AbstractEventLoop
    methods: Methods
    limits: ConnectionLimits

    def set_silent(self, connection: "Connection", silent: bool) -> None:
        """A call of a connection has begun, or its last one has ended."""

    def closed(self, connection: "Connection") -> None:
        """A connection is no more."""

    def began(self, call: Call) -> None:
        """A call has begun."""

    def ended(self, call: Call) -> None:
        """A call is over."""


class Connection(asyncio.Protocol):
    """A connection from when it is accepted."""

    def __init__(self, owner: Owner) -> None:
        self.loop = owner.loop
        self.peer = ""
        self._owner = owner
        self._accepted: socket.socket | None = None  # Until a transport has it.
        self._opening: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._session = Session(
            self._want_flush,
            owner.limits.streams,
            MAX_METADATA_BYTES,
            MAX_REQUEST_BYTES,
            MAX_UNREAD_BYTES,
        )
        self._calls: set[Call] = set()
        self._touched: deque[Stream] = deque()  # To be looked at in the next turns.
        now = self.loop.time()
        self._opened = self._heard = now
        self._age = owner.limits.age * random.uniform(1 - AGE_JITTER, 1 + AGE_JITTER)
        self._idle_since: float | None = now  # None: there are calls.
        self._asked: float | None = None  # When a silent peer was asked whether it lives.
        self._leaving = self._ended = self._closing = False
        self._pongs = 0
        self._strikes = 0
        self._pinged = float("-inf")
        self._useless, self._useless_at = 0.0, now
        # The next look at the times above; and what is to happen in any case.
        self._timer: asyncio.TimerHandle | None = None  # None: the peer has not begun yet.
        self._last: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    # Opening and closing

    def open(self, accepted: socket.socket, context: ssl.SSLContext | None) -> None:
        """Begins with an accepted socket."""
        self._accepted = accepted
        self._last = self.loop.call_later(limits.HANDSHAKE_SECONDS, self.abort)
        self._opening = self.loop.create_task(self._open(context))

    async def _open(self, context: ssl.SSLContext | None) -> None:
        accepted, self._accepted = self._accepted, None
        assert accepted is not None
        timeout = None if context is None else limits.HANDSHAKE_SECONDS
        try:
            await self.loop.connect_accepted_socket(
                lambda: self, accepted, ssl=context, ssl_handshake_timeout=timeout
            )
        except (OSError, ValueError):  # ssl.SSLError is an OSError.
            self._forget()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own is not one.
        self.peer = write_peer(transport.get_extra_info("peername"))
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()

    def _forget(self) -> None:
        for timer in (self._timer, self._last, self._stalled):
            if timer is not None:
                timer.cancel()
        self._closing = True
        self._touched.clear()
        self._session.close()
        for call in list(self._calls):
            call.cancel()
        self._owner.closed(self)

    def abort(self) -> None:
        """Closes the connection at once."""
        if self._opening is not None:
            self._opening.cancel()
        if self._accepted is not None:
            self._accepted.close()
        if self._transport is not None:
            if self._session.paused:
                drop_unsent(self._transport.get_extra_info("socket"))
            self._transport.abort()
        self._forget()

    def leave(self) -> None:
        """Asks the peer to begin no more calls here, and closes when those that run have ended."""
        if self._leaving or self._closing:
            return
        self._leaving = True
        if self._transport is None or not self._session.is_greeted:
            self.abort()
            return
        self._session.announce_end()
        self._session.ping()
        self._pongs = self._session.pongs
        self._arm(LEAVING_SECONDS, self._end)

    def cut(self) -> None:
        """Answers the calls that still run with UNAVAILABLE, and closes."""
        for call in list(self._calls):
            call.fail(status(code_pb2.UNAVAILABLE, "the server has ended the connection"))
        self._end()
        self._arm(CLOSING_SECONDS, self.abort)
        self._want_flush()

    def _end(self) -> None:
        # Later calls are not answered: the peer knows that it may repeat them elsewhere.
        if self._ended or self._closing:
            return
        self._ended = self._leaving = True
        self._session.end(NO_ERROR, b"")
        grace = self._opened + self._age + self._owner.limits.age_grace - self.loop.time()
        self._arm(max(0.0, grace), self.cut)

    def _turn_out(self, text: bytes) -> None:
        self._session.end(ENHANCE_YOUR_CALM, text)
        self._flush()
        self._close()

    def _close(self) -> None:
        if self._closing:
            return
        self._closing = True
        self._arm(CLOSING_SECONDS, self.abort)
        if self._transport is not None:
            self._transport.close()

    def _arm(self, seconds: float, then: Callable[[], None]) -> None:
        if self._last is not None:
            self._last.cancel()
        self._last = self.loop.call_later(seconds, then)

    # Time

    def _look(self) -> None:
        # Looks at the times, and comes again when the next one may be over. So calls and frames
        # only note times, and move no timers.
        now = self.loop.time()
        heard = self._heard
        if self._asked is not None and heard < self._asked:
            again = self._asked + limits.KEEPALIVE_TIMEOUT_SECONDS
            if now >= again:
                self.abort()
                return
        else:
            self._asked = None
            again = heard + limits.KEEPALIVE_SECONDS
            if now >= again:
                self._session.ping()
                self._asked = now
                again = now + limits.KEEPALIVE_TIMEOUT_SECONDS
        if not self._leaving:
            most = self._owner.limits
            idle = (now if self._idle_since is None else self._idle_since) + most.idle
            old = self._opened + self._age
            if now >= min(idle, old):
                self.leave()
            else:
                again = min(again, idle, old)
        self._timer = self.loop.call_at(again, self._look)

    # Receiving

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        self._heard = self.loop.time()
        session = self._session
        try:
            streams = session.receive(data)
        except SessionError:
            self.abort()
            return
        if self._timer is None and session.is_greeted:
            assert self._last is not None
            self._last.cancel()
            self._look()
        if len(streams) > CALLS_A_TURN or self._touched:
            self._take_turns(streams)
        else:
            for stream in streams:
                self._heed(stream)
        self._check_frames()
        if self._leaving and not self._ended and session.pongs > self._pongs:
            self._end()

    def _take_turns(self, streams: list[Stream]) -> None:
        # So that one connection does not hold up the others.
        if not self._touched:
            assert self._transport is not None
            self._transport.pause_reading()
            self.loop.call_soon(self._take_turn)
        self._touched.extend(streams)

    def _take_turn(self) -> None:
        for _ in range(min(CALLS_A_TURN, len(self._touched))):
            self._heed(self._touched.popleft())
        if self._closing:
            return
        if self._touched:
            self.loop.call_soon(self._take_turn)
        elif not self._session.paused:
            assert self._transport is not None
            self._transport.resume_reading()

    def _heed(self, stream: Stream) -> None:
        # Something has happened to a stream.
        call = stream.call
        if call is None:
            if stream.closed or stream.finished:
                return
            call = self._begin(stream)
            if call is None:
                return
            stream.call = call
            if not self._calls:
                self._idle_since = None
                self._owner.set_silent(self, False)
            self._calls.add(call)
            self._owner.began(call)
        if call is not OVER:
            call.go_on()

    def _begin(self, stream: Stream) -> Call | None:
        # The call of a stream whose headers are here; None if it is answered already.
        if stream.method != "POST":
            stream.refuse(b"405", [(b"allow", b"POST")])
            return None
        if not is_grpc(stream.content_type):
            stream.refuse(b"415", [])
            return None
        try:
            if stream.has_large_headers:
                text = f"the metadata is larger than {MAX_METADATA_BYTES} bytes"
                raise Fault(code_pb2.RESOURCE_EXHAUSTED, text)
            if stream.te != "trailers" or stream.is_malformed:
                raise Fault(code_pb2.INVALID_ARGUMENT, "the headers are not those of a gRPC call")
            method = self._owner.methods.find(stream.path)
            if stream.encoding not in ENCODINGS:
                raise Fault(code_pb2.UNIMPLEMENTED, "messages cannot be compressed in this way")
            timeout = read_timeout(stream.timeout)
        except Fault as fault:
            stream.finish(fault.headers())
            return None
        return Call(self, stream, method, timeout)

    def ended(self, call: Call) -> None:
        """A call is over."""
        if call in self._calls:
            self._calls.remove(call)
            self._owner.ended(call)
            if not self._calls:
                self._idle_since = self.loop.time()
                self._owner.set_silent(self, True)

    def _check_frames(self) -> None:
        # Frames that cost the server something and bring nothing.
        session = self._session
        pings, useless = session.take_frames()
        if pings:
            if session.take_sent():
                self._strikes = 0
                self._pinged = float("-inf")
            wait = limits.MIN_PING_SECONDS if self._calls else PING_WITHOUT_CALLS_SECONDS
            self._strikes += pings - (self._heard >= self._pinged + wait)
            self._pinged = self._heard
            if self._strikes > PING_STRIKES:
                self._turn_out(b"too_many_pings")
                return
        if useless:
            passed = self._heard - self._useless_at
            self._useless_at = self._heard
            left = max(0.0, self._useless - passed * USELESS_FRAMES_A_SECOND)
            self._useless = left + useless
            if self._useless > USELESS_FRAMES:
                self._turn_out(b"too_many_frames")

    # Sending

    def _want_flush(self) -> None:
        self.loop.call_soon(self._flush)

    def _flush(self) -> None:
        session, transport = self._session, self._transport
        if transport is None or self._closing or session.paused:
            return
        try:
            data = session.pull()
        except SessionError:
            self.abort()
            return
        if data:
            transport.write(data)
            if session.is_awake:
                # There is more, unless the peer must take this first.
                self.loop.call_soon(self._flush)
                return
        if session.is_over or (self._ended and not session.open_streams):
            self._close()

    def pause_writing(self) -> None:
        self._session.paused = True
        if self._transport is not None:
            # Whoever takes no answers is not asked for more.
            self._transport.pause_reading()
        self._stalled = self.loop.call_later(STALLED_SECONDS, self.abort)

    def resume_writing(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        self._session.paused = False
        if self._transport is not None and not self._closing and not self._touched:
            self._transport.resume_reading()
        self._flush()
