"""Calls of tools as OpenTelemetry is told of them."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest
from opentelemetry.trace import SpanKind, StatusCode

from tests.support.spans import HEADERS, PARENT, TRACE, Kept, ids_of
from tokenmill.observe.tools_table import Code
from tokenmill.tools.call import Call
from tokenmill.tools.outcome import Outcome, Progress
from tokenmill.tools.tracing import TracedServers

TRACING = (("traceparent", HEADERS[0][1].decode()),)
CALL = Call("c", "m", 0, 100, "call-1", "w__note", {"city": "a secret"}, 200, TRACING)


class Servers:
    """They answer at once."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.made: list[tuple[Call, str]] = []
        self.hang: asyncio.Event | None = None
        """Set when a call has come, which has no answer."""

    async def look(self, call: Call) -> str | Outcome:
        return f"print of {call.id}"

    async def make(self, call: Call, fingerprint: str, progress: Callable[[Progress], None]) -> Outcome:
        progress(Progress(1))
        if self.hang is not None:
            self.hang.set()
            await asyncio.Event().wait()
        self.made.append((call, fingerprint))
        return self.outcome


async def test_a_call_is_a_span_which_its_server_hears_of() -> None:
    """All else is as it would be."""
    kept, servers, heard = Kept(), Servers(Outcome(result="also a secret", elapsed_ms=1_500)), list[Progress]()
    told = TracedServers(servers, kept.telemetry)
    assert await told.look(CALL) == "print of call-1"
    assert await told.make(CALL, "print", heard.append) is servers.outcome
    span, ((call, fingerprint),) = kept.only, servers.made
    assert (span.name, span.kind, ids_of(span)) == ("execute_tool w__note", SpanKind.CLIENT, (TRACE, PARENT))
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "w__note",
        "gen_ai.tool.call.id": "call-1",
        "gen_ai.conversation.id": "c",
        "mcp.method.name": "tools/call",
    }
    assert span.context is not None
    assert call.tracing == (("traceparent", f"00-{TRACE}-{span.context.span_id:016x}-01"),)
    assert (call.key, fingerprint, heard) == (CALL.key, "print", [Progress(1)])
    assert "secret" not in span.to_json()
    labels = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "w__note", "mcp.method.name": "tools/call"}
    assert kept.measured() == {"mcp.client.operation.duration": [(labels, 1.5)]}


async def test_names_that_models_invent_name_no_series() -> None:
    """There are as many as one likes; a span says which it was. A tool that was there is known by its name."""
    kept, servers = Kept(), Servers(Outcome(error="there is none", code="unknown-tool"))
    told = TracedServers(servers, kept.telemetry)
    for name in ("w__a", "w__b"):
        await told.make(msgspec.structs.replace(CALL, name=name), "", lambda _: None)
    assert [span.name for span in kept.spans] == ["execute_tool _OTHER"] * 2
    assert [(span.attributes or {})["gen_ai.tool.name"] for span in kept.spans] == ["w__a", "w__b"]
    outcomes: list[tuple[str, Outcome]] = [
        ("w__c", Outcome(error="away", code="unavailable")),
        ("w__note", Outcome(result=1)),
        ("w__note", Outcome(error="away", code="unavailable")),
    ]
    for name, servers.outcome in outcomes:
        await told.make(msgspec.structs.replace(CALL, name=name), "", lambda _: None)
    assert [span.name.partition(" ")[2] for span in kept.spans[2:]] == ["_OTHER", "w__note", "w__note"]
    (series,) = kept.measured().values()
    assert sorted((labels["gen_ai.tool.name"], labels.get("error.type", "")) for labels, _ in series) == [
        ("_OTHER", "unavailable"),
        ("_OTHER", "unknown-tool"),
        ("w__note", ""),
        ("w__note", "unavailable"),
    ]


async def test_a_call_that_is_cancelled_has_failed() -> None:
    """It is measured as any other."""
    kept, servers = Kept(), Servers(Outcome())
    servers.hang = asyncio.Event()
    call = asyncio.create_task(TracedServers(servers, kept.telemetry).make(CALL, "", lambda _: None))
    await asyncio.wait_for(servers.hang.wait(), 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert kept.only.status.status_code is StatusCode.ERROR
    assert (kept.only.attributes or {})["error.type"] == "cancelled"
    (((labels, seconds),),) = kept.measured().values()
    assert labels["error.type"] == "cancelled"
    assert 0 < seconds < 10


@pytest.mark.parametrize("code", ["timeout", "tool"])
async def test_a_call_that_failed_says_of_what(code: Code) -> None:
    """By the code of its outcome."""
    kept = Kept()
    await TracedServers(Servers(Outcome(error="a secret", code=code)), kept.telemetry).make(CALL, "", lambda _: None)
    assert kept.only.status.status_code is StatusCode.ERROR
    assert (kept.only.attributes or {})["error.type"] == code
    assert "secret" not in kept.only.to_json()
