"""The benchmark's clients of answers: what they measure is what OpenAI's SDK does, and nothing is left out."""

import time
from pathlib import Path

import pytest
from msgspec.structs import replace
from openai import AsyncOpenAI

from tokenmill.bench.answer_clients import AnswerClients, Got, Job, sent_times
from tokenmill.bench.bare_server import BareServer
from tokenmill.bench.model_server import MODEL, ModelServer
from tokenmill.errors import FatalError

pytestmark = pytest.mark.integration

ALIKE_MS = 50
"""By how much the best of two ways to measure the same may differ: what is slow is so because of others."""


def measured(folder: Path, job: Job) -> Got:
    """What clients of a process of their own get."""
    with AnswerClients(folder, job) as clients:
        clients.begun()
        clients.over()
        return clients.got()


async def by_sdk(url: str, tokens: int) -> Got:
    """The same figures of the SDK's, of five answers one after the other."""
    got = Got()
    async with AsyncOpenAI(base_url=f"{url}/v1", api_key="x", max_retries=0) as client:
        for _ in range(5):
            asked, came = time.time(), len(got.token_ms)
            stream = await client.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": "hello"}], max_tokens=tokens, stream=True
            )
            async for chunk in stream:
                if text := chunk.choices[0].delta.content:
                    got.token_ms.append(time.time() * 1e3 - int(text) / 1e3)
                    if len(got.token_ms) == came + 1:
                        got.first_ms.append((time.time() - asked) * 1e3)
    return got


async def test_they_measure_what_the_sdk_does(tmp_path: Path) -> None:
    """One stream at the same server: as many tokens, the same times but for what the SDK itself takes."""
    with ModelServer(tmp_path, 50) as server:
        ours = measured(tmp_path, Job(server.port, clients=1, tokens=20, spread_s=0, warm_up_s=0.5, measured_s=2))
        sdk = await by_sdk(server.url, 20)
    assert len(sdk.token_ms) == 5 * 20
    assert 0 < min(ours.first_ms) == pytest.approx(min(sdk.first_ms), abs=ALIKE_MS)
    assert 0 < min(ours.token_ms) == pytest.approx(min(sdk.token_ms), abs=ALIKE_MS)


def test_a_header_is_no_token() -> None:
    """Its value may look like one; one event may have several tokens, joined."""
    head = b"HTTP/1.1 200 OK\r\nx-request-id: 3845924692380220\r\n\r\n"
    first = b'data: {"delta":{"content":" 1764352377000000"}}\n\n'
    joined = b'data: {"delta":{"content":" 1764352377000001 1764352377000002"}}\n\n'
    assert sent_times(head + first + joined) == [1764352377000000, 1764352377000001, 1764352377000002]


def test_all_clients_count_and_every_answer_ends(tmp_path: Path) -> None:
    """What comes before and after the time is not counted, but awaited."""
    with ModelServer(tmp_path, 100) as server:
        got = measured(tmp_path, Job(server.port, clients=10, tokens=10, spread_s=0.1, warm_up_s=0.1, measured_s=1))
        seen = server.seen()
    assert (seen.generations, seen.running) == (got.asked, 0)
    assert seen.tokens == got.asked * 10
    assert 0 < got.answers < got.asked
    assert 0 < len(got.token_ms) < seen.tokens
    assert 0 < len(got.first_ms) < got.asked
    assert 0.99 < got.seconds < 5  # a timer may be early by a millisecond, and late


def test_an_answer_that_lacks_tokens_fails_all(tmp_path: Path) -> None:
    """A rate of answers that are not whole would say nothing."""
    job = Job(0, clients=1, tokens=5, spread_s=0, warm_up_s=0.1, measured_s=60)
    with BareServer(tmp_path) as server, AnswerClients(tmp_path, replace(job, port=server.port)) as clients:
        clients.begun()
        server.kill()
        with pytest.raises(FatalError, match="clients failed"):
            clients.over()
