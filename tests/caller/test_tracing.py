"""An answer as OpenTelemetry is told of it."""

import asyncio
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from tests.support.answering import Desk, desk
from tests.support.calling import chat
from tests.support.model_servers.speech import Script
from tests.support.model_servers.vllm import Vllm
from tests.support.spans import HEADERS, PARENT, TRACE, Kept, ids_of
from tokenmill.caller import trying
from tokenmill.caller.tracing import traced
from tokenmill.observe.caller_table import Outcome
from tokenmill.observe.telemetry import NO_TELEMETRY, Telemetry

SECRET = "a word of the prompt"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tries follow each other at once."""
    monkeypatch.setattr(trying, "PAUSES_S", (0.0,))


async def told(at: Desk, telemetry: Telemetry, body: Any = None) -> Outcome:
    """An answer to its end."""
    answer = at.answer(body)
    answer.tracing = HEADERS
    async with asyncio.timeout(30):
        return await traced(telemetry, answer)


async def test_an_answer_is_a_span_of_which_server_and_records_are_part() -> None:
    """With what the conventions ask for, and no word of prompt or answer."""
    kept = Kept()
    body = chat(
        messages=[{"role": "user", "content": SECRET}],
        temperature=0.5,
        stream_options={"include_usage": True},
    )
    async with Vllm(lambda _: Script("Hello")) as server, desk("vllm", server.url) as at:
        assert await told(at, kept.telemetry, body) == "finished"
        span, (generation,) = kept.only, server.generations
    assert (span.name, span.kind, ids_of(span)) == ("chat m", SpanKind.CLIENT, (TRACE, PARENT))
    about = dict(span.attributes or {})
    assert about.pop("gen_ai.response.time_to_first_chunk") > 0  # type: ignore[operator] # a number
    counts = about.pop("gen_ai.usage.input_tokens"), about.pop("gen_ai.usage.output_tokens")
    assert about == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.provider.name": "vllm",
        "gen_ai.conversation.id": "c",
        "gen_ai.response.finish_reasons": ("stop",),
        "server.address": "127.0.0.1",
    }
    assert span.context is not None
    own = f"00-{TRACE}-{span.context.span_id:016x}-01"
    assert generation.headers["traceparent"] == own
    assert dict(at.written.records[0].headers)["traceparent"] == own.encode()
    assert SECRET not in span.to_json()
    assert "Hello" not in span.to_json()
    measured = kept.measured()
    assert measured.keys() == {
        "gen_ai.client.operation.duration",
        "gen_ai.client.operation.time_to_first_chunk",
        "gen_ai.client.token.usage",
    }
    usage = {about["gen_ai.token.type"]: count for about, count in measured["gen_ai.client.token.usage"]}
    assert (usage["input"], usage["output"]) == counts
    assert {"gen_ai.request.model", "gen_ai.provider.name", "gen_ai.operation.name"} == measured[
        "gen_ai.client.operation.duration"
    ][0][0].keys()


@pytest.mark.parametrize(("fail", "kind"), [("drop", "broken-off"), ("refuse", "refused")])
async def test_an_answer_that_failed_says_of_what(fail: Any, kind: str) -> None:
    """By a word of few, in the span and in what is measured."""
    kept = Kept()
    script = Script("Hello", fail=fail, after=1, status=400)
    async with Vllm(lambda _: script) as server, desk("vllm", server.url) as at:
        assert await told(at, kept.telemetry) in ("failed", "refused")
    assert kept.only.status.status_code is StatusCode.ERROR
    assert (kept.only.attributes or {})["error.type"] == kind
    ((about, _),) = kept.measured()["gen_ai.client.operation.duration"]
    assert about["error.type"] == kind


async def test_a_model_that_nobody_serves_is_told_too() -> None:
    """Its request was written by a front with another configuration."""
    kept = Kept()
    async with desk("vllm", "http://127.0.0.1:9") as at:
        assert await told(at, kept.telemetry, chat(model="unknown")) == "refused"
    assert kept.only.name == "chat "
    assert kept.only.status.status_code is StatusCode.ERROR


async def test_the_trace_goes_on_where_nobody_is_told() -> None:
    """The server and the records have the headers that came."""
    async with Vllm(lambda _: Script("Hello")) as server, desk("vllm", server.url) as at:
        assert await told(at, NO_TELEMETRY) == "finished"
        assert server.generations[0].headers["traceparent"].encode() == HEADERS[0][1]
    assert HEADERS[0] in at.written.records[0].headers
