"""The benchmark's model server: tokens that say when they were sent, at their times, and who left early."""

import time
from pathlib import Path

import aiohttp
import pytest
from openai import AsyncOpenAI

from tokenmill.bench.model_server import MODEL, ModelServer, Seen
from tokenmill.errors import FatalError

pytestmark = pytest.mark.integration


def asked(prompt: str, tokens: int) -> dict[str, object]:
    """A request's body."""
    return {"model": MODEL, "messages": [{"role": "user", "content": prompt}], "max_tokens": tokens, "stream": True}


async def test_openai_s_sdk_reads_its_answers(tmp_path: Path) -> None:
    """Each token is a time, and none comes before the rate says; a connection serves one answer after the other."""
    with ModelServer(tmp_path, 50) as server:
        async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client:
            for _ in range(2):
                asked_at = time.time() * 1e6
                stream = await client.chat.completions.create(**asked("hello", 5))  # type: ignore[call-overload] # fields
                texts = [chunk.choices[0].delta.content async for chunk in stream]
        seen = server.seen()
    times = [int(text) for text in texts if text]
    assert len(times) == 5
    assert times[0] <= time.time() * 1e6
    assert all(
        at > asked_at + number * 20_000 - 1_000 for number, at in enumerate(times)
    )  # timers may be early by 1 ms
    assert seen == Seen(generations=2, running=0, tokens=10)


async def test_who_leaves_early_is_written_down(tmp_path: Path) -> None:
    """By the prompt, with the time; nobody else is."""
    with ModelServer(tmp_path, 50) as server:
        async with aiohttp.ClientSession() as session:
            async with session.post(f"{server.url}/v1/chat/completions", json=asked("long", 1_000)) as answer:
                await answer.content.readline()
                left = time.time() * 1e6
            async with session.post(f"{server.url}/v1/chat/completions", json=asked("short", 1)) as answer:
                assert (await answer.read()).endswith(b"data: [DONE]\n\n")
        seen = server.seen()  # asked on a connection that came later than the end of the other
    assert seen.closed.keys() == {"long"}
    assert seen.closed["long"] >= left - 1_000
    assert seen.running == 0


def test_one_that_is_gone_is_told_of(tmp_path: Path) -> None:
    """Its figures would be missing."""
    server = ModelServer(tmp_path, 0)
    with server:
        server.kill()
        with pytest.raises(FatalError, match="does not answer"):
            server.seen()
