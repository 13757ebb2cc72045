"""What the page asks for."""

import asyncio
import threading
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from tokenmill.formats import FORMATS
from tokenmill.gateway.http.idle_connections import IdleConnections
from tokenmill.inspector import playground as module
from tokenmill.inspector.host import inspector_app
from tokenmill.inspector.playground import Recording
from tokenmill.inspector.steps import ParseRequest

CALL = '<tool_call>\n{"name":"f","arguments":{"a":1}}\n</tool_call>'


async def asked(
    path: str, body: Any = None, recording: Recording | None = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    """The status and the JSON of an answer."""
    app = inspector_app(recording, IdleConnections())
    method, data = ("GET", None) if body is None else ("POST", body)
    async with (
        TestClient(TestServer(app)) as client,
        client.request(method, f"/inspect/api/{path}", json=data, headers=headers) as answer,
    ):
        return answer.status, await answer.json(content_type=None)


async def test_everything_there_is_can_be_chosen() -> None:
    """A format with its sample and its diagram."""
    status, choices = await asked("choices")
    assert status == 200
    assert [each["name"] for each in choices["formats"]] == [each.name for each in FORMATS]
    hermes = next(each for each in choices["formats"] if each["name"] == "hermes")
    assert {"from": "text", "to": "section0", "labels": ["<tool_call>"]} in hermes["diagram"]["moves"]
    assert {"native", "sse+openai"} <= {each["name"] for each in choices["codecs"]}
    assert {"native", "openai"} <= {each["name"] for each in choices["dialects"]}
    assert choices["file"] is None


async def test_the_steps_of_a_text_are_told() -> None:
    """The parser runs here."""
    status, found = await asked("steps", {"text": CALL, "format": "hermes", "cuts": [5]})
    assert status == 200
    assert "".join(step["source"] for step in found["steps"]) == CALL
    made = [made for step in found["steps"] for made in step["made"]]
    call = next(each for each in made if each["event"]["type"] == "tool-call")
    assert CALL[call["start"] : call["end"]] == CALL.removesuffix("\n</tool_call>")


async def test_cuts_are_tried() -> None:
    """All of them."""
    assert await asked("cuts", {"text": CALL, "format": "hermes"}) == (200, {"tried": len(CALL) - 1, "differs": None})


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"format": "herms"}, "unknown format 'herms'"),
        ({"dialect": "opnai"}, "opnai"),
        ({"records": "{}", "codec": "opnai"}, "opnai"),
        ({"txt": "x"}, "txt"),
        ({"tools": [{"function": {"name": "f", "parameters": {"maximum": 2**128}}}]}, "64 bits"),
        ([], "object"),
    ],
)
async def test_what_can_t_be_had_says_what_to_change(body: Any, detail: str) -> None:
    """In words that the page shows."""
    status, problem = await asked("steps", body)
    assert status == 400
    assert detail in problem["detail"]


async def test_a_body_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read into memory."""
    monkeypatch.setattr("tokenmill.inspector.host.BODY_BYTES", 100)
    status, problem = await asked("steps", {"text": "x" * 200})
    assert (status, problem["type"]) == (413, "urn:tokenmill:problem:too-large")


async def test_a_recorded_stream_is_there_if_there_is_one() -> None:
    """With its name."""
    recording = Recording("stream.txt", "data: {}\n\n")
    assert await asked("file", recording=recording) == (200, {"name": "stream.txt", "records": "data: {}\n\n"})
    assert (await asked("choices", recording=recording))[1]["file"] == "stream.txt"
    assert (await asked("file"))[0] == 404


async def test_others_are_served_while_a_long_text_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is parsed in a thread."""
    loop, began, goes_on = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

    def slow(_asked: ParseRequest) -> str:
        loop.call_soon_threadsafe(began.set)
        asyncio.run_coroutine_threadsafe(goes_on.wait(), loop).result(30)
        return "over"

    monkeypatch.setattr(module, "parse_in_steps", slow)
    async with TestClient(TestServer(inspector_app(None, IdleConnections()))) as client:
        waiting = asyncio.create_task(client.post("/inspect/api/steps", json={}))
        await began.wait()
        async with client.get("/inspect/api/choices") as answer:
            assert answer.status == 200
        goes_on.set()
        assert await (await waiting).json() == "over"


@pytest.mark.parametrize(
    ("headers", "status"), [({"origin": "http://evil.example"}, 403), ({"host": "evil.example"}, 421)]
)
async def test_foreign_pages_can_t_ask(headers: dict[str, str], status: int) -> None:
    """Nor under a name that is not this machine's."""
    assert (await asked("steps", {"text": "x"}, headers=headers))[0] == status


async def test_few_may_ask_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One is answered, others wait, and for more there is no room."""
    goes_on, running = threading.Event(), list[int]()

    def slow(_asked: ParseRequest) -> str:
        running.append(1)
        assert goes_on.wait(30)
        return "over"

    monkeypatch.setattr(module, "parse_in_steps", slow)
    async with TestClient(TestServer(inspector_app(None, IdleConnections()))) as client:
        waiting = [asyncio.create_task(client.post("/inspect/api/steps", json={})) for _ in range(module.ASKERS + 1)]
        (first,), others = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert (await first).status == 429
        assert (await first).headers["retry-after"].isdigit()
        assert len(running) == 1
        goes_on.set()
        assert [(await other).status for other in others] == [200] * module.ASKERS
