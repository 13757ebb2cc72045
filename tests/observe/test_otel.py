"""Spans and measurements as OpenTelemetry's own SDK keeps them; a collector is asked in tests/integration."""

import asyncio
import socket
import threading
import time

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from tests.support.spans import HEADERS, PARENT, TRACE, Kept, ids_of
from tokenmill.config import TelemetrySection
from tokenmill.observe.otel import CLOSE_S, LATEST_MS, SEND_S, OpenTelemetry
from tokenmill.process import EXIT_S


def test_a_span_is_part_of_the_trace_that_came() -> None:
    """And what it leads to is part of it."""
    kept = Kept()
    with kept.telemetry.span("a", "server", HEADERS, {"x": 1}) as span:
        span.name("b")
        span.say({"y": ["z"]})
        kept.telemetry.current().event("half-way")
    told = kept.only
    assert told.context is not None
    assert (told.name, told.kind, dict(told.attributes or {})) == ("b", SpanKind.SERVER, {"x": 1, "y": ("z",)})
    assert ids_of(told) == (TRACE, PARENT)
    assert [event.name for event in told.events] == ["half-way"]
    assert dict(span.headers)["traceparent"] == f"00-{TRACE}-{told.context.span_id:016x}-01".encode()


def test_without_a_trace_one_begins() -> None:
    """Whatever else is in the header."""
    kept = Kept()
    for headers in ((), [("traceparent", b"\xff nonsense")]):
        with kept.telemetry.span("a", "server", headers, {}):
            pass
    assert [ids_of(span)[1] for span in kept.spans] == ["", ""]
    assert len({ids_of(span)[0] for span in kept.spans}) == 2


@pytest.mark.parametrize(("sample", "flags", "told"), [(0, b"", 0), (1, b"", 1), (0, b"01", 1), (1, b"00", 0)])
def test_who_began_the_trace_decides_whether_it_is_kept(sample: float, flags: bytes, told: int) -> None:
    """Otherwise `telemetry.sample` does. A trace that is not kept continues all the same."""
    kept = Kept(sample=sample)
    parent = [("traceparent", HEADERS[0][1][:-2] + flags)] if flags else []
    with kept.telemetry.span("a", "client", parent, {}) as span:
        assert int(span.headers[0][1][-2:], 16) & 1 == told
    assert len(kept.spans) == told


def test_a_span_that_fails_says_of_what() -> None:
    """Without the text of the problem, which may quote confidential data; a client that leaves has not failed."""
    kept = Kept()
    with pytest.raises(ValueError, match="secret"), kept.telemetry.span("a", "client", (), {}):
        raise ValueError("secret")
    with pytest.raises(asyncio.CancelledError), kept.telemetry.span("b", "client", (), {}):
        raise asyncio.CancelledError
    failed, left = kept.spans
    assert (failed.attributes or {})["error.type"] == "ValueError"
    assert (failed.status.status_code, left.status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)
    assert "secret" not in failed.to_json()


def test_tasks_have_spans_of_their_own() -> None:
    """Those that run side by side do not see each other's."""
    kept = Kept()

    async def work(name: str) -> None:
        with kept.telemetry.span(name, "client", (), {}):
            await asyncio.sleep(0)
            kept.telemetry.current().event(name)

    async def both() -> None:
        await asyncio.gather(work("a"), work("b"))

    asyncio.run(both())
    assert [[event.name for event in span.events] for span in kept.spans] == [[span.name] for span in kept.spans]
    assert kept.telemetry.current(HEADERS).headers == HEADERS


def test_a_span_may_be_told_when_it_is_over() -> None:
    """With the times that it had; a clock that went back does not make it end before it begins."""
    kept = Kept()
    kept.telemetry.past("p", "consumer", HEADERS, {"error.type": "timeout"}, 1_000, 2_500)
    kept.telemetry.past("q", "consumer", HEADERS, {}, 1_000, 900)
    first, second = kept.spans
    assert (first.start_time, first.end_time) == (1_000_000_000, 2_500_000_000)
    assert (first.status.status_code, second.status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)
    assert (second.start_time, second.end_time) == (1_000_000_000, 1_000_000_000)


@pytest.mark.parametrize(
    ("said", "told"), [(-1, 0), (1_700_000_000_000_000, LATEST_MS), (2**63 - 1, LATEST_MS)], ids=["none", "us", "most"]
)
def test_a_time_that_no_span_can_say_takes_no_other_span_with_it(said: int, told: int) -> None:
    """Times are those of records, which may be any number. Spans that are sent together are encoded together."""
    kept = Kept()
    kept.telemetry.past("p", "consumer", HEADERS, {}, said, said)
    assert (kept.only.start_time, kept.only.end_time) == (told * 1_000_000, told * 1_000_000)


def test_measurements_are_histograms() -> None:
    """By their attributes."""
    kept = Kept()
    for value in (1.5, 2.5):
        kept.telemetry.measure("mcp.client.operation.duration", value, {"gen_ai.tool.name": "t"})
    assert kept.measured() == {"mcp.client.operation.duration": [({"gen_ai.tool.name": "t"}, 4.0)]}


def test_the_environment_goes_over_what_is_said_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As every program with OpenTelemetry has it."""
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    kept = Kept()
    with kept.telemetry.span("a", "client", (), {}):
        pass
    assert kept.only.resource.attributes["service.name"] == "mine"


@pytest.mark.parametrize("listens", [True, False], ids=["silent", "refused"])
def test_a_collector_that_does_not_answer_holds_the_end_up_for_seconds(listens: bool) -> None:
    """However much is left: a process that has drained has few seconds more."""
    with socket.create_server(("127.0.0.1", 0)) as collector:
        port = collector.getsockname()[1]
        if not listens:
            collector.close()
        before = set(threading.enumerate())
        telemetry = OpenTelemetry(TelemetrySection(endpoint=f"http://127.0.0.1:{port}"), "test")
        for _ in range(2_000):  # of its queue nearly all, and several batches
            with telemetry.span("a", "client", (), {}):
                pass
        began = time.monotonic()
        telemetry.close()
        assert CLOSE_S < EXIT_S
        assert time.monotonic() - began < EXIT_S
        for thread in set(threading.enumerate()) - before:  # none tries for longer than one request takes
            thread.join(2 * SEND_S)
            assert not thread.is_alive()
