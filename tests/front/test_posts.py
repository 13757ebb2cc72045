"""Answers by the three APIs: streamed and whole, asked for once, and refused in the words of their API."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from aiohttp import ClientError, ClientResponse

from tests.support.fronts import WORDS, Asked, another, answered, fronting, told
from tests.support.stage import until
from tokenmill.apis import APIS
from tokenmill.config import Gateway
from tokenmill.front import posts as module
from tokenmill.front.posts import BODY_VALUES
from tokenmill.front.readers import Readers
from tokenmill.servers.process import free_port

pytestmark = pytest.mark.integration

HI = [{"role": "user", "content": "hi"}]
BODIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "m", "messages": HI},
    "/v1/responses": {"model": "m", "input": "hi"},
    "/v1/messages": {"model": "m", "max_tokens": 9, "messages": HI},
}
CHAT = "/v1/chat/completions"

LATE_S = 0.4
"""How long a model takes to begin."""

LOOK_S = 0.2
"""To see that nothing comes."""


def text_of(path: str, whole: dict[str, Any]) -> str:
    """The text of an answer in one piece."""
    if path == CHAT:
        return str(whole["choices"][0]["message"]["content"])
    content = whole["content"] if path == "/v1/messages" else whole["output"][0]["content"]
    return str(content[0]["text"])


async def test_each_api_answers_whole_and_as_a_stream(kafka: str, unique: str) -> None:
    """The request is a record with the body as it came; the stream ends as that API's do."""
    ends = {CHAT: "[DONE]", "/v1/responses": "response.completed", "/v1/messages": "message_stop"}
    async with fronting(kafka, unique) as front:
        for path, body in BODIES.items():
            async with front.post(path, body) as response:
                assert (response.status, response.content_type) == (200, "application/json")
                assert text_of(path, await response.json()) == "Hello there."
            assert front.asked[-1].body == body
            async with front.post(path, body | {"stream": True}) as response:
                assert (response.status, response.content_type) == (200, "text/event-stream")
                assert response.headers["tm-message-id"] == front.asked[-1].record.message_id
                last = (await told(response))[-1]
                assert (last if isinstance(last, str) else last["type"]) == ends[path]
        assert len(front.asked) == 2 * len(BODIES)
        assert {each.conversation for each in front.asked if each.conversation.startswith("~")} == {
            each.conversation for each in front.asked
        }


async def test_counts_of_tokens_are_told_where_a_stream_asks_for_them(kafka: str, unique: str) -> None:
    """OpenAI's clients look into `choices` of each chunk else."""

    async def answer(asked: Asked) -> None:
        usage = asked.body.get("stream_options", {}).get("include_usage", False)
        await asked.say({"open": {"format": "plain", "model": "m", "include_usage": usage}}, *WORDS)

    async with fronting(kafka, unique, answer) as front:
        body = BODIES[CHAT] | {"stream": True}
        async with front.post(CHAT, body) as response:
            assert all(chunk["choices"] for chunk in await told(response) if isinstance(chunk, dict))
        async with front.post(CHAT, body | {"stream_options": {"include_usage": True}}) as response:
            *_, counts, _ = await told(response)
            assert isinstance(counts, dict)
            assert counts["usage"]["prompt_tokens"] == 3


@pytest.mark.parametrize("path", BODIES)
async def test_what_is_wrong_is_refused_in_the_object_of_the_api(path: str, kafka: str, unique: str) -> None:
    """With the place, before anything is written."""
    async with fronting(kafka, unique, body_kib=100) as front:
        wrong: list[tuple[Any, int]] = [
            (b"{", 400),
            (b"[]", 400),
            (BODIES[path] | {"temperature": "hot"}, 400),
            (BODIES[path] | {"model": "nobody"}, 404),
            (BODIES[path] | {"metadata": {"conversation_id": "c" * 9_999}}, 400),
            (b'{"x":' + b"[" * 300 + b"]" * 300 + b"}", 400),
            (b'{"x":' + b"[" * 5_000 + b"]" * 5_000 + b"}", 400),
        ]
        for body, status in wrong:
            async with front.post(path, body) as response:
                error = (await response.json())["error"]
                assert (response.status, bool(error["message"])) == (status, True)
                assert error["type"] == ("not_found_error" if status == 404 else "invalid_request_error")
        async with front.post(path, msgspec.json.encode(BODIES[path] | {"x": [0] * BODY_VALUES})) as response:
            error = (await response.json())["error"]
            assert (response.status, error["type"]) == (400, "invalid_request_error")
            assert "values" in error["message"]
        async with front.session.get(front.url + path) as response:
            assert response.status == 405
        async with front.session.get(f"{front.url}/v1/nothing") as response:
            assert (response.status, "error" in await response.json()) == (404, True)
        async with front.post(path, BODIES[path] | {"user": "u" * 103_000}) as response:
            assert response.status == 413
            assert "front.body_kib" in (await response.json())["error"]["message"]
        assert front.asked == []


async def test_a_body_has_the_front_s_own_time_to_come(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is longer than that of a body of the gateway's, as images are larger."""
    monkeypatch.setattr("tokenmill.gateway.http.request_body.WHOLE_S", LOOK_S / 10)
    data = msgspec.json.encode(BODIES[CHAT])

    async def slowly() -> AsyncIterator[bytes]:
        yield data[:10]
        await asyncio.sleep(LOOK_S)  # what is too long elsewhere
        yield data[10:]

    async with fronting(kafka, unique) as front, front.session.post(front.url + CHAT, data=slowly()) as response:
        assert (response.status, text_of(CHAT, await response.json())) == (200, "Hello there.")


async def test_a_stream_that_nobody_answers_is_cut_off(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the time of its answer is over, as one without a stream is refused then. It says so, and is reset."""

    async def nobody(_: Asked) -> None:
        """No caller reads the partition."""

    monkeypatch.setattr("tokenmill.front.route_context.MORE_S", LOOK_S)
    monkeypatch.setattr("tokenmill.front.whole.MORE_S", LOOK_S)
    async with fronting(kafka, unique, nobody, first_s=LOOK_S, answer_s=2 * LOOK_S) as front:
        for path, body in BODIES.items():
            async with front.post(path, body) as response:
                assert (response.status, response.headers["x-should-retry"]) == (504, "false")
                assert response.headers["tm-message-id"] == front.asked[-1].record.message_id
                assert response.headers["x-conversation-id"] == front.asked[-1].conversation
            async with front.post(path, body | {"stream": True}) as response, asyncio.timeout(20):
                pieces = list[bytes]()
                with pytest.raises(ClientError):
                    await _kept(response, pieces)
                assert (response.status, b"the answer was not over in time" in b"".join(pieces)) == (200, True)


async def _kept(response: ClientResponse, pieces: list[bytes]) -> None:
    """What comes before the end, of whatever kind that is."""
    while piece := await response.content.readany():
        pieces.append(piece)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_of_the_server_keeps_its_status(stream: bool, kafka: str, unique: str) -> None:
    """And what it said of it; the next request is another one."""
    raw = msgspec.json.encode({"error": {"message": "too many", "type": "tokens", "code": "rate_limit"}}).decode()

    async def refuse(asked: Asked) -> None:
        failure = {"error": "too many", "error_status": 429, "error_raw": raw, "finish_reason": "error", "end": True}
        await asked.answer(failure)

    async with fronting(kafka, unique, refuse) as front:
        for path, body in BODIES.items():
            async with front.post(path, body | {"stream": stream}) as response:
                error = (await response.json())["error"]
                assert (response.status, error["message"]) == (429, "too many")
                assert response.headers["retry-after"]
                assert response.headers["tm-message-id"] == front.asked[-1].record.message_id
                assert "x-should-retry" not in response.headers
        assert error["type"] == "rate_limit_error"  # Anthropic's own word, as it has no `tokens`


async def test_how_long_clients_wait_for_the_first_event_is_measured(kafka: str, unique: str) -> None:
    """Of streams and of whole answers, also where the status could not wait for it; a refusal is no answer."""

    async def answer(asked: Asked) -> None:
        await asked.say({"open": {"format": "plain", "model": "m"}})
        await asyncio.sleep(LATE_S)  # what is measured
        await asked.say(*([{"error": "no", "finish_reason": "error"}] if asked.body.get("user") else WORDS))

    async with fronting(kafka, unique, answer, first_s=LATE_S / 2) as front:
        for further in ({"stream": True}, {}, {"user": "nobody"}):
            async with front.post(CHAT, BODIES[CHAT] | further) as response:
                await response.read()
        async with front.session.get(f"http://127.0.0.1:{front.config.front.ops_port}/metrics") as response:
            lines = (await response.text()).splitlines()
    told = dict(line.split() for line in lines if line.startswith("tokenmill_front_first_event_seconds"))
    assert float(told["tokenmill_front_first_event_seconds_count"]) == 2
    assert float(told["tokenmill_front_first_event_seconds_sum"]) > 2 * LATE_S


async def test_a_failure_behind_the_first_token_is_told_in_the_stream(kafka: str, unique: str) -> None:
    """The status is out; without a stream it is the answer's."""

    async def fail(asked: Asked) -> None:
        await asked.answer(
            {"delta": "Hel"}, {"error": "gone", "error_status": 500, "finish_reason": "error", "end": True}
        )

    async with fronting(kafka, unique, fail) as front:
        async with front.post(CHAT, BODIES[CHAT] | {"stream": True}) as response:
            *_, failure, done = await told(response)
            assert isinstance(failure, dict)
            assert (failure["error"]["message"], done) == ("gone", "[DONE]")
        async with front.post(CHAT, BODIES[CHAT]) as response:
            assert (response.status, (await response.json())["error"]["message"]) == (500, "gone")


async def test_a_retry_of_an_sdk_is_the_same_request(kafka: str, unique: str) -> None:
    """While its answer is written and after it; another body, or the same without saying so, is another one."""
    go = asyncio.Event()

    async def wait(asked: Asked) -> None:
        await asked.say({"open": {"format": "plain", "model": "m"}}, {"delta": "Hello "})
        await go.wait()
        await asked.say(*WORDS[1:])

    async with fronting(kafka, unique, wait) as front:
        body = BODIES[CHAT] | {"stream": True}
        async with front.post(CHAT, body) as first, front.post(CHAT, body, x_stainless_retry_count="1") as second:
            assert first.headers["tm-message-id"] == second.headers["tm-message-id"]
            go.set()
            assert await told(first) == await told(second)
        async with front.post(CHAT, body, x_stainless_retry_count="2") as third:
            assert (await told(third))[-1] == "[DONE]"
        await until(lambda: front.readers, "it is said that somebody else reads")
        assert (len(front.asked), set(front.readers)) == (1, {first.headers["tm-message-id"]})
        async with front.post(CHAT, body | {"seed": 1}, x_stainless_retry_count="1"), front.post(CHAT, body):
            await until(lambda: len(front.asked) == 3, "two others were asked for")


async def test_a_key_is_one_request_at_every_front(kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if both are asked in the same moment; with another body it is a conflict."""
    left = list[tuple[str, ...]]()

    async def not_yet(*_: object) -> None:
        return None

    async with fronting(kafka, unique) as front:
        other = msgspec.structs.replace(
            front.config, front=msgspec.structs.replace(front.config.front, port=free_port(), ops_port=free_port())
        )
        async with another(other):
            elsewhere = f"http://127.0.0.1:{other.front.port}{CHAT}"
            data, headers = (
                msgspec.json.encode(BODIES[CHAT]),
                {"idempotency-key": "k", "content-type": "application/json"},
            )
            with monkeypatch.context() as patched:
                patched.setattr(module, "earlier_request", not_yet)
                patched.setattr(Readers, "_leave", lambda _, *who: left.append(who))
                here, there = await asyncio.gather(
                    front.post(CHAT, BODIES[CHAT], idempotency_key="k"),
                    front.session.post(elsewhere, data=data, headers=headers),
                )
            first, second = await here.json(), await there.json()
            assert first == second
            assert left == [], "what was not asked for after all needs no stop"
            async with front.session.post(elsewhere, data=data, headers=headers) as later:
                assert await later.json() == first
            async with front.post(CHAT, BODIES[CHAT] | {"seed": 1}, idempotency_key="k") as conflict:
                assert (conflict.status, (await conflict.json())["error"]["code"]) == (409, "conflict")
                assert conflict.headers["x-should-retry"] == "false"
        answers = {asked.record.message_id for asked in front.asked}
        assert first["id"] in answers


async def test_what_failed_before_anything_came_is_asked_for_again(kafka: str, unique: str) -> None:
    """By a retry and by a key: both want an answer, not the failure once more."""
    tries: list[int] = []

    async def second_time(asked: Asked) -> None:
        tries.append(asked.record.attempt)
        if asked.record.attempt:
            await answered(asked)
        else:
            await asked.answer({"error": "busy", "error_status": 503, "finish_reason": "error", "end": True})

    async with fronting(kafka, unique, second_time) as front:
        for headers in ({"x_stainless_retry_count": "0"}, {"idempotency_key": "k"}):
            async with front.post(CHAT, BODIES[CHAT], **headers) as response:
                assert response.status == 503
            async with front.post(CHAT, BODIES[CHAT], **headers | {"x_stainless_retry_count": "1"}) as response:
                assert (response.status, text_of(CHAT, await response.json())) == (200, "Hello there.")
    assert tries == [0, 1, 0, 1]


async def test_an_answer_without_a_reader_is_stopped_unless_it_stays(kafka: str, unique: str) -> None:
    """By a record that every caller sees."""

    async def silent(asked: Asked) -> None:
        await asked.say({"open": {"format": "plain", "model": "m"}}, {"delta": "Hel"})

    async with fronting(kafka, unique, silent, disconnect_s=LOOK_S) as front:
        for headers in ({}, {"tm_resumable": "true"}, {}):
            async with front.post(CHAT, BODIES[CHAT] | {"stream": True}, **headers) as response:
                await response.content.readany()
                response.close()
        left, stays, last = (asked.record.message_id for asked in front.asked)
        await until(lambda: last in front.cancelled, "the last one is stopped")
        assert (left in front.cancelled, stays in front.cancelled) == (True, False)


async def test_a_conversation_that_is_named_is_where_the_answer_is(kafka: str, unique: str) -> None:
    """By body or header, in every API."""
    async with fronting(kafka, unique) as front:
        for path, body in BODIES.items():
            async with front.post(path, body, x_conversation_id="chat 7/é") as response:
                assert response.status == 200
            async with front.post(path, body | {"metadata": {"conversation_id": "chat-8"}}) as response:
                assert response.headers["x-conversation-id"] == "chat-8"
        assert [asked.conversation for asked in front.asked] == ["chat 7/é", "chat-8"] * len(APIS)


async def test_nothing_is_asked_in_a_conversation_that_is_another_s(kafka: str, unique: str) -> None:
    """Named by body or header."""
    gateway = Gateway(auth="function", function="tests.support.fronts:by_key", flush_ms=1)
    async with fronting(kafka, unique, gateway=gateway) as front:
        for conversation, status in (("bob-1", 403), ("alice-1", 200)):
            named = BODIES[CHAT] | {"metadata": {"conversation_id": conversation}}
            async with front.post(CHAT, BODIES[CHAT], x_api_key="alice", x_conversation_id=conversation) as response:
                assert response.status == status
            async with front.post(CHAT, named, x_api_key="alice") as response:
                assert response.status == status
        assert [asked.conversation for asked in front.asked] == ["alice-1"] * 2


async def test_a_body_is_read_of_whoever_may_ask_and_at_a_place_of_their_own(kafka: str, unique: str) -> None:
    """It is that of the answer, too. Who may only read is refused before the body comes."""
    gateway = Gateway(auth="function", function="tests.support.fronts:by_key", flush_ms=1, connections_per_principal=1)
    async with fronting(kafka, unique, gateway=gateway) as front:

        async def half(key: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer = await asyncio.open_connection("127.0.0.1", front.config.front.port)
            head = ["content-type: application/json", f"x-api-key: {key}", "content-length: 999", "", "{"]
            writer.write("\r\n".join([f"POST {CHAT} HTTP/1.1", "host: 127.0.0.1", *head]).encode())
            return reader, writer

        async def status(key: str) -> int:
            async with front.post(CHAT, BODIES[CHAT], x_api_key=key) as response:
                return int(response.status)

        async with asyncio.timeout(20):
            for key, refused in (("nobody", b" 401 "), ("reader", b" 403 ")):
                reader, writer = await half(key)
                assert refused in await reader.readline()
                writer.close()
        assert await status("alice") == 200
        _, writer = await half("alice")

        async def full() -> bool:
            return await status("alice") == 429

        async def free() -> bool:
            return await status("alice") == 200

        await until(full, "the body has the place")
        assert await status("bob") == 200
        writer.close()
        await until(free, "the place is free")
