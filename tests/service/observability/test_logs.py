"""The log: what a line says of its call, and how many lines strangers cause."""

import json
import logging
import re
import subprocess
import sys
from collections import Counter

import grpc
import pytest

from croupier.v1 import catalog_pb2, match_pb2
from service.gateway.listener import WebOptions
from service.observability.logs import BURST_LINES, JsonFormatter, LineLimit, TextFormatter
from tests.support.logs import logged
from tests.support.server_process import ServerProcess
from tests.support.serving import OPEN, Client, Player, bot, ruleset_of
from tests.support.web import Caller

MADE = re.compile(r"[0-9a-f]{16}")


@pytest.fixture
def log():
    """The log of the servers in this process, in JSON and in text, at level debug."""
    with logged(JsonFormatter(), TextFormatter()) as lines:
        yield lines


def of_calls(log):
    """The lines of calls, read from JSON."""
    lines = [json.loads(line) for line in log[0]]
    return [line for line in lines if line["logger"] == "service.api.calls"]


def received_id(call):
    metadata = (*call.initial_metadata(), *call.trailing_metadata())
    (found,) = [value for key, value in metadata if key == "x-request-id"]
    return found


def test_a_line_says_all_of_its_call(start, log):
    _, client = start(web=WebOptions(port=0))
    table = client.create(ruleset_of("skystones"))
    player = table.players[0]
    view = player.view()
    request = player.request(view.legal_actions[0], view.version + 7)
    metadata = [*player.metadata, ("x-request-id", "trace-me/17")]
    with pytest.raises(grpc.RpcError) as caught:
        client.matches.SubmitAction(request, metadata=metadata)
    assert received_id(caught.value) == "trace-me/17"
    line = of_calls(log)[-1]
    match_id = table.name.removeprefix("matches/")
    assert {key: line[key] for key in ("request_id", "method", "match", "code", "reason")} == {
        "request_id": "trace-me/17",
        "method": "/croupier.v1.MatchService/SubmitAction",
        "match": match_id,
        "code": "ABORTED",
        "reason": "STALE_VERSION",
    }
    assert line["level"] == "info"
    assert line["protocol"] == "grpc"
    assert line["caller"].startswith("seat:")
    assert line["duration_ms"] > 0
    text = log[1][-1]
    assert "SubmitAction ABORTED (STALE_VERSION)" in text
    assert f"request_id=trace-me/17 match={match_id} caller=seat:" in text
    created, read, _ = of_calls(log)
    assert created["match"] == match_id
    assert (read["level"], read["code"]) == ("debug", "OK")
    # No token in any line.
    everything = "".join(line for lines in log for line in lines)
    assert not [each for each in table.everyone() if each.token in everything]


@pytest.mark.parametrize(
    "sent",
    ["", "x" * 65, "two words", 'quoted"', "line\\", "über"],
    ids=lambda sent: repr(sent[:8]),
)
def test_an_id_that_cannot_be_used_is_replaced(shared_server, sent):
    client = Client(shared_server[1])
    try:
        _, call = client.catalog.ListGames.with_call(
            catalog_pb2.ListGamesRequest(), metadata=[("x-request-id", sent)]
        )
    except (UnicodeEncodeError, grpc.RpcError):
        assert not sent.isascii()  # gRPC does not send it.
        return
    finally:
        client.close()
    assert MADE.fullmatch(received_id(call))


def test_every_kind_of_call_returns_its_id(start):
    _, client = start(web=WebOptions(port=0))
    table = client.create(ruleset_of("skystones"))
    ids = []
    _, call = client.catalog.ListGames.with_call(catalog_pb2.ListGamesRequest())
    ids.append(received_id(call))
    stream = table.spectator.watch()
    # Before the first response.
    ids += [value for key, value in stream.initial_metadata() if key == "x-request-id"]
    stream.cancel()
    with pytest.raises(grpc.RpcError) as caught:
        Player(client, table.name, "").view()
    ids.append(received_id(caught.value))
    assert len(set(ids)) == 3
    assert all(MADE.fullmatch(each) for each in ids)


def test_what_a_call_sets_off_belongs_to_it(servers, start, log, monkeypatch):
    server, client = start()

    async def fail(state, seat):
        raise RuntimeError("a bot that cannot decide")

    monkeypatch.setattr(server._scheduler._bots, "decide", fail)
    request = match_pb2.CreateMatchRequest(
        ruleset=ruleset_of("skystones"), seats=[bot("BEGINNER"), OPEN]
    )
    metadata = [("x-request-id", "the-cause")]
    client.matches.CreateMatch(request, metadata=metadata)
    failures = lambda: [json.loads(each) for each in log[0] if "a bot failed" in each]  # noqa: E731
    while not failures():
        servers.run(_turn())
    assert failures()[0]["request_id"] == "the-cause"


async def _turn():
    """A turn of the event loop."""


def line_at(number, level=logging.INFO):
    """Something that is logged at a line of a file."""
    return logging.LogRecord("service", level, "file.py", number, "text", (), None)


def test_strangers_cause_few_lines():
    now = [0.0]
    limit = LineLimit(lambda: now[0])
    taken = [limit.filter(line_at(1)) for _ in range(1000)]
    assert taken == [True] * BURST_LINES + [False] * (1000 - BURST_LINES)
    # Another place and another level have lines of their own.
    assert limit.filter(line_at(2))
    assert limit.filter(line_at(1, logging.WARNING))
    now[0] = 1.0
    for left_out in (1000 - BURST_LINES, 0):
        line = line_at(1)
        assert limit.filter(line)
        assert json.loads(JsonFormatter().format(line)).get("left_out", 0) == left_out
        assert (f"{left_out} lines like it" in TextFormatter().format(line)) == bool(left_out)


@pytest.mark.parametrize("level", ["info", "debug"])
def test_few_lines_of_any_kind(level):
    lines = f"""
import asyncio, logging
from service.observability import logs
from service.common.errors import log_failure
logs.LineLimit.__init__.__defaults__ = (lambda: 0.0,)  # No time passes.
logs.configure("text", "{level}")
for _ in range(1000):
    log_failure("a request", ValueError())
    logging.getLogger("asyncio").error("Fatal error", exc_info=ValueError("a\\nb"))
"""
    ran = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    counted = Counter(line.split()[3] for line in ran.stderr.splitlines())
    # As many as there were, or as many as may come at once.
    lines = 1000 if level == "debug" else BURST_LINES
    assert counted == {"service.common.errors:": lines, "asyncio:": lines}


HOSTILE = "a\nb\r\x1b[2J\x85\x9b\u2028\u202e\ud800\U000e0001ü"


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_a_line_is_one_line(formatter):
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        failure = sys.exc_info()
    record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "%s", (HOSTILE,), failure)
    line = formatter.format(record)
    assert line.isprintable()
    assert line.count("a\\nb\\r\\u001b[2J\\u0085\\u009b\\u2028\\u202e\\ud800") == 2
    assert "ü" in line
    if isinstance(formatter, JsonFormatter):
        assert json.loads(line)["message"] == HOSTILE


def test_a_response_that_its_caller_does_not_wait_for_is_no_line():
    lines = """
import logging
from service.observability import logs
logs.configure("text", "info")
log = logging.getLogger("grpc._cython.cygrpc")
log.error("ExecuteBatchError raised in core by servicer method [/a]")
log.error("something else")
"""
    ran = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    (line,) = ran.stderr.splitlines()
    assert "something else" in line


def test_a_process_logs_objects():
    with ServerProcess("--store", "memory", "--log-format", "json") as server:
        nobody = Player(server.client, "matches/none", "")
        for _ in range(BURST_LINES + 10):
            with pytest.raises(grpc.RpcError):
                nobody.view()
        server.stop()
        lines = [json.loads(line) for line in server.log.splitlines()]
    levels = Counter(line["level"] for line in lines if line["logger"] == "service.api.calls")
    # Of those that were refused, and none of those that were answered.
    assert set(levels) == {"info"}
    assert levels["info"] >= BURST_LINES
    for line in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])


@pytest.mark.parametrize("protocol", ["connect", "json", "grpc-web"])
def test_browsers_get_their_id_too(start, protocol):
    server, _ = start(web=WebOptions(port=0))
    caller = Caller(server.web_url, protocol)
    request = catalog_pb2.ListGamesRequest()
    for headers in ({}, {"x-request-id": "from-a-page"}):
        with caller.start("CatalogService.ListGames", request, headers=headers) as answer:
            returned = answer.response.headers["x-request-id"]
            assert returned == headers.get("x-request-id") or MADE.fullmatch(returned)
    # Also with a refusal.
    request = match_pb2.GetViewRequest(name="matches/none")
    with caller.start("MatchService.GetView", request, headers={"x-request-id": "1"}) as answer:
        assert answer.response.headers["x-request-id"] == "1"
