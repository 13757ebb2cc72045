"""Telemetry of a process that exports nothing."""

from tests.support.spans import HEADERS
from tokenmill.observe.telemetry import NO_TELEMETRY


def test_a_trace_goes_on_where_nobody_is_told() -> None:
    """Its headers are those that came."""
    with NO_TELEMETRY.span("a", "server", HEADERS, {}) as span:
        span.name("b")
        span.say({"c": 1})
        span.event("d")
        span.failed("e")
        assert (span.headers, NO_TELEMETRY.current(HEADERS).headers) == (HEADERS, HEADERS)
    NO_TELEMETRY.past("a", "consumer", HEADERS, {}, 1, 2)
    NO_TELEMETRY.measure("gen_ai.client.token.usage", 1, {})
    NO_TELEMETRY.close()
