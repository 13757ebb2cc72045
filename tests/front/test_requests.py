"""A request and its record: which one counts, of those that mean the same."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from tests.support.topics import make_topics, read_topic
from tokenmill.apis import CHAT
from tokenmill.apis.record import ATTEMPTS, RequestRecord, own_prefix, read_request
from tokenmill.config import Front, Kafka
from tokenmill.front.identity import identify
from tokenmill.front.request_index import RequestIndex
from tokenmill.front.request_log import RequestLog
from tokenmill.front.requests import ApiRequest, Requests
from tokenmill.gateway.auth.grant import Grant
from tokenmill.gateway.ingest.producer import Producer
from tokenmill.gateway.problems import Refused

pytestmark = pytest.mark.integration

WEB = Grant("web", ("*",), frozenset({"write"}))


def asking(text: str = "hi", **headers: str) -> ApiRequest:
    """A request of the client `web`."""
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": text}]}
    ask, raw = CHAT.read(body), msgspec.json.encode(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ApiRequest(CHAT, ask, raw, identify(CHAT, ask, named, WEB.name, raw), WEB)


def again(text: str = "hi") -> ApiRequest:
    """The same, as an SDK sends it that tries again."""
    return asking(text, x_stainless_retry_count="1")


@asynccontextmanager
async def requests(kafka: str, topic: str, told: list[tuple[str, str]] | None = None) -> AsyncIterator[Requests]:
    """Of one front; `told`: answers of which another one says that somebody reads them."""
    settings, hears = Kafka(bootstrap_servers=kafka), list[tuple[str, str]]() if told is None else told
    index = RequestIndex(600, lambda *who: hears.append(who))
    log, producer = RequestLog(settings, topic, 600, index.take), Producer(settings, [topic])
    await producer.start()
    await log.start()
    reading = asyncio.create_task(log.run())
    try:
        yield Requests(Front(), topic, log, index, producer)
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        await log.stop()
        await producer.stop()


@pytest.fixture
async def topic(kafka: str, unique: str) -> str:
    """Of requests."""
    await make_topics(kafka, name := f"requests-{unique}", partitions=2)
    return name


async def test_a_request_without_a_key_is_known_by_who_tries_again(kafka: str, topic: str) -> None:
    """In the conversation that was made for it; the same without saying so is a new one."""
    async with requests(kafka, topic) as front:
        first = front.new(asking(), 0)
        assert await front.write(asking(), first) is first
        assert first.conversation.startswith(own_prefix("web"))
        known = await front.known(again())
        assert known is not None
        assert (known.message_id, known.conversation) == (first.message_id, first.conversation)
        assert await front.known(asking()) is None
        assert await front.known(again("other")) is None


async def test_what_a_client_tries_out_is_in_the_record(kafka: str, topic: str) -> None:
    """A caller says it to the server."""
    tries = asking()
    tries = msgspec.structs.replace(tries, identity=msgspec.structs.replace(tries.identity, betas="a-1,b-2"))
    async with requests(kafka, topic) as front:
        await front.write(tries, front.new(tries, 0))
    (record,) = await read_topic(kafka, topic)
    read = read_request(record.value)
    assert isinstance(read, RequestRecord)
    assert read.betas == "a-1,b-2"


async def test_of_two_with_a_key_the_first_in_the_log_counts(kafka: str, topic: str) -> None:
    """For both fronts that wrote one in the same moment, and for whoever comes later."""
    keyed = asking(idempotency_key="k")
    async with requests(kafka, topic) as here, requests(kafka, topic) as there:
        counts = await asyncio.gather(*(front.write(keyed, front.new(keyed, 0)) for front in (here, there)))
        ids = {known.message_id for known in counts}
        assert len(ids) == 1
        for front in (here, there):
            known = await front.known(keyed)
            assert known is not None
            assert {known.message_id} == ids


async def test_a_key_with_another_body_is_a_conflict(kafka: str, topic: str) -> None:
    """Also for who looked before the first one was there."""
    one, other = asking(idempotency_key="k"), asking("other", idempotency_key="k")
    async with requests(kafka, topic) as front:
        late = front.new(other, 0)
        await front.write(one, front.new(one, 0))
        with pytest.raises(Refused, match="another body"):
            await front.known(other)
        with pytest.raises(Refused, match="another body"):
            await front.write(other, late)


async def test_what_failed_is_asked_for_under_the_next_number(kafka: str, topic: str) -> None:
    """Which is the one that counts from then on; a key can't fail for ever."""
    keyed = asking(idempotency_key="k")
    async with requests(kafka, topic) as front:
        failed = await front.write(keyed, front.new(keyed, 0))
        second = await front.write(keyed, front.new(keyed, front.again(failed)))
        known = await front.known(keyed)
        assert known is not None
        assert (known.message_id, known.attempt) == (second.message_id, 1)
        with pytest.raises(Refused, match="send it with a new Idempotency-Key"):
            front.again(msgspec.structs.replace(known, attempt=ATTEMPTS - 1))


async def test_all_fronts_hear_of_a_second_reader(kafka: str, topic: str) -> None:
    """So that whoever lost the first one does not stop the answer; one that stays needs no reader."""
    told: list[tuple[str, str]] = []
    resumable = asking(tm_resumable="true")
    async with requests(kafka, topic) as here, requests(kafka, topic, told) as there:
        stays = await here.write(resumable, here.new(resumable, 0))
        await here.attached(stays)
        first = await here.write(asking(), here.new(asking(), 0))
        await here.attached(first)
        await there.known(again())
        assert told == [(first.conversation, first.message_id)]
