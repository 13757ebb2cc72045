"""Settings of OpenTelemetry."""

from typing import Annotated

from msgspec import Meta

from tokenmill.config.base import Positive, Section


class TelemetrySection(Section, frozen=True, kw_only=True):
    """Traces and measurements for an OpenTelemetry collector, with the extra `otel`. OpenTelemetry's variables,
    such as `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_RESOURCE_ATTRIBUTES`, apply, too.
    """

    endpoint: str = ""
    """Address of the collector, for OTLP over HTTP: `http://collector:4318`. Empty: nothing is sent."""
    sample: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """Fraction of the traces begun here that are kept; one that arrives with a `traceparent` follows its flag."""
    interval_s: Positive = 60
    """Time between two reports of measurements."""
