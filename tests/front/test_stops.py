"""Answers that are stopped from a front."""

import msgspec
import pytest

from tests.support.topics import make_topics, read_topic
from tokenmill.apis.record import StoppedRecord, read_request
from tokenmill.codecs import Chunk
from tokenmill.config import Kafka
from tokenmill.front.stops import Stops
from tokenmill.gateway.ingest.producer import Producer

pytestmark = pytest.mark.integration


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
