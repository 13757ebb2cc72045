"""What OpenTelemetry is told: spans and measurements. This one tells nobody; `otel` has the one that does.

1. Unless `[telemetry]` says where to, nothing of OpenTelemetry is imported.
2. A span is a request, an answer, a message that was parsed or a call of a tool; never a token.
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
    """One that nobody hears of."""

    def __init__(self, headers: Headers) -> None:
        self.headers = headers
        """What says to others that they are part of it: the tracing headers of requests and records."""

    def name(self, name: str) -> None:
        """Rename it, once more is known."""

    def say(self, attributes: Attributes) -> None:
        """Describe it."""

    def event(self, name: str) -> None:
        """Something happened at this moment."""

    def failed(self, kind: str) -> None:
        """It did not come to a good end; `kind` is one of few."""


class Telemetry:
    """Of a process that tells nobody."""

    on = False

    @contextmanager
    def span(self, name: str, kind: Kind, parent: Headers, attributes: Attributes) -> Iterator[Span]:  # noqa: ARG002 -- see `otel`
        """A block that is a span. `parent` are tracing headers, which are also its own where nobody is told of it."""
        yield Span(parent)

    def current(self, parent: Headers = ()) -> Span:
        """The span of the block that this is called in."""
        return Span(parent)

    def past(
        self, name: str, kind: Kind, parent: Headers, attributes: Attributes, began_ms: int, ended_ms: int
    ) -> None:
        """A span that is over; times are in milliseconds since the epoch."""

    def measure(self, what: Measure, value: float, attributes: Attributes) -> None:
        """A value; in seconds, where it is a time."""

    def close(self) -> None:
        """Tell what has not been told yet. It waits for some seconds at most."""


NO_TELEMETRY = Telemetry()
