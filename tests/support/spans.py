"""Spans and measurements that are kept here instead of being sent."""

from typing import Any

from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tokenmill.config import TelemetrySection
from tokenmill.observe.otel import OpenTelemetry
from tokenmill.records import Headers

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"

HEADERS: Headers = (("traceparent", f"00-{TRACE}-{PARENT}-01".encode()),)
"""Of a client that keeps the trace."""


class Kept:
    """Telemetry, and what it was told."""

    def __init__(self, **settings: Any) -> None:
        self._spans, self._measured = InMemorySpanExporter(), InMemoryMetricReader()
        told = TelemetrySection(endpoint="http://nobody", **settings)
        self.telemetry = OpenTelemetry(told, "test", SimpleSpanProcessor(self._spans), self._measured)

    @property
    def spans(self) -> list[ReadableSpan]:
        """Those that are over, in the order in which they ended."""
        return list(self._spans.get_finished_spans())

    @property
    def only(self) -> ReadableSpan:
        """The one span."""
        (span,) = self.spans
        return span

    def measured(self) -> dict[str, list[tuple[dict[str, Any], float]]]:
        """Measurements: the attributes and the sum of each, by name."""
        data: Any = self._measured.get_metrics_data()
        found = [each for of in data.resource_metrics for scope in of.scope_metrics for each in scope.metrics]
        return {each.name: [(dict(point.attributes), point.sum) for point in each.data.data_points] for each in found}


def ids_of(span: ReadableSpan) -> tuple[str, str]:
    """Its trace, and the span that it is part of; empty if it is the first."""
    assert span.context is not None
    return f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}" if span.parent else ""
