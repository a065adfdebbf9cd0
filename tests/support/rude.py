"""What a peer can answer that is no server of Croupier, is out of its mind, or is lost in between.

`ROWS` is one table of rude answers, by status, type, body, end and speed, and of what a client must
make of each. `MUTANTS` are answers in which one value is of a wrong type. Both clients for engines
are driven through all of it, by tests/support/rude_server.py.

A row's call is "unary", "stream", or "follow": a match whose stream tells these messages. What must
come of it:

    ok          a result; of a stream, `told` messages; of a match, `turns`: the versions at which
                a decision was asked for
    lost        an error without a reason that may pass: the call was repeated, and then given up
    CODE        an error of this code, and not repeated; CODE:REASON, one of the server
    again:CODE  an error of this code, though the call was repeated; again:CODE:REASON

Words that are parted by "|" are alternatives.
"""

import base64
import json
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from google.protobuf.message import Message
from google.rpc import error_details_pb2

Step = bytes | float | str | tuple[bytes, float]
CLOSE, RESET = "close", "reset"  # The connection; without one of them it stands.
JSON, STREAM = "application/json", "application/connect+json"
SHORT = 0.5  # Seconds of patience with an answer that does not come.
DAY = 86400
DRIP = 0.02


class Row(NamedTuple):
    """An answer, and what a client must make of it."""

    name: str
    expect: str
    answer: tuple[Step, ...]
    call: str = "unary"
    then: tuple[Step, ...] | None = None  # Every further answer.
    seconds: float = 600.0  # After which the client gives an attempt up.
    told: int = 0
    turns: tuple[int, ...] = ()
    tls: bool = False


def http(
    status: object, body: bytes = b"", type_: str | None = JSON, *headers: str, more: int = 0
) -> bytes:
    """An answer with its length, or with one that is too large by `more`."""
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body) + more}", *headers]
    lines += [f"Content-Type: {type_}"] if type_ else []
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def envelope(message: Any, flags: int = 0) -> bytes:
    """A message of a stream, of JSON or of bytes."""
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return bytes([flags]) + struct.pack(">I", len(body)) + body


def chunk(body: bytes) -> bytes:
    """A piece of an answer whose length is not told before."""
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


def stream(*messages: bytes, type_: str = STREAM) -> bytes:
    """The begin of a stream, with messages."""
    return CHUNKED.replace(JSON.encode(), type_.encode()) + b"".join(map(chunk, messages))


def told_stream(message: bytes) -> bytes:
    """A whole stream with one message."""
    return stream(envelope(message), END) + LAST


def detail(message: Message) -> dict[str, str]:
    """A detail of an error, as Connect has it."""
    value = base64.b64encode(message.SerializeToString()).decode().rstrip("=")
    return {"type": message.DESCRIPTOR.full_name, "value": value}


def info(reason: str, domain: str = "croupier.v1", **metadata: str) -> dict[str, str]:
    """The detail that has the reason of an error."""
    said = error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata=metadata)
    return detail(said)


def retry(seconds: int) -> dict[str, str]:
    """The detail that says when to call again."""
    said = error_details_pb2.RetryInfo()
    said.retry_delay.seconds = seconds
    return detail(said)


def error(code: Any, details: Any = None, message: Any = "no", **more: Any) -> dict[str, Any]:
    """An error as Connect has it."""
    return {"code": code, "message": message, "details": details, **more}


def refusal(code: Any, details: Any = None, message: Any = "no") -> bytes:
    """An error that comes instead of an answer."""
    return http(400, json.dumps(error(code, details, message)).encode())


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"
LAST = chunk(b"")
WHOLE, HTML = b'{"version":"1"}', b"<html>"
FINE = http(200, WHOLE)
ONE = envelope({"version": "1"})
END = envelope({}, 2)
GOOD = stream(ONE, END) + LAST
REASON = info("STALE_VERSION", current_version="7")
HEADER = b"HTTP/1.1 200 OK\r\n"
ENDLESS = (b"x" * 65536, 0.0)


def _bytewise(answer: bytes) -> tuple[Step, ...]:
    return tuple(answer[at : at + 1] for at in range(len(answer)))


def _unary() -> Iterator[Row]:
    yield Row("whole", "ok", (FINE,))
    yield Row("no type", "ok", (http(200, WHOLE, None),))
    yield Row("another type", "ok", (http(200, WHOLE, "text/html"),))
    yield Row("to the close", "ok", (HEADER + b"Connection: close\r\n\r\n" + WHOLE, CLOSE))
    yield Row("chunked", "ok", (CHUNKED + chunk(WHOLE[:5]) + chunk(WHOLE[5:]) + LAST,))
    yield Row("bytewise", "ok", _bytewise(CHUNKED + chunk(WHOLE) + LAST))
    yield Row("more than said", "ok", (FINE + b"rest", CLOSE))
    yield Row("hints before", "ok|lost", (b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + FINE, CLOSE))
    yield Row("another call after", "ok", (HTML, CLOSE), then=(FINE,))
    for name, body in (
        *(("page", HTML), ("nothing", b""), ("list", b"[1]"), ("text", b'"x"'), ("null", b"null")),
        *(("number", b"7"), ("cut", WHOLE[:9]), ("tail", WHOLE + b"{"), ("zip", b"\x1f\x8b\x08")),
        *(("deep", b'{"a":' + b"[" * 99999), ("zeros", b"\0" * 99)),
    ):
        yield Row(f"200 {name}", "lost", (http(200, body),))
    deep = b'{"a":' + b"[" * 50000 + b"]" * 50000 + b"}"
    yield Row("200 deep and whole", "lost|ok", (http(200, deep),))
    large = b'{"version":' + b"9" * 999 + b',"a":1e999}'
    yield Row("200 large numbers", "lost|ok", (http(200, large),))
    yield Row("200 no UTF-8", "lost|ok", (http(200, b'{"a":"\xff\xfe"}'),))
    yield Row("cut off", "lost", (http(200, WHOLE[:9], more=6), CLOSE))
    yield Row("cut chunk", "lost", (CHUNKED + b"f\r\n" + WHOLE[:9], CLOSE))
    yield Row("no last chunk", "lost|ok", (CHUNKED + chunk(WHOLE), CLOSE))
    yield Row("rubbish chunk", "lost", (CHUNKED + b"zz\r\n" + WHOLE, CLOSE))
    yield Row("reset within", "lost", (http(200, WHOLE[:9], more=6), RESET))
    yield Row("reset", "lost", (RESET,))
    yield Row("closed", "lost", (CLOSE,))
    yield Row("no HTTP", "lost", (b"220 mail.example.org ESMTP\r\n", CLOSE))
    yield Row("half a header", "lost", (HEADER + b"Content-", CLOSE))
    yield Row("never", "lost", (), seconds=SHORT)
    yield Row("silent header", "lost", (HEADER,), seconds=SHORT)
    yield Row("silent body", "lost", (http(200, WHOLE[:9], more=6),), seconds=SHORT)
    yield Row("dripping header", "lost", (HEADER + b"A: ", (b"x", DRIP)), seconds=SHORT)
    yield Row("dripping body", "lost", (CHUNKED, (chunk(b" "), DRIP)), seconds=SHORT)
    yield Row("endless body", "lost", (http(200, b"", more=1 << 40), ENDLESS))
    yield Row("endless page", "lost", (http(503, b"", more=1 << 40), ENDLESS))
    for status in (201, 204, 206, 400, 408, 418, 429, 500, 502, 503, 504, 520, 999):
        body = b"" if status == 204 else HTML
        yield Row(f"status {status}", "lost", (http(status, body, "text/html"),))
    for status, code in (
        (401, "unauthenticated"),
        (403, "permission_denied"),
        (404, "unimplemented"),
    ):
        yield Row(f"status {status}", code, (http(status, HTML, "text/html"),))
    for status in (301, 302, 303, 307, 308):
        away = http(status, b"", None, "Location: http://localhost:{port}/stolen/x")
        yield Row(f"redirect {status}", "failed_precondition", (away,))
    for after, expect in ((DAY, "unavailable"), (0, "lost"), (-5, "lost"), ("Monday", "lost")):
        answer = http(429, HTML, None, f"Retry-After: {after}")
        yield Row(f"status 429 after {after}", expect, (answer,))
    yield Row("soon", "ok", (http(503, HTML, None, "Retry-After: 1"),), then=(FINE,))
    yield Row("not trusted", "failed_precondition", (FINE,), tls=True)


def _errors() -> Iterator[tuple[str, str, Any]]:
    # Name, outcome and error: the same in place of an answer and at the end of a stream.
    lasting = "not_found"
    for name, details in (
        *(
            ("no", None),
            ("text", "x"),
            ("number", 7),
            ("one", {}),
            ("of all kinds", [1, None, "", []]),
        ),
        *(("empty", [{}]), ("without a type", [{"value": REASON["value"]}])),
        *(("of numbers", [{"type": 7, "value": 7}]), ("of objects", [{"type": {}, "value": []}])),
        ("without a value", [{"type": REASON["type"]}]),
        ("not Base64", [{"type": REASON["type"], "value": "%&!"}]),
        ("of a stranger", [info("NO", "example.org")]),
        ("many", [{"type": "x", "value": "eA"}] * 9999),
        *(
            (f"of bytes {value.hex()}", [{"type": REASON["type"], "value": _base64(value)}])
            for value in (
                *(
                    b"\x0a",
                    b"\x0a\xff",
                    b"\x0a" + b"\xff" * 9 + b"\x01",
                    b"\x0a\xff\xff\xff\xff\x07",
                ),
                *(
                    b"\x08\x01",
                    b"\x0d\x01\x02",
                    b"\x0b",
                    b"\xff" * 40,
                    b"\x12\x0bcroupier.v1\x1a\x00",
                ),
            )
        ),
    ):
        yield f"details {name}", lasting, error(lasting, details)
    yield "unknown reason", f"{lasting}:NEWER", error(lasting, [info("NEWER")])
    yield "reason", "aborted:STALE_VERSION", error("aborted", [1, REASON])
    yield (
        "no metadata",
        "out_of_range:VERSION_IN_FUTURE",
        error("out_of_range", [info("VERSION_IN_FUTURE")]),
    )
    yield (
        "mad metadata",
        "out_of_range:VERSION_IN_FUTURE",
        error("out_of_range", [info("VERSION_IN_FUTURE", current_version="-x")]),
    )
    yield "huge text", f"{lasting}:A", error(lasting, [info("A", a="b" * 99999)], "no" * 999999)
    for name, text in (("number", 7), ("null", None), ("object", {}), ("list", [[]])):
        yield f"message {name}", lasting, error(lasting, None, text)
        yield f"code {name}", "lost", error(text)
    yield "code unknown", "teapot", error("teapot")
    yield "aborted", "lost", error("aborted")
    yield "away", "again:unavailable:GOING", error("unavailable", [info("GOING")])
    exhausted = "resource_exhausted"
    yield "spent", f"{exhausted}:A", error(exhausted, [info("A")])
    yield "spent for a day", f"{exhausted}:A", error(exhausted, [info("A"), retry(DAY)])
    for seconds in (0, -5):
        said = error(exhausted, [info("A"), retry(seconds)])
        yield f"spent for {seconds} s", f"again:{exhausted}:A", said


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _streams() -> Iterator[Row]:
    def row(name: str, expect: str, *answer: Step, told: int = 0, seconds: float = 600.0) -> Row:
        # A message starts the patience over: where one has come, a further attempt must go well.
        then = (GOOD,) if expect == "resumed" else None
        return Row(
            f"stream {name}", "ok" if then else expect, answer, "stream", then, seconds, told
        )

    yield row("whole", "ok", GOOD, told=1)
    yield row("bytewise", "ok", *_bytewise(GOOD), told=1)
    yield row("of another type", "ok", stream(ONE, END, type_="text/html") + LAST, told=1)
    yield row("that stands", "ok", stream(ONE, ONE, END), told=2)
    yield row("with more after", "ok", stream(ONE, END, ONE), told=1)
    yield row("with trailers", "ok", stream(envelope({"metadata": {"a": [""]}}, 2)))
    for name, body in (("page", HTML), ("nothing", b""), ("unary", WHOLE), ("cut", ONE[:9])):
        yield row(name, "lost", http(200, body))
    for name, body in (
        *(
            ("no end", b"\0"),
            ("cut end", END[:3]),
            ("list", envelope([])),
            ("text", envelope(b"x")),
        ),
        *(
            ("empty", envelope(b"")),
            ("list at the end", envelope([], 2)),
            ("end", envelope(b"x", 2)),
        ),
        *((f"flags {flags}", envelope({}, flags)) for flags in (1, 3, 4, 128, 255)),
        *(
            (f"error of {type(each).__name__}", envelope({"error": each}, 2))
            for each in ("x", 7, None, [], {})
        ),
    ):
        yield row(name, "lost", stream(body) + LAST, CLOSE)
        yield row(f"{name} after one", "resumed", stream(ONE, body) + LAST, CLOSE, told=2)
    large = b"\0\0\x7f\xff\xff"  # 8 MB, which is allowed.
    yield row("large", "lost", stream(b"\0\xff\xff\xff\xff" + ONE))
    yield row("that claims much", "lost", stream(large), seconds=SHORT)
    yield row("that brings much", "lost", stream(large), (chunk(b"x" * 65536), 0.0))
    yield row("reset", "lost", stream(), RESET)
    yield row("never", "lost", seconds=SHORT)
    yield row("silent", "lost", stream(), seconds=SHORT)
    yield row("silent after one", "resumed", stream(ONE), seconds=SHORT, told=2)
    yield row(
        "dripping envelope", "lost", stream(), chunk(ONE[:1]), (chunk(b"\0"), 1), seconds=SHORT
    )
    dripping = http(200, large, STREAM, more=DAY)
    yield row("dripping message", "lost", dripping, (b" ", DRIP), seconds=SHORT)
    yield row("dripping page", "lost", http(503, HTML, more=DAY), (b" ", DRIP), seconds=SHORT)
    yield row("endless page", "lost", http(503, b"", more=1 << 40), ENDLESS)
    yield row("503", "lost", http(503, HTML))
    yield row("403", "permission_denied", http(403, HTML))
    yield row("refused", "not_found:A", refusal("not_found", [info("A")]))
    yield row(
        "redirect",
        "failed_precondition",
        http(302, b"", None, "Location: http://localhost:{port}/stolen/x"),
    )
    bye = envelope({"error": error("unavailable", [info("SHUTTING_DOWN")])}, 2)
    yield row("shut down", "resumed", stream(ONE, bye) + LAST, told=2)


def view_of(version: int, due: bool = True, **more: Any) -> dict[str, Any]:
    """A view, in which a decision is due or not."""
    actions = [{"skystones": {}}] if due else []
    return {"version": str(version), "seat": 0, "legalActions": actions, **more}


def _told(version: int, view: Any, *events: str, **more: Any) -> bytes:
    said = [{"version": str(version), each: {}} for each in events]
    return envelope({"version": str(version), "view": view, "events": said, **more})


def _matches() -> Iterator[Row]:
    def row(name: str, expect: str, *messages: bytes, turns: tuple[int, ...] = ()) -> Row:
        answer = (stream(*messages) + LAST, CLOSE) if messages else (CLOSE,)
        return Row(f"match {name}", expect, answer, "follow", turns=turns)

    def over(version: int) -> tuple[bytes, bytes]:
        return _told(version, view_of(version, False, result={"scores": [1, 0]})), END

    offered = (_told(3, view_of(3), "skystones"), _told(4, view_of(4), "offerMade"))
    declined = _told(5, view_of(5), "offerAnswered")
    yield row("offer", "ok", *offered, declined, *over(6), turns=(3,))
    back = _told(5, view_of(5, takebackCount=1), "offerAnswered")
    yield row("takeback", "ok", *offered, back, *over(6), turns=(3, 5))
    paused = _told(5, view_of(5, False, pauseEndTime="2026-01-01T00:00:00Z"), "offerAnswered")
    resumed = _told(6, view_of(6), "matchResumed")
    yield row("pause", "ok", *offered, paused, resumed, *over(7), turns=(3, 6))
    yield row("decided", "ok", *offered, _told(5, view_of(5), "skystones"), *over(6), turns=(3, 5))
    secret = {"version": "4", "seatDecided": {"seat": 1}}
    theirs = envelope({"version": "4", "view": view_of(4), "events": [secret]})
    yield row("decided in secret", "ok", offered[0], theirs, *over(5), turns=(3,))
    yield row(
        "token replaced",
        "ok",
        offered[0],
        _told(4, view_of(4), "seatTokenReplaced"),
        *over(5),
        turns=(3,),
    )
    yield row(
        "older view", "ok", offered[0], _told(4, view_of(2), "skystones"), *over(5), turns=(3,)
    )
    yield row(
        "older version", "ok", *offered, _told(2, view_of(2), "skystones"), *over(5), turns=(3,)
    )
    yield row("no seat", "ok", _told(3, {"version": "3", "legalActions": []}), *over(4))
    yield row("no view", "ok", envelope({"version": "3"}), *over(4))
    gone = envelope({"error": error("not_found", [info("MATCH_NOT_FOUND")])}, 2)
    yield row("erased", "not_found:MATCH_NOT_FOUND", *offered, gone, turns=(3,))
    broken = (stream(*offered), CLOSE)
    yield Row("match broken off", "ok", broken, "follow", (stream(declined, *over(6)),), turns=(3,))
    future = envelope({"error": error("out_of_range", [info("VERSION_IN_FUTURE")])}, 2)
    yield row(
        "of a mad future",
        "out_of_range:VERSION_IN_FUTURE|again:out_of_range:VERSION_IN_FUTURE",
        offered[0],
        future,
        turns=(3,),
    )


def _rows() -> Iterator[Row]:
    yield from _unary()
    for name, expect, said in _errors():
        yield Row(name, expect, (http(400, json.dumps(said).encode()),))
        end = (stream(envelope({"error": said}, 2)) + LAST,)
        yield Row(f"stream {name}", expect, end, "stream")
    yield from _streams()
    yield from _matches()


ROWS = {row.name.replace(" ", "-"): row for row in _rows()}


def _mutants(value: Any) -> Iterator[Any]:
    # All that a message becomes when one value within it is another one.
    yield from (None, True, -7.5, 10**30, "x", [], [[]], {"a": {}})
    if isinstance(value, dict):
        for key in value:
            for each in _mutants(value[key]):
                yield {**value, key: each}
            yield {name: value[name] for name in value if name != key}
    elif isinstance(value, list):
        yield from ([each] for first in value[:1] for each in _mutants(first))


# All that the clients read of an answer, of any method.
_SEEN = view_of(
    3,
    etag="e",
    decisionsAhead={"actions": [{}], "endReason": "AHEAD_END_SHOWN"},
    entropyOwed={"seats": []},
    takebackCount=1,
    clocks={"seats": [{"seat": 0, "deadline": "2026-01-01T00:00:00.5Z"}]},
    result={"scores": [1, 0]},
)
_ANSWER: dict[str, Any] = {
    **{"name": "matches/a", "games": [{"name": "games/a"}], "view": _SEEN},
    **{"seatTokens": [{"seat": 0, "token": "t"}], "seatToken": {"seat": 1, "token": "t"}},
    **{"invitations": [{"seat": 1, "invitation": "i"}], "serverTime": "2026-01-01T00:00:00Z"},
    **{"game": {"defaultRuleset": {}}, "hint": {"action": {}}, "record": {}, "puzzle": {}},
    **{"version": "3", "etag": "e", "events": [{"version": "3", "seatDecided": {"seat": 0}}]},
    **{"ownAction": True, "otherSeat": "SEAT_PRESENCE_HERE"},
    **{"decision": {"version": "1"}, "summary": {}},
}
# A match tells no more after these.
_BESIDE = (
    *({"upToDate": each} for each in (7, "x", [], {})),
    *({"upToDate": True, "otherSeat": each} for each in (7, [], {})),
    *({"rematch": each} for each in (7, "x", [], {})),
)
MUTANTS = [*_mutants(_ANSWER), *({**_ANSWER, **each} for each in _BESIDE)]
