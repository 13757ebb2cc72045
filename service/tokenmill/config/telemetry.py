"""Settings of what is told to OpenTelemetry."""

from typing import Annotated

from msgspec import Meta

from tokenmill.config.base import Positive, Section


class TelemetrySection(Section, frozen=True, kw_only=True):
    """Traces and measurements for a collector of OpenTelemetry, with the extra `otel`. Its own variables, such as
    `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_RESOURCE_ATTRIBUTES`, count too.
    """

    endpoint: str = ""
    """Where the collector takes OTLP over HTTP: `http://collector:4318`. Empty: nothing is told to anybody."""
    sample: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """Part of the traces that are kept, of those that begin here; what comes with a `traceparent` is kept if that says
    so."""
    interval_s: Positive = 60
    """Between two reports of measurements."""
