"""Calls of tools as OpenTelemetry is told of them: a span each, which the server hears of, and how long it took."""

import asyncio
import time
from collections.abc import Callable

import msgspec

from tokenmill.observe.telemetry import Telemetry, Value
from tokenmill.tools.call import Call
from tokenmill.tools.outcome import Outcome, Progress
from tokenmill.tools.running_calls import Servers


class TracedServers:
    """Servers whose calls are spans."""

    def __init__(self, servers: Servers, telemetry: Telemetry) -> None:
        self._servers = servers
        self._telemetry = telemetry

    async def look(self, call: Call) -> str | Outcome:
        """Look at a call as the servers do."""
        return await self._servers.look(call)

    async def make(self, call: Call, fingerprint: str, progress: Callable[[Progress], None]) -> Outcome:
        """Make a call as the servers do, within a span."""
        labels: dict[str, Value] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.name}
        about = {
            **labels,
            "mcp.method.name": "tools/call",
            "gen_ai.tool.call.id": call.id,
            "gen_ai.conversation.id": call.conversation,
        }
        parent = [(name, value.encode("latin-1")) for name, value in call.tracing]
        with self._telemetry.span(f"execute_tool {call.name}", "client", parent, about) as span:
            tracing = tuple((name, value.decode("latin-1")) for name, value in span.headers)
            call = msgspec.structs.replace(call, tracing=tracing)
            began = time.monotonic()
            try:
                outcome = await self._servers.make(call, fingerprint, progress)
            except asyncio.CancelledError:
                span.failed("cancelled")
                self._measure(time.monotonic() - began, labels, "cancelled")
                raise
            if outcome.code:
                span.failed(outcome.code)
        self._measure(outcome.elapsed_ms / 1000, labels, outcome.code or "")
        return outcome

    def _measure(self, seconds: float, labels: dict[str, Value], failure: str) -> None:
        more: dict[str, Value] = {"error.type": failure} if failure else {}
        all_labels = {**labels, "mcp.method.name": "tools/call", **more}
        self._telemetry.measure("mcp.client.operation.duration", seconds, all_labels)
