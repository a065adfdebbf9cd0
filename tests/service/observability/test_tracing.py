"""Traces of a server process, as a collector receives them."""

import os
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from service.observability import tracing
from tests.support.server_process import ServerProcess, refused_start
from tests.support.serving import OPEN, bot, ruleset_of

collected = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
HEADER = ("traceparent", f"00-{TRACE}-{PARENT}-01")


class Collector:
    """Receives spans by OTLP over HTTP."""

    def __init__(self):
        self.spans = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    import gzip

                    body = gzip.decompress(body)
                request = collected.ExportTraceServiceRequest.FromString(body)
                for resource in request.resource_spans:
                    for scope in resource.scope_spans:
                        collector.spans += scope.spans
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector():
    collector = Collector()
    yield collector
    collector.close()


def attributes(span):
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


def to_decide(player):
    """The view of a player who has to decide."""
    view = player.view()
    while not view.legal_actions:
        view = player.wait_later(view.version + 1).result().view
    return view


def test_one_trace_from_the_caller_to_the_commit_and_the_searches(collector):
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    with ServerProcess(
        "--store", "memory", "--tracing", "--log-level", "debug", environment=environment
    ) as server:
        client = server.client
        table = client.create(ruleset_of("skystones"), [OPEN, bot("BEGINNER")])
        player = table.players[0]
        metadata = [*player.metadata, HEADER]
        view = to_decide(player)
        client.hint_later(metadata, match_name=table.name, limits={"iterations": 50}).result()
        for _ in range(3):
            request = player.request(view.legal_actions[0], view.version)
            client.matches.SubmitAction(request, metadata=metadata)
            view = to_decide(player)
        server.stop()
        assert f"trace_id={TRACE}" in server.log
    spans = [span for span in collector.spans if span.trace_id.hex() == TRACE]
    calls = [span for span in spans if span.parent_span_id.hex() == PARENT]
    suggest, *submits = sorted(calls, key=lambda span: span.name)
    assert suggest.name == "croupier.v1.HintService/SuggestAction"
    assert [each.name for each in submits] == 3 * ["croupier.v1.MatchService/SubmitAction"]

    def below(parent):
        return [span for span in spans if span.parent_span_id == parent.span_id]

    assert sorted(span.name for span in below(suggest)) == ["search", "search queue"]
    (search,) = [span for span in below(suggest) if span.name == "search"]
    assert attributes(search)["croupier.kind"] == "hint"
    assert attributes(search)["croupier.iterations"] == 50
    for submit in submits:
        assert "commit" in [span.name for span in below(submit)]
    # The bot that an action sets off searches, and commits its own decision.
    names = [[span.name for span in below(submit)] for submit in submits]
    assert any(each.count("commit") > 1 and "search" in each for each in names), names
    for span in spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
    submitted = attributes(submits[0])
    assert submitted["croupier.match"] == table.name.removeprefix("matches/")
    assert submitted["rpc.response.status_code"] == "OK"
    # Other calls have traces of their own, and no span holds a token.
    assert {span.trace_id.hex() for span in collector.spans} > {TRACE}
    told = "".join(str(span) for span in collector.spans)
    assert not [each for each in table.everyone() if each.token in told]


def test_the_answer_of_a_collector_need_not_end():
    """It sends more and more, and is sent the next spans all the same."""
    gone, asked = threading.Event(), queue.Queue()

    class Endless(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.end_headers()
            asked.put(self.path)
            with suppress(OSError):
                while not gone.wait(0.01):
                    self.wfile.write(b"more")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endless) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{collector.server_port}"
        environment = {
            **os.environ,
            "OTEL_EXPORTER_OTLP_ENDPOINT": url,
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }
        with ServerProcess("--store", "memory", "--tracing", environment=environment) as server:
            for _ in range(2):
                server.client.create(ruleset_of("skystones"))
                assert asked.get() == "/v1/traces"
            gone.set()
            server.stop()
        collector.shutdown()


def test_a_collector_that_does_not_answer_lets_the_process_end(monkeypatch):
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    answer = threading.Event()

    class Stuck(trace.SpanProcessor):
        def shutdown(self):
            answer.wait()

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    tracing.start()
    tracing._provider.add_span_processor(Stuck())
    tracing.stop()
    assert not tracing.is_on()
    answer.set()


def test_tracing_needs_a_collector():
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    line = refused_start("--store", "memory", "--tracing", environment=environment)
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in line


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_BSP_SCHEDULE_DELAY", "9" * 400),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "-1"),
    ],
)
def test_a_variable_that_the_library_cannot_use_is_said(name, value):
    environment = os.environ | {tracing.ENDPOINTS[0]: "http://127.0.0.1:9", name: value}
    line = refused_start("--store", "memory", "--tracing", environment=environment)
    assert "OpenTelemetry refuses a variable OTEL_*" in line


def test_a_server_without_traces_imports_nothing_for_them():
    program = (
        "import sys, service.running.process; print([m for m in sys.modules if 'telemetry' in m])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "opentelemetry.sdk" not in done.stdout, done.stdout + done.stderr
