"""The server's side of an HTTP/2 connection, with the messages of gRPC in its streams.

nghttp2 keeps the state of the protocol: frames, header compression, flow control, and what a peer
may send when. This module hands it what a connection received, collects what came of that, and
gives out what is to be sent. It does no input and output itself.

nghttp2 calls back from `Session.receive` and `Session.pull`. No callback calls code that could use
the session again: what the peer did is noted in the streams, and returned afterwards.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy

from service.http2.headers cimport MAX_PAIRS, decode, fill, pair, same
from service.http2.nghttp2 cimport *

from binascii import Error as Base64Error
from binascii import a2b_base64

cdef enum:
    PREFIX = 5  # Bytes before a message: a flag, and its length in four bytes.
    GROSS = 8  # A block of headers this many times too large is not even told so.
    MAX_UNREAD = 1000  # Messages of a stream.
    CONNECTION_WINDOW = 4 << 20
    # Requests that a peer cancels: as many at once, and as many a second, before it must go.
    RESETS = 1000
    RESETS_A_SECOND = 200
    CONTINUATIONS = 8  # Frames over which the headers of a request may be spread, after the first.
    OUT_BYTES = 64 << 10
    MAX_FRAME = (16 << 10) + 512

cdef bytes STATUS = b":status", OK = b"200"
cdef bytes CONTENT_TYPE = b"content-type", GRPC = b"application/grpc"

cdef uint8_t[OUT_BYTES + MAX_FRAME] out  # Of the session that is writing, with the GIL held.


class SessionError(Exception):
    """The connection can be used no more."""


cdef class Stream:
    """A request, and the response to it."""

    cdef Session session
    cdef readonly int32_t number
    # The request. What is absent is empty.
    cdef readonly str path, method, content_type, te, timeout, encoding
    cdef readonly list metadata  # The other headers: names, and texts or bytes.
    cdef readonly list messages  # Those that were not taken.
    cdef readonly bint ended  # Whether it is complete.
    cdef readonly bint is_malformed, is_large, has_large_headers
    cdef size_t header_bytes, unread
    # The message that comes in, and how much of it and of what is before it is here.
    cdef uint8_t[PREFIX] prefix
    cdef bytes message
    cdef size_t filled
    # The response.
    cdef list queue, trailers
    cdef size_t position  # In the first of the queue.
    cdef readonly size_t unsent  # Bytes.
    cdef readonly bint begun, finished, closed
    cdef bint deferred, touched
    cdef public object drained  # Called once when nothing is left to be sent.
    cdef public object call  # Of the owner of the session.

    def __cinit__(self, Session session, int32_t number):
        self.session = session
        self.number = number
        self.path = self.method = self.content_type = self.te = self.timeout = self.encoding = ""
        self.metadata = []
        self.messages = []
        self.queue = []

    @property
    def is_cut(self):
        """Whether a message has begun and is not complete."""
        return self.filled > 0

    def take(self):
        """Takes the first message: whether it is compressed, and its bytes; None without one."""
        cdef size_t size
        if not self.messages:
            return None
        taken = self.messages.pop(0)
        size = PyBytes_GET_SIZE(<bytes> taken[1]) + PREFIX
        if not self.closed:
            self.unread -= size
            self.session.unread -= size
            if not self.ended:
                check(nghttp2_session_consume_stream(self.session.session, self.number, size))
                self.session.wake()
        return taken

    def begin(self, list headers):
        """Sends the headers of a response, before its messages."""
        cdef nghttp2_data_provider provider
        cdef nghttp2_nv[MAX_PAIRS] pairs
        if self.closed or self.begun:
            return
        self.begun = True
        provider.source.ptr = <void*> self
        provider.read_callback = read_data
        pairs[0] = pair(STATUS, OK)
        pairs[1] = pair(CONTENT_TYPE, GRPC)
        count = 2 + fill(pairs + 2, headers)
        check(nghttp2_submit_response(self.session.session, self.number, pairs, count, &provider))
        self.session.wake()

    def send(self, bytes message not None):
        """Sends a message; returns whether it, or one before it, must wait for the peer."""
        if self.closed or self.finished:
            return False
        self._put(message)
        if self.begun:
            self._resume()
        else:
            self.begin(None)
        return self.is_blocked()

    def finish(self, list trailers not None):
        """Ends the response, after its messages or without any; returns as `send` does."""
        if self.closed or self.finished:
            return False
        if not (self.begun or self.queue):
            self.refuse(OK, [(CONTENT_TYPE, GRPC), *trailers])
            return False
        self.finished = True
        self.trailers = trailers
        if self.begun:
            self._resume()
        else:
            self.begin(None)
        return self.is_blocked()

    def answer(self, bytes message not None, list trailers not None):
        """Sends the only message of a response, and ends it; returns as `send` does."""
        if self.closed or self.finished:
            return False
        self._put(message)
        return self.finish(trailers)

    def refuse(self, bytes status not None, list headers not None):
        """Ends the response before it has begun, with a status of HTTP and headers alone."""
        cdef nghttp2_nv[MAX_PAIRS] pairs
        if self.closed or self.begun:
            return
        self.begun = self.finished = True
        pairs[0] = pair(STATUS, status)
        count = 1 + fill(pairs + 1, headers)
        check(nghttp2_submit_response(self.session.session, self.number, pairs, count, NULL))
        self.session.wake()

    def reset(self, uint32_t code):
        """Ends the stream at once, whatever was not sent."""
        if self.closed:
            return
        self.finished = True
        check(nghttp2_submit_rst_stream(self.session.session, 0, self.number, code))
        self.session.wake()

    cdef int _put(self, bytes message) except -1:
        cdef size_t size = PyBytes_GET_SIZE(message)
        cdef bytes framed = PyBytes_FromStringAndSize(NULL, size + PREFIX)
        cdef char* data = PyBytes_AS_STRING(framed)
        data[0] = 0
        data[1] = <char> (size >> 24 & 0xFF)
        data[2] = <char> (size >> 16 & 0xFF)
        data[3] = <char> (size >> 8 & 0xFF)
        data[4] = <char> (size & 0xFF)
        memcpy(data + PREFIX, PyBytes_AS_STRING(message), size)
        self.queue.append(framed)
        self.unsent += size + PREFIX
        return 0

    cdef int _resume(self) except -1:
        if self.deferred:
            self.deferred = False
            check(nghttp2_session_resume_data(self.session.session, self.number))
            self.session.wake()
        return 0

    cdef bint is_blocked(self):
        cdef int32_t window = min(
            nghttp2_session_get_stream_remote_window_size(self.session.session, self.number),
            nghttp2_session_get_remote_window_size(self.session.session),
        )
        return self.session.paused or <int64_t> self.unsent > window


cdef class Session:
    """One connection. It is of no use after `close`, or when a method has raised SessionError."""

    cdef nghttp2_session* session
    cdef object notify
    cdef dict streams
    cdef list touched
    cdef uint32_t max_header_bytes, max_message_bytes
    cdef size_t unread, max_unread  # Bytes of all requests.
    cdef int pings, useless
    cdef bint awake, sent
    cdef readonly int pongs
    cdef readonly bint is_greeted  # Whether the peer has said that it speaks HTTP/2.
    cdef public bint paused  # Whether the connection takes nothing more for now.

    def __cinit__(
        self, object notify, uint32_t streams, uint32_t header_bytes, uint32_t message_bytes,
        size_t unread_bytes,
    ):
        """`notify` is called when there may be something to pull, once until nothing is left."""
        cdef nghttp2_settings_entry[4] settings
        self.notify = notify
        self.streams = {}
        self.touched = []
        self.max_header_bytes = header_bytes
        self.max_message_bytes = message_bytes
        self.max_unread = unread_bytes
        check(nghttp2_session_server_new2(&self.session, callbacks, <void*> self, option))
        settings[0].settings_id = NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS
        settings[0].value = streams
        settings[1].settings_id = NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE
        settings[1].value = message_bytes + PREFIX
        settings[2].settings_id = NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE
        settings[2].value = header_bytes
        settings[3].settings_id = NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES
        settings[3].value = 1
        check(nghttp2_submit_settings(self.session, 0, settings, 4))
        check(nghttp2_session_set_local_window_size(self.session, 0, 0, CONNECTION_WINDOW))

    def __dealloc__(self):
        nghttp2_session_del(self.session)

    def close(self):
        """Forgets all streams."""
        cdef Stream stream
        for stream in self.streams.values():
            stream.closed = True
        self.streams.clear()
        self.notify = None  # Its owner and it refer to each other no more.

    def receive(self, bytes data not None):
        """Takes what the connection received; returns the streams to which something happened."""
        cdef ssize_t used = nghttp2_session_mem_recv(
            self.session, <const uint8_t*> PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data)
        )
        if used < 0:
            raise SessionError(nghttp2_strerror(<int> used).decode())
        self.wake()  # Perhaps there is something to acknowledge.
        touched = self.touched
        if touched:
            self.touched = []
            for each in touched:
                (<Stream> each).touched = False
        return touched

    def pull(self):
        """Returns what is to be sent next, at most some 80 KB; nothing if that is all for now."""
        cdef const uint8_t* data
        cdef ssize_t size
        cdef size_t total = 0
        while total < OUT_BYTES:
            size = nghttp2_session_mem_send(self.session, &data)
            if size < 0 or total + <size_t> size > sizeof(out):
                raise SessionError(nghttp2_strerror(<int> size).decode())
            if size == 0:
                self.awake = False
                break
            memcpy(&out[total], data, size)
            total += size
        return PyBytes_FromStringAndSize(<char*> &out[0], total)

    @property
    def is_awake(self):
        """Whether there may be something to pull."""
        return self.awake

    @property
    def is_over(self):
        """Whether there is nothing more to receive and to send."""
        return not (
            nghttp2_session_want_read(self.session) or nghttp2_session_want_write(self.session)
        )

    @property
    def open_streams(self):
        """How many streams are open."""
        return len(self.streams)

    def take_frames(self):
        """Returns how many pings came since the last time, and how many frames of little use."""
        counts = self.pings, self.useless
        self.pings = self.useless = 0
        return counts

    def take_sent(self):
        """Returns whether parts of responses were sent since the last time."""
        sent, self.sent = self.sent, False
        return sent

    def ping(self):
        """Asks the peer to answer: `pongs` tells how often it did."""
        check(nghttp2_submit_ping(self.session, 0, NULL))
        self.wake()

    def announce_end(self):
        """Tells the peer to begin no more calls here; those that it begins are still answered."""
        check(nghttp2_submit_shutdown_notice(self.session))
        self.wake()

    def end(self, uint32_t code, bytes text not None):
        """Lets the peer begin no more calls; those that it has begun are still answered."""
        check(nghttp2_submit_goaway(
            self.session, 0, nghttp2_session_get_last_proc_stream_id(self.session), code,
            <const uint8_t*> PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text),
        ))
        self.wake()

    cdef int wake(self) except -1:
        if not self.awake and self.notify is not None:
            self.awake = True
            self.notify()
        return 0

    cdef Stream find(self, int32_t number):
        cdef void* found = nghttp2_session_get_stream_user_data(self.session, number)
        return <Stream> found if found is not NULL else None

    cdef int touch(self, Stream stream) except -1:
        if not stream.touched:
            stream.touched = True
            self.touched.append(stream)
        return 0


cdef int check(int result) except -1:
    if result < 0:
        raise SessionError(nghttp2_strerror(result).decode())
    return 0


# Called by nghttp2, through which passes what they raise.


cdef ssize_t read_data(
    nghttp2_session* session, int32_t number, uint8_t* buffer, size_t length, uint32_t* flags,
    nghttp2_data_source* source, void* user
) except? -902:
    cdef Stream stream = <Stream> source.ptr
    cdef size_t size = 0, part
    cdef bytes message
    cdef nghttp2_nv[MAX_PAIRS] pairs
    while stream.queue and size < length:
        message = <bytes> stream.queue[0]
        part = min(length - size, <size_t> PyBytes_GET_SIZE(message) - stream.position)
        memcpy(buffer + size, PyBytes_AS_STRING(message) + stream.position, part)
        size += part
        stream.position += part
        if stream.position == <size_t> PyBytes_GET_SIZE(message):
            stream.queue.pop(0)
            stream.position = 0
    stream.unsent -= size
    if not stream.queue:
        if stream.finished:
            flags[0] |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM
            nghttp2_submit_trailer(session, number, pairs, fill(pairs, stream.trailers))
        elif not size:
            stream.deferred = True
            return NGHTTP2_ERR_DEFERRED
        if stream.drained is not None:
            drained, stream.drained = stream.drained, None
            drained()
    return size


cdef int on_begin_headers(
    nghttp2_session* session, const nghttp2_frame* frame, void* user
) except? -902:
    cdef Session self = <Session> user
    cdef Stream stream
    if frame.headers.cat == NGHTTP2_HCAT_REQUEST:
        stream = Stream(self, frame.hd.stream_id)
        self.streams[frame.hd.stream_id] = stream
        nghttp2_session_set_stream_user_data(session, frame.hd.stream_id, <void*> stream)
    return 0


cdef int on_header(
    nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name, size_t name_length,
    const uint8_t* value, size_t value_length, uint8_t flags, void* user
) except? -902:
    cdef Session self = <Session> user
    cdef Stream stream = self.find(frame.hd.stream_id)
    if stream is None:
        return 0
    stream.header_bytes += name_length + value_length + 32
    if stream.header_bytes > self.max_header_bytes:
        if stream.header_bytes > GROSS * <size_t> self.max_header_bytes:
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE
        stream.has_large_headers = True
        return 0
    if frame.headers.cat != NGHTTP2_HCAT_REQUEST:
        return 0
    if name[0] == c":":
        if same(name, name_length, b":path"):
            stream.path = decode(value, value_length)
        elif same(name, name_length, b":method"):
            stream.method = decode(value, value_length)
    elif same(name, name_length, b"content-type"):
        stream.content_type = decode(value, value_length)
    elif same(name, name_length, b"te"):
        stream.te = decode(value, value_length)
    elif same(name, name_length, b"grpc-timeout"):
        stream.timeout = decode(value, value_length)
    elif same(name, name_length, b"grpc-encoding"):
        stream.encoding = decode(value, value_length)
    elif not same(name, name_length, b"grpc-accept-encoding"):
        add_metadata(stream, name, name_length, value, value_length)
    return 0


cdef int add_metadata(
    Stream stream, const uint8_t* name, size_t name_length, const uint8_t* value,
    size_t value_length
) except -1:
    key = decode(name, name_length)
    if name_length < 4 or memcmp(name + name_length - 4, b"-bin", 4):
        stream.metadata.append((key, decode(value, value_length)))
        return 0
    # Several values may be joined, and need no padding.
    for part in PyBytes_FromStringAndSize(<char*> value, value_length).split(b","):
        try:
            stream.metadata.append((key, a2b_base64(part + b"==")))
        except Base64Error:
            stream.is_malformed = True


cdef int on_data_chunk(
    nghttp2_session* session, uint8_t flags, int32_t number, const uint8_t* data, size_t length,
    void* user
) except? -902:
    cdef Session self = <Session> user
    cdef Stream stream = self.find(number)
    # What one stream does not read holds up no other.
    nghttp2_session_consume_connection(session, length)
    # The stream itself has room for a message of the largest size, and more when that is taken.
    if stream is None or stream.finished or stream.is_large:
        return 0
    self.unread += length
    stream.unread += length
    if self.unread > self.max_unread:
        stream.is_large = True
    split(stream, data, length)
    self.touch(stream)
    return 0


cdef int split(Stream stream, const uint8_t* data, size_t length) except -1:
    # Cuts what came into messages.
    cdef size_t part, size
    while length and not stream.is_large:
        if stream.filled < PREFIX:
            part = min(length, PREFIX - stream.filled)
            memcpy(&stream.prefix[stream.filled], data, part)
            stream.filled += part
            data += part
            length -= part
            if stream.filled < PREFIX:
                return 0
            size = (
                <size_t> stream.prefix[1] << 24 | <size_t> stream.prefix[2] << 16
                | <size_t> stream.prefix[3] << 8 | <size_t> stream.prefix[4]
            )
            if size > stream.session.max_message_bytes or len(stream.messages) >= MAX_UNREAD:
                stream.is_large = True
                return 0
            if stream.prefix[0] > 1:
                stream.is_malformed = True
            stream.message = PyBytes_FromStringAndSize(NULL, size)
        size = PyBytes_GET_SIZE(stream.message)
        part = min(length, size + PREFIX - stream.filled)
        memcpy(PyBytes_AS_STRING(stream.message) + stream.filled - PREFIX, data, part)
        stream.filled += part
        data += part
        length -= part
        if stream.filled == size + PREFIX:
            stream.messages.append((stream.prefix[0] == 1, stream.message))
            stream.message = None
            stream.filled = 0


cdef int on_frame_recv(
    nghttp2_session* session, const nghttp2_frame* frame, void* user
) except? -902:
    cdef Session self = <Session> user
    cdef Stream stream
    cdef uint8_t kind = frame.hd.type
    if kind == NGHTTP2_HEADERS or kind == NGHTTP2_DATA:
        stream = self.find(frame.hd.stream_id)
        if stream is not None:
            if frame.hd.flags & NGHTTP2_FLAG_END_STREAM:
                stream.ended = True
                self.touch(stream)
            elif kind == NGHTTP2_HEADERS:
                self.touch(stream)
            elif not frame.hd.length:
                self.useless += 1
    elif kind == NGHTTP2_SETTINGS:
        if not frame.hd.flags & NGHTTP2_FLAG_ACK:
            self.useless += 1
            self.is_greeted = True
    elif kind == NGHTTP2_PING:
        if frame.hd.flags & NGHTTP2_FLAG_ACK:
            self.pongs += 1
        else:
            self.pings += 1
    return 0


cdef int on_frame_send(
    nghttp2_session* session, const nghttp2_frame* frame, void* user
) except? -902:
    cdef Session self = <Session> user
    cdef Stream stream
    if frame.hd.type == NGHTTP2_HEADERS:
        self.sent = True
        if frame.hd.flags & NGHTTP2_FLAG_END_STREAM:
            stream = self.find(frame.hd.stream_id)
            if stream is not None and not stream.ended:
                # The rest of the request is of no use any more (RFC 9113, section 8.1).
                nghttp2_submit_rst_stream(session, 0, frame.hd.stream_id, 0)
    elif frame.hd.type == NGHTTP2_DATA:
        self.sent = True
    return 0


cdef int on_stream_close(
    nghttp2_session* session, int32_t number, uint32_t code, void* user
) except? -902:
    cdef Session self = <Session> user
    cdef Stream stream = self.streams.pop(number, None)
    if stream is not None:
        stream.closed = True
        self.unread -= stream.unread
        stream.unread = 0
        stream.drained = None
        if not stream.finished:
            self.touch(stream)
    return 0


cdef nghttp2_session_callbacks* callbacks
cdef nghttp2_option* option
check(nghttp2_session_callbacks_new(&callbacks))
nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers)
nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header)
nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk)
nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv)
nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send)
nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close)
check(nghttp2_option_new(&option))
nghttp2_option_set_no_auto_window_update(option, 1)
nghttp2_option_set_no_closed_streams(option, 1)
# A token may be empty: "Bearer ".
nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(option, 1)
nghttp2_option_set_stream_reset_rate_limit(option, RESETS, RESETS_A_SECOND)
nghttp2_option_set_max_continuations(option, CONTINUATIONS)
