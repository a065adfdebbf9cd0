"""Traces: the way of a call through the server, for OpenTelemetry.

A call continues the trace that its caller names in `traceparent` (W3C Trace Context). Its span has
spans for its searches, in the queue and under way, and for the commits of the log, its own and
those of the bots that it sets off. Without `start` there are no spans, and no call pays for them.
"""

import importlib.metadata
import os
import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, TypeVar

from service.common.call import Call
from service.common.tasks import finish_or_leave

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
HEADERS = ("traceparent", "tracestate")
LAST_SECONDS = 3.0  # For the spans that are left. A collector may be silent for longer.

_T = TypeVar("_T")

_tracer: "Tracer | None" = None
_provider: "TracerProvider | None" = None


def start() -> None:
    """Makes spans from now on, and sends them where the variables OTEL_* say; raises ValueError."""
    global _provider, _tracer
    try:
        import requests
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError:
        raise ValueError("--tracing needs OpenTelemetry: install croupier-server[otel]") from None
    if not any(os.environ.get(name) for name in ENDPOINTS):
        raise ValueError(
            f"--tracing needs the collector in {ENDPOINTS[0]}, such as http://localhost:4318"
        )
    version = importlib.metadata.version("croupier-server")
    attributes = {"service.version": version}
    if "service.name" not in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        attributes["service.name"] = os.environ.get("OTEL_SERVICE_NAME") or "croupier"

    class Unread(requests.Session):
        """Reads no more of an answer than its head: the body of one need not end."""

        def request(self, *what: Any, **named: Any) -> Any:
            response = super().request(*what, **{**named, "stream": True})
            response.close()
            return response

    try:
        resource = Resource.create(attributes)
        _provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        _provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(session=Unread())))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"--tracing: OpenTelemetry refuses a variable OTEL_*: {error}") from None
    _tracer = _provider.get_tracer("croupier", version)


def stop() -> None:
    """Sends the spans that are left, for `LAST_SECONDS` at most."""
    global _provider, _tracer
    _tracer = None
    if _provider is not None:
        finish_or_leave(_provider.shutdown, LAST_SECONDS)
        _provider = None


def is_on() -> bool:
    """Whether spans are made."""
    return _tracer is not None


def begin_call(call: Call) -> None:
    """Begins the span of the current call, if spans are made."""
    if _tracer is None:
        return
    from opentelemetry import context, trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    sent = {key: call.metadata[key] for key in HEADERS if key in call.metadata}
    method = call.method.strip("/")
    service, _, name = method.partition("/")
    call.span = _tracer.start_span(
        method,
        TraceContextTextMapPropagator().extract(sent, context.Context()),
        trace.SpanKind.SERVER,
        {"rpc.service": service, "rpc.method": name, "croupier.request_id": call.request_id},
    )
    # The task answers only this call, so nothing needs to be put back.
    context.attach(trace.set_span_in_context(call.span))
    call.trace_id = trace.format_trace_id(call.span.get_span_context().trace_id)


def resume(span: "Span") -> None:
    """Makes the span of a call that may have ended the current one of this task."""
    from opentelemetry import context, trace

    context.attach(trace.set_span_in_context(span))


def end_call(call: Call, code: str, reason: str, failed: bool) -> None:
    """Ends the span of a call, which has one; `failed` says whether the server is at fault."""
    from opentelemetry.trace import StatusCode

    told = {
        "rpc.response.status_code": code,
        "croupier.reason": reason,
        "croupier.match": call.match,
    }
    call.span.set_attributes({name: value for name, value in told.items() if value})
    if failed:
        call.span.set_status(StatusCode.ERROR)
    call.span.end()


def add_search(kind: str, game: str, arrived: float, began: float, iterations: int) -> None:
    """Adds the spans of a search that ends now: in the queue, and under way.

    `arrived` and `began` are times of the monotonic clock.
    """
    if _tracer is None:
        return
    now, monotonic = time.time_ns(), time.monotonic()

    def at(moment: float) -> int:
        return now - round((monotonic - moment) * 1e9)

    attributes: dict[str, Any] = {"croupier.kind": kind, "croupier.game": game}
    waited = _tracer.start_span("search queue", attributes=attributes, start_time=at(arrived))
    waited.end(at(began))
    attributes["croupier.iterations"] = iterations
    searched = _tracer.start_span("search", attributes=attributes, start_time=at(began))
    searched.end(now)


async def commit(committing: Awaitable[_T]) -> _T:
    """Returns what a commit returns, and makes a span of it."""
    if _tracer is None:
        return await committing
    with _tracer.start_as_current_span("commit"):
        return await committing


def outgoing() -> dict[str, str]:
    """The headers with which a call of this server to another one continues the trace."""
    carrier: dict[str, str] = {}
    if _tracer is not None:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(carrier)
    return carrier
