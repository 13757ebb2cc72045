"""Spans and measurements for OpenTelemetry. The classes here export nothing; those in `otel` do.

1. Unless `[telemetry]` has an endpoint, nothing of OpenTelemetry is imported.
2. A span is a request, an answer, a parsed message or a tool call; never a token.
3. Neither spans nor measurements hold text of prompts, answers, arguments or results.
4. Names are those of the semantic conventions for HTTP, generative AI and MCP.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, TypeAlias

from tokenmill.records import Headers

Value: TypeAlias = str | int | float | bool | Sequence[str]

Attributes: TypeAlias = Mapping[str, Value]

Kind: TypeAlias = Literal["client", "consumer", "server"]

Measure: TypeAlias = Literal[
    "gen_ai.client.operation.duration",
    "gen_ai.client.operation.time_to_first_chunk",
    "gen_ai.client.token.usage",
    "mcp.client.operation.duration",
]


class Span:
    """A span that is not exported."""

    def __init__(self, headers: Headers) -> None:
        self.headers = headers
        """Tracing headers for requests and records that are part of it."""

    def name(self, name: str) -> None:
        """Rename the span, once more is known."""

    def say(self, attributes: Attributes) -> None:
        """Add attributes."""

    def event(self, name: str) -> None:
        """Note that something happened at this moment."""

    def failed(self, kind: str) -> None:
        """Mark the span as failed; `kind` is one of few."""


class Telemetry:
    """Telemetry of a process that exports nothing."""

    on = False

    @contextmanager
    def span(self, name: str, kind: Kind, parent: Headers, attributes: Attributes) -> Iterator[Span]:  # noqa: ARG002 -- see `otel`
        """Run a block as a span. `parent` are tracing headers, also its own if it is not exported."""
        yield Span(parent)

    def current(self, parent: Headers = ()) -> Span:
        """The span of the block that this is called in."""
        return Span(parent)

    def past(
        self, name: str, kind: Kind, parent: Headers, attributes: Attributes, began_ms: int, ended_ms: int
    ) -> None:
        """Add a span that is over; times are in milliseconds since the epoch."""

    def measure(self, what: Measure, value: float, attributes: Attributes) -> None:
        """Add a measurement, in seconds if it is a time."""

    def close(self) -> None:
        """Export the rest, waiting for a few seconds at most."""


NO_TELEMETRY = Telemetry()
