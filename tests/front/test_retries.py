"""Requests that come again: which answer they get, and when they are asked as new ones."""

import asyncio
from functools import partial
from typing import Any

import pytest

from tests.front.test_posts import BODIES, CHAT, text_of
from tests.support.fronts import Asked, FrontStage, answered, fronting, told
from tests.support.stage import until
from tokenmill.config import Gateway
from tokenmill.front import readers

pytestmark = pytest.mark.integration

HEL: dict[str, Any] = {"open": {"format": "plain", "model": "m"}, "delta": "Hel"}


async def leaves(front: FrontStage, path: str, *, stream: bool, **headers: str) -> None:
    """Ask, and go away when the answer has begun."""

    async def reading() -> None:
        async with front.post(path, BODIES[path] | {"stream": stream}, **headers) as response:
            await response.content.readany()

    before = len(front.asked)
    asking = asyncio.create_task(reading())
    await until(lambda: len(front.asked) > before, "it is asked for")
    if stream:
        await asking
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


@pytest.mark.parametrize("path", [CHAT, "/v1/messages"])
async def test_an_answer_that_lost_its_readers_is_asked_for_again(
    path: str, kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether its client comes back by a key or as an SDK does: the beginning of an answer looks like all of one."""
    monkeypatch.setattr(readers, "ANSWER_S", 0.05)

    async def half(asked: Asked) -> None:
        if asked.record.attempt:
            await answered(asked)
            return
        await asked.say(HEL)
        await until(lambda: asked.record.message_id in front.cancelled, "it is stopped")
        await asked.say({"control": "cancel"})

    async with fronting(kafka, unique, half, disconnect_s=0.05) as front:
        for again in ({"x_stainless_retry_count": "1"}, {"idempotency_key": "whole"}, {"idempotency_key": "stream"}):
            stream = "stream" in again.values()
            await leaves(front, path, stream=stream, **(again if "idempotency_key" in again else {}))
            left = front.asked[-1].record
            await until(partial(front.cancelled.__contains__, left.message_id), "it is stopped")
            for _ in range(2):
                async with front.post(path, BODIES[path] | {"stream": stream}, **again) as response:
                    assert response.status == 200
                    if stream:
                        assert b"there." in await response.read()
                    else:
                        assert text_of(path, await response.json()) == "Hello there."
            assert (front.asked[-1].record.attempt, front.asked[-1].record.message_id != left.message_id) == (1, True)
    assert len(front.asked) == 6


async def test_an_answer_that_a_client_stopped_is_not_asked_for_again(kafka: str, unique: str) -> None:
    """It is what there is of it, for whoever asks with the same key."""

    async def stopped(asked: Asked) -> None:
        await asked.say(HEL)
        await until(lambda: asked.record.message_id in front.cancelled, "it is stopped")
        await asked.say({"control": "cancel"})

    body = BODIES["/v1/responses"] | {"stream": True}
    async with fronting(kafka, unique, stopped) as front:
        async with front.post("/v1/responses", body, idempotency_key="k") as response:
            identity = response.headers["tm-message-id"]
            async with front.post(f"/v1/responses/{identity}/cancel", b"") as cancelled:
                assert (await cancelled.json())["status"] == "cancelled"
        async with front.post("/v1/responses", body, idempotency_key="k") as again:
            found = (await told(again))[-1]
        assert isinstance(found, dict)
        assert (found["response"]["id"], found["response"]["status"]) == (identity, "cancelled")
        assert len(front.asked) == 1


async def test_a_retry_may_come_as_late_as_the_answer(kafka: str, unique: str) -> None:
    """An answer in one piece brings no byte before its end. One that has been over for longer is not meant."""
    go = asyncio.Event()

    async def wait(asked: Asked) -> None:
        await asked.say(HEL)
        await go.wait()
        await asked.say({"delta": "lo"}, {"finish_reason": "stop"})

    async with fronting(kafka, unique, wait, retry_s=0.001) as front:
        await leaves(front, CHAT, stream=True)
        body = BODIES[CHAT] | {"stream": True}
        async with front.post(CHAT, body, x_stainless_retry_count="1") as again:
            go.set()
            assert (await told(again))[-1] == "[DONE]"
        async with front.post(CHAT, body, x_stainless_retry_count="2") as later:
            assert (await told(later))[-1] == "[DONE]"
        first, second = (asked.record for asked in front.asked)
        assert (again.headers["tm-message-id"], later.headers["tm-message-id"]) == (first.message_id, second.message_id)
        assert (first.attempt, second.attempt) == (0, 0)


async def test_who_has_no_name_gets_no_other_s_answer(kafka: str, unique: str) -> None:
    """Retries are found by the client's name, and conversations that no client names are made from it: clients without
    one would share both.
    """
    gateway = Gateway(auth="function", function="tests.support.fronts:anonymous", flush_ms=1)
    async with fronting(kafka, unique, gateway=gateway) as front:
        for conversation, status in (("", 403), ("open-1", 200), ("", 403)):
            named = {"x_conversation_id": conversation, "x_stainless_retry_count": "1"}
            async with front.post(CHAT, BODIES[CHAT], **named) as response:
                assert response.status == status
        assert [asked.conversation for asked in front.asked] == ["open-1"]
