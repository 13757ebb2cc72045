"""Answers that are stopped from a front."""

from typing import cast

import msgspec
import pytest

from tests.support.topics import make_topics, read_topic
from tests.support.written import PARTITION, Written
from tokenmill.apis.record import StoppedRecord, read_request
from tokenmill.codecs import Chunk
from tokenmill.config import Kafka
from tokenmill.front.stops import Stops
from tokenmill.gateway.ingest.in_flight import unavailable
from tokenmill.gateway.ingest.producer import Producer
from tokenmill.gateway.problems import Refused
from tokenmill.records import Headers

pytestmark = pytest.mark.integration


class Sending(Written):
    """A producer that sends one record at a time."""

    async def send(self, topic: str, key: bytes, value: bytes, headers: Headers = ()) -> None:
        await (await self.put(topic, PARTITION, key, value, headers)).placed()


async def test_an_answer_is_stopped_by_a_record_of_its_conversation(kafka: str, unique: str) -> None:
    """A chunk of no text, which every worker reads whatever its codec is; and one beside its request."""
    tokens, requests = f"tokens-{unique}", f"requests-{unique}"
    await make_topics(kafka, tokens, requests, partitions=1)
    producer = Producer(Kafka(bootstrap_servers=kafka), [tokens, requests])
    await producer.start()
    try:
        stops = Stops(producer, tokens, requests)
        await stops.stop("chat 7/é", "m")
        await stops.abandon("chat 7/é", "n")
    finally:
        await producer.stop()
    written = await read_topic(kafka, tokens)
    for record, message in zip(written, ("m", "n"), strict=True):
        assert record.key == "chat 7/é".encode()
        assert msgspec.json.decode(record.value, type=Chunk) == Chunk(message_id=message, control="cancel")
        assert dict(record.headers) == {"tm-codec": b"native"}
    noted = [(record.key.decode(), read_request(record.value)) for record in await read_topic(kafka, requests)]
    assert noted == [("chat 7/é", StoppedRecord("m")), ("chat 7/é", StoppedRecord("n", abandoned=True))]


async def test_half_of_a_stop_is_the_half_that_callers_and_fronts_see() -> None:
    """The other one alone would end the message, and the same request would be given half of an answer for all."""
    written = Sending()
    stops = Stops(cast(Producer, written), "tokens", "requests")
    written.refusals[1] = unavailable("Kafka: no")
    with pytest.raises(Refused):
        await stops.abandon("c", "m")
    assert [record.topic for record in written.records] == ["requests", "tokens"]
