"""Calls of tools in OpenTelemetry: a span for each, which is passed to the server, and its duration."""

import asyncio
import time
from collections.abc import Callable

import msgspec

from tokenmill.observe.telemetry import Span, Telemetry, Value
from tokenmill.observe.tools_table import Code
from tokenmill.tools.call import Call
from tokenmill.tools.outcome import Outcome, Progress
from tokenmill.tools.running_calls import Servers

OPERATION: dict[str, Value] = {"gen_ai.operation.name": "execute_tool", "mcp.method.name": "tools/call"}

OTHER = "_OTHER"
"""Name of a tool that may not exist: models invent names, and a metric has a limited number of series."""

UNSEEN: frozenset[Code] = frozenset({"unknown-tool", "unavailable"})
"""Codes of calls whose tool may not exist."""


class TracedServers:
    """Servers whose calls are spans."""

    def __init__(self, servers: Servers, telemetry: Telemetry) -> None:
        self._servers = servers
        self._telemetry = telemetry
        self._seen: set[str] = set()
        """Names of tools that exist."""

    async def look(self, call: Call) -> str | Outcome:
        """Look at a call as the servers do, without a span."""
        return await self._servers.look(call)

    async def make(self, call: Call, fingerprint: str, progress: Callable[[Progress], None]) -> Outcome:
        """Make a call as the servers do, within a span."""
        about: dict[str, Value] = {
            **OPERATION,
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.conversation.id": call.conversation,
        }
        parent = [(name, value.encode("latin-1")) for name, value in call.tracing]
        with self._telemetry.span("execute_tool", "client", parent, about) as span:
            tracing = tuple((name, value.decode("latin-1")) for name, value in span.headers)
            call = msgspec.structs.replace(call, tracing=tracing)
            began = time.monotonic()
            try:
                outcome = await self._servers.make(call, fingerprint, progress)
            except asyncio.CancelledError:
                self._over(span, call.name, time.monotonic() - began, "cancelled")
                raise
            if outcome.code not in UNSEEN:
                self._seen.add(call.name)
            self._over(span, call.name, outcome.elapsed_ms / 1000, outcome.code or "")
        return outcome

    def _over(self, span: Span, name: str, seconds: float, failure: str) -> None:
        """Name, mark and measure a call that is over."""
        name = name if name in self._seen else OTHER
        span.name(f"execute_tool {name}")
        labels: dict[str, Value] = {**OPERATION, "gen_ai.tool.name": name}
        if failure:
            span.failed(failure)
            labels["error.type"] = failure
        self._telemetry.measure("mcp.client.operation.duration", seconds, labels)
