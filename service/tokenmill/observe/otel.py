"""Export of spans and measurements to an OpenTelemetry collector, by OTLP over HTTP.

Sources: https://opentelemetry.io/docs/specs/semconv/http/http-spans/, and for generative AI and MCP
open-telemetry/semantic-conventions-genai. The names of the latter are under development, so they are written out in
`observe.telemetry` and where spans are made, and never come from a package.

Threads of the SDK do the sending. A collector that does not answer delays nothing: whatever no longer fits the queues
is dropped.
"""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, NamedTuple
from uuid import uuid4

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from tokenmill.config import TelemetrySection
from tokenmill.observe.telemetry import Attributes, Kind, Measure, Span, Telemetry
from tokenmill.records import Headers

SEND_S = 5.0
"""Seconds that the collector may take to accept one batch."""

CLOSE_S = 3.0
"""Seconds to send the rest at the end before it is dropped: less than a process has after its drain."""

LATEST_MS = (2**63 - 1) // 1_000_000
"""Latest time that a span can have, in milliseconds: it counts nanoseconds in 64 bits."""

_KINDS: Mapping[Kind, trace.SpanKind] = {
    "client": trace.SpanKind.CLIENT,
    "consumer": trace.SpanKind.CONSUMER,
    "server": trace.SpanKind.SERVER,
}


class _Histogram(NamedTuple):
    unit: str
    description: str
    bounds: tuple[float, ...]


_SECONDS = tuple(0.01 * 2**step for step in range(14))
"""Bounds that the conventions give for operations of generative AI."""

_MEASURES: Mapping[Measure, _Histogram] = {
    "gen_ai.client.operation.duration": _Histogram("s", "How long answers took.", _SECONDS),
    "gen_ai.client.operation.time_to_first_chunk": _Histogram("s", "How long answers took to begin.", _SECONDS),
    "gen_ai.client.token.usage": _Histogram(
        "{token}", "Tokens of prompts and answers.", tuple(4.0**step for step in range(14))
    ),
    "mcp.client.operation.duration": _Histogram(
        "s", "How long calls of tools took.", (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
    ),
}

_propagator = TraceContextTextMapPropagator()


class _Span(Span):
    """A span that is exported."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        super().__init__(_headers(span))

    def name(self, name: str) -> None:
        self._span.update_name(name)

    def say(self, attributes: Attributes) -> None:
        self._span.set_attributes(dict(attributes))

    def event(self, name: str) -> None:
        self._span.add_event(name)

    def failed(self, kind: str) -> None:
        self._span.set_attribute("error.type", kind)
        self._span.set_status(trace.StatusCode.ERROR)


class OpenTelemetry(Telemetry):
    """Exports to a collector.

    Args:
        settings: the collector's address, and how much is exported.
        role: role of the process, which appears as `tokenmill-worker` and the like.
        processor: processor of spans, instead of the one that sends them.
        reader: reader of measurements, likewise.
    """

    on = True

    def __init__(
        self,
        settings: TelemetrySection,
        role: str,
        processor: SpanProcessor | None = None,
        reader: MetricReader | None = None,
    ) -> None:
        release = version("tokenmill")
        about = {"service.name": f"tokenmill-{role}", "service.version": release, "service.instance.id": str(uuid4())}
        # Attributes from the environment override these.
        resource = Resource.create(about).merge(OTELResourceDetector().detect())
        endpoint = settings.endpoint.rstrip("/")
        self._tracers = TracerProvider(
            ParentBased(TraceIdRatioBased(settings.sample)), resource, shutdown_on_exit=False
        )
        self._exporters = (
            OTLPSpanExporter(f"{endpoint}/v1/traces", timeout=SEND_S),
            OTLPMetricExporter(f"{endpoint}/v1/metrics", timeout=SEND_S),
        )
        spans, measurements = self._exporters
        self._tracers.add_span_processor(processor or BatchSpanProcessor(spans))
        reader = reader or PeriodicExportingMetricReader(measurements, settings.interval_s * 1000)
        self._meters = MeterProvider([reader], resource, shutdown_on_exit=False)
        self._tracer = self._tracers.get_tracer("tokenmill", release)
        meter = self._meters.get_meter("tokenmill", release)
        self._histograms = {
            name: meter.create_histogram(
                name, each.unit, each.description, explicit_bucket_boundaries_advisory=each.bounds
            )
            for name, each in _MEASURES.items()
        }

    @contextmanager
    def span(self, name: str, kind: Kind, parent: Headers, attributes: Attributes) -> Iterator[Span]:
        began = self._tracer.start_span(name, _context(parent), _KINDS[kind], dict(attributes))
        with trace.use_span(began, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            span = _Span(began)
            try:
                yield span
            except Exception as problem:
                span.failed(type(problem).__name__)
                raise

    def current(self, parent: Headers = ()) -> Span:
        span = trace.get_current_span()
        return _Span(span) if span.get_span_context().is_valid else Span(parent)

    def past(
        self, name: str, kind: Kind, parent: Headers, attributes: Attributes, began_ms: int, ended_ms: int
    ) -> None:
        began_ms = _told(began_ms)
        span = self._tracer.start_span(
            name, _context(parent), _KINDS[kind], dict(attributes), start_time=began_ms * 1_000_000
        )
        if (kind_of_error := attributes.get("error.type")) is not None:
            _Span(span).failed(str(kind_of_error))
        span.end(max(began_ms, _told(ended_ms)) * 1_000_000)

    def measure(self, what: Measure, value: float, attributes: Attributes) -> None:
        self._histograms[what].record(value, dict(attributes))

    def close(self) -> None:
        until = time.monotonic() + CLOSE_S
        # Both send everything they still have, batch by batch, and neither keeps a limit for the whole.
        ending = [threading.Thread(target=each.shutdown, daemon=True) for each in (self._tracers, self._meters)]
        for each in ending:
            each.start()
        for each in ending:
            each.join(max(0.0, until - time.monotonic()))
        if any(each.is_alive() for each in ending):
            for exporter in self._exporters:
                exporter.shutdown()  # or its thread would try again


def _told(time_ms: int) -> int:
    """A record's time, which may be any number, limited to what spans can hold: others would be lost with it."""
    return min(max(0, time_ms), LATEST_MS)


def _context(parent: Headers) -> Context:
    """The context of the tracing headers; a new trace if there are none."""
    carrier = {name: value.decode("latin-1") for name, value in parent}
    return _propagator.extract(carrier, Context())


def _headers(span: trace.Span) -> Headers:
    carrier: dict[str, Any] = {}
    _propagator.inject(carrier, trace.set_span_in_context(span, Context()))
    return [(name, value.encode("latin-1")) for name, value in carrier.items()]
