"""Responses that were begun before: read by their ids, resumed, and stopped."""

import asyncio
from typing import Any

import pytest
from aiohttp import ClientError, ClientResponse

from tests.support.fronts import Asked, FrontStage, answered, fronting, told
from tests.support.stage import until
from tokenmill.apis.ask import Json
from tokenmill.config import Gateway
from tokenmill.front import responses
from tokenmill.front.following import Following
from tokenmill.front.responses import LATE

pytestmark = pytest.mark.integration

BODY = {"model": "m", "input": "hi"}
PATH = "/v1/responses"


async def numbered(front: FrontStage, identity: str, query: str) -> list[dict[str, Any]]:
    async with front.session.get(f"{front.url}{PATH}/{identity}?stream=true{query}") as response:
        assert response.status == 200
        return [event for event in await told(response) if isinstance(event, dict)]


async def test_a_response_is_resumed_behind_any_event(kafka: str, unique: str) -> None:
    """From its beginning, behind each number, and behind its end; the numbers are those of the first stream."""
    async with fronting(kafka, unique) as front:
        async with front.post(PATH, BODY | {"stream": True}) as response:
            events = [event for event in await told(response) if isinstance(event, dict)]
        identity = events[0]["response"]["id"]
        assert await numbered(front, identity, "") == events
        for at in (0, 3, len(events) - 2, len(events) - 1):
            assert await numbered(front, identity, f"&starting_after={at}") == events[at + 1 :]
        async with front.session.get(f"{front.url}{PATH}/{identity}") as response:
            assert await response.json() == events[-1]["response"]
        async with front.session.get(f"{front.url}{PATH}/{identity}?stream=true&starting_after=x") as response:
            assert (response.status, (await response.json())["error"]["param"]) == (400, "starting_after")
        assert len(front.asked) == 1


async def test_a_response_in_the_background_is_there_at_once_and_goes_on(kafka: str, unique: str) -> None:
    """Without anybody who reads it, and read while it is written."""
    go = asyncio.Event()

    async def wait(asked: Asked) -> None:
        await asked.say({"open": {"format": "plain", "model": "m"}}, {"delta": "Hel"})
        await go.wait()
        await asked.say({"delta": "lo"}, {"finish_reason": "stop"})

    async with fronting(kafka, unique, wait, disconnect_s=0) as front:
        async with front.post(PATH, BODY | {"background": True}) as response:
            begun = await response.json()
            assert (response.status, begun["status"], begun["output"]) == (200, "queued", [])
        await until(lambda: front.asked, "it is asked for")
        assert front.asked[0].record.stays
        reading = asyncio.create_task(numbered(front, begun["id"], ""))
        go.set()
        assert (await reading)[-1]["response"]["output"][0]["content"][0]["text"] == "Hello"
        assert front.cancelled == []


async def test_a_response_in_the_background_waits_for_a_caller(kafka: str, unique: str) -> None:
    """As one: its client asks for it by its id, asks again by a retry, and stops it, for which it need not wait."""

    async def nobody(_: Asked) -> None:
        """All callers are away."""

    async with fronting(kafka, unique, nobody) as front:
        identity = ""
        for count in range(2):
            body = BODY | {"background": True}
            async with front.post(PATH, body, x_stainless_retry_count=str(count)) as response:
                found = await response.json()
            assert (response.status, found["status"], found["model"]) == (200, "queued", "m")
            assert found["id"] == (identity or found["id"])
            identity = found["id"]
            assert response.headers["tm-message-id"] == identity
        async with front.session.get(f"{front.url}{PATH}/{identity}") as response:
            assert await response.json() == found
        async with asyncio.timeout(responses.CANCEL_S / 2), front.post(f"{PATH}/{identity}/cancel", b"") as response:
            assert (response.status, (await response.json())["status"]) == (200, "cancelled")
        async with front.session.get(f"{front.url}{PATH}/{identity}") as response:
            assert (await response.json())["status"] == "cancelled"
        await until(lambda: front.cancelled, "it is stopped")
        assert ([asked.record.message_id for asked in front.asked], front.cancelled) == ([identity], [identity])


async def test_live_events_that_a_client_has_do_not_end_its_stream(kafka: str, unique: str) -> None:
    """Behind a number that is not reached yet: what comes before it is left out, what comes after it is there."""
    go_on, end = asyncio.Event(), asyncio.Event()

    async def wait(asked: Asked) -> None:
        await asked.say({"open": {"format": "plain", "model": "m"}}, {"delta": "Hel"})
        await go_on.wait()
        await asked.say({"delta": "lo"})
        await end.wait()
        await asked.say({"finish_reason": "stop"})

    async with fronting(kafka, unique, wait, gateway=Gateway(flush_ms=1, heartbeat_s=0.1)) as front:
        async with front.post(PATH, BODY | {"background": True}) as response:
            identity = (await response.json())["id"]
        async with front.session.get(f"{front.url}{PATH}/{identity}?stream=true&starting_after=5") as response:
            await _silent(response)
            go_on.set()
            await _silent(response)
            end.set()
            events = [event for event in await told(response) if isinstance(event, dict)]
        assert events == (await numbered(front, identity, ""))[6:]
        assert events[-1]["type"] == "response.completed"


async def test_what_is_there_is_told_though_its_time_is_over(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an answer that has no end, too; but then nobody waits for more of it."""
    monkeypatch.setattr("tokenmill.front.route_context.MORE_S", 0.0)

    async def half(asked: Asked) -> None:
        await asked.say({"open": {"format": "plain", "model": "m"}}, {"delta": "Hel"})
        if asked.body["input"] == "hi":
            await asked.say({"delta": "lo"}, {"finish_reason": "stop"})

    async with fronting(kafka, unique, half, answer_s=0.001) as front:
        for said, whole in (("hi", True), ("half", False)):
            async with front.post(PATH, BODY | {"input": said, "background": True}) as response:
                identity = (await response.json())["id"]
            if whole:
                assert (await numbered(front, identity, ""))[-1]["type"] == "response.completed"
                continue
            async with front.session.get(f"{front.url}{PATH}/{identity}?stream=true") as response, asyncio.timeout(20):
                await response.content.readuntil(b'"delta":"Hel"')
                with pytest.raises(ClientError):
                    await response.read()


async def _silent(response: ClientResponse) -> None:
    """Until heartbeats say that nothing is on its way to a client that is at the head."""
    for _ in range(3):
        assert b": hb" in await response.content.readuntil(b": hb\n")


async def test_a_response_is_stopped_by_its_id(kafka: str, unique: str) -> None:
    """The answer says how it ended; to stop it again changes nothing."""

    async def until_cancelled(asked: Asked) -> None:
        await asked.say({"open": {"format": "plain", "model": "m"}}, {"delta": "Hel"})
        await until(lambda: asked.record.message_id in front.cancelled, "it is cancelled")
        await asked.say({"control": "cancel"})

    async with fronting(kafka, unique, until_cancelled) as front:
        async with front.post(PATH, BODY | {"background": True}) as response:
            identity = (await response.json())["id"]
        for _ in range(2):
            async with front.post(f"{PATH}/{identity}/cancel", b"") as response:
                assert (response.status, (await response.json())["status"]) == (200, "cancelled")


async def test_a_response_that_was_lost_has_failed(kafka: str, unique: str) -> None:
    """Whoever asks until it is over hears of it, and so does who stops it."""

    async def lose(asked: Asked) -> None:
        await asked.say({"open": {"format": "plain", "model": "m"}}, {"delta": "Hel"})
        await asked.lose()

    async with fronting(kafka, unique, lose) as front:
        async with front.post(PATH, BODY | {"background": True}) as response:
            identity = (await response.json())["id"]
        assert (await numbered(front, identity, ""))[-1]["type"] == "error"
        async with front.session.get(f"{front.url}{PATH}/{identity}") as response:
            found = await response.json()
            assert (response.status, found["status"], found["error"]["code"]) == (200, "failed", "server_error")
        async with front.post(f"{PATH}/{identity}/cancel", b"") as response:
            assert (response.status, (await response.json())["status"]) == (200, "failed")


@pytest.mark.parametrize("name", ["compact", "input_tokens"])
async def test_addresses_beside_responses_are_none(name: str, kafka: str, unique: str) -> None:
    """They are no response that has to be asked for in another way."""
    async with fronting(kafka, unique) as front, front.post(f"{PATH}/{name}", BODY) as response:
        told_so = (await response.json())["error"]
        assert (response.status, told_so["code"], "no such address" in told_so["message"]) == (404, "not-found", True)


async def test_a_response_is_not_deleted_and_that_is_said(kafka: str, unique: str) -> None:
    """OpenAI's API has it, and a log forgets nothing before its time."""
    async with fronting(kafka, unique) as front, front.session.delete(f"{front.url}{PATH}/resp_1") as response:
        told_so = (await response.json())["error"]
        assert (response.status, response.headers["allow"]) == (405, "GET")
        assert "can't be deleted" in told_so["message"]


async def test_what_is_not_there_is_404(kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An id of nothing, of another API, of no kind; and the log says nothing of why, nor is it all read."""
    can_be, bounds = Following.can_be, list[int]()

    async def noted(following: Following, until_ms: int, younger: int) -> bool:
        bounds.append(younger)
        return await can_be(following, until_ms, younger)

    monkeypatch.setattr(Following, "can_be", noted)
    async with fronting(kafka, unique) as front:
        async with front.post(
            "/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "a"}]}
        ) as chat:
            other = (await chat.json())["id"]
        for identity in ("resp_1", f"resp_{'0' * 32}", f"resp_{'f' * 32}", other, other.replace("chatcmpl-", "resp_")):
            async with front.session.get(f"{front.url}{PATH}/{identity}") as response:
                assert (response.status, (await response.json())["error"]["type"]) == (404, "not_found_error")
            async with front.session.get(f"{front.url}{PATH}/{identity}?stream=true") as response:
                assert response.status == 404
            async with front.post(f"{PATH}/{identity}/cancel", b"") as response:
                assert response.status == 404
        assert (front.cancelled, bounds) == ([], [LATE] * 3)


async def test_a_response_is_its_clients(kafka: str, unique: str) -> None:
    """Another client's key finds nothing under the same id, nor in the same conversation."""
    gateway = Gateway(auth="function", function="tests.support.fronts:by_key", flush_ms=1)
    async with fronting(kafka, unique, answered, gateway=gateway) as front:
        found: dict[str, str] = {}
        for key, conversation in (("alice", ""), ("alice", "alice-1")):
            async with front.post(PATH, BODY, x_api_key=key, x_conversation_id=conversation) as response:
                assert response.status == 200
                found[conversation] = (await response.json())["id"]
        for conversation, identity in found.items():
            for key, status in (("alice", 200), ("bob", 403 if conversation else 404), ("nobody", 401)):
                headers = {"x-api-key": key}
                async with front.session.get(f"{front.url}{PATH}/{identity}", headers=headers) as response:
                    assert (key, response.status) == (key, status)
        async with front.post(PATH, BODY, x_api_key="bob", x_conversation_id="alice-1") as response:
            assert response.status == 403
        async with front.post(PATH, BODY, x_api_key="reader") as response:
            assert response.status == 403


@pytest.mark.parametrize(
    ("tool", "call"),
    [
        ({"type": "function"}, {"type": "function_call", "arguments": '{"input": "a"}'}),
        ({"type": "custom"}, {"type": "custom_tool_call", "input": "a"}),
    ],
)
async def test_a_call_is_told_by_the_names_that_its_client_knows(
    tool: Json, call: Json, kafka: str, unique: str
) -> None:
    """Codex knows the tools of an MCP server by a namespace and a name; the model has one name for each."""
    tools = [tool | {"name": "lookup"}]
    words = {"type": "namespace", "name": "mcp__words", "description": "", "tools": tools}

    async def answer(asked: Asked) -> None:
        called = '<tool_call>{"name": "mcp__words__lookup", "arguments": {"input": "a"}}</tool_call>'
        custom_tools = ["mcp__words__lookup"] if tool["type"] == "custom" else []
        opened = {"format": "hermes", "model": "m", "custom_tools": custom_tools}
        await asked.say({"open": opened}, {"delta": called}, {"finish_reason": "stop"})

    async with fronting(kafka, unique, answer) as front:
        body = BODY | {"tools": [words]}
        async with front.post(PATH, body) as response:
            (whole,) = (await response.json())["output"]
        async with front.post(PATH, body | {"stream": True}) as response:
            events = [event for event in await told(response) if isinstance(event, dict)]
        later = body | {"background": True}
        async with front.post(PATH, later, idempotency_key="k") as response:
            begun = (await response.json())["id"]
        async with front.session.get(f"{front.url}{PATH}/{begun}?stream=true") as response:
            resumed = [event for event in await told(response) if isinstance(event, dict)]
        async with front.post(PATH, later, idempotency_key="k") as response:
            (again,) = (await response.json())["output"]
        async with front.session.get(f"{front.url}{PATH}/{begun}") as response:
            (by_id,) = (await response.json())["output"]
        items = [event["item"] for event in (*events, *resumed) if "item" in event]
        for item in (whole, again, by_id, *items, events[-1]["response"]["output"][0]):
            assert (item["type"], item["namespace"], item["name"]) == (call["type"], "mcp__words", "lookup")
        assert call.items() <= whole.items()
        assert "mcp__words__lookup" not in repr((events, resumed))
