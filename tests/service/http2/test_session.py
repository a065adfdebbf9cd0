"""A connection of HTTP/2 without a socket."""

import pytest

from tests.support.http2 import PREFACE, SETTINGS, call, frame

session_module = pytest.importorskip("service.http2.session")


def test_what_a_callback_raises_reaches_the_caller():
    session = session_module.Session(lambda: None, 10, 1 << 16, 1 << 16, 1 << 20)
    (stream,) = session.receive(PREFACE + frame(SETTINGS) + call(1))

    def fail():
        raise LookupError("planted")

    stream.drained = fail
    stream.answer(b"answer", [(b"grpc-status", b"0")])
    with pytest.raises(LookupError, match="planted"):
        session.pull()
    session.close()
