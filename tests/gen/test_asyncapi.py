"""The AsyncAPI document says what is on the topics; that it is one, its own parser says in `tests/judges`."""

import json
from typing import Any

import jsonschema_rs
import pytest

from tokenmill.codecs import CODECS
from tokenmill.config import Topics
from tokenmill.demo.samples import samples
from tokenmill.gen import asyncapi
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

DOCUMENT: dict[str, Any] = json.loads(asyncapi.document())

CHANNELS: dict[str, Any] = DOCUMENT["channels"]

TRACED = [("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), ("tracestate", b"a=1")]


def written(value: bytes) -> list[Output]:
    """What a worker writes of one record."""
    outputs = OutputSpec("events"), OutputSpec("tool-calls", events=frozenset({"tool-call"}), for_runners=True)
    partition, out = Partition(PartitionSettings(outputs=outputs), "tokens", 0), list[Output]()
    partition.process([InputRecord("tokens", 0, 0, 0, b"c", value, TRACED)], out)
    return out


def fits(output: Output) -> None:
    """Raises where a record is none of those that the document has for its topic."""
    (channel,) = (each for each in CHANNELS.values() if each["address"] == output.topic)
    event = json.loads(output.value or b"null")
    message = next(each for each in channel["messages"].values() if each.get("name", event["type"]) == event["type"])
    whole = message["payload"] | {"components": DOCUMENT["components"]}
    jsonschema_rs.validate(whole, event)
    assert {name for name, _ in output.headers} <= message["headers"]["properties"].keys()


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.name)
def test_what_a_worker_writes_is_in_it(sample: Any) -> None:
    """Payload and headers, of every format's sample."""
    chunk = {"message_id": "m", "open": sample.options, "delta": sample.text, "finish_reason": "stop"}
    out = written(json.dumps(chunk).encode())
    assert out != []
    for output in out:
        fits(output)


def test_what_can_not_be_used_is_in_it() -> None:
    """The headers of a dead letter."""
    (letter,) = written(b"nonsense")
    (message,) = CHANNELS["dlq"]["messages"].values()
    assert letter.topic == CHANNELS["dlq"]["address"]
    assert {name for name, _ in letter.headers} - {name for name, _ in TRACED} == message["headers"][
        "properties"
    ].keys()


def test_what_producers_write_is_in_it() -> None:
    """Records of the native codec."""
    schema = CHANNELS["tokens"]["messages"]["Chunk"]["payload"] | {"components": DOCUMENT["components"]}
    for record in CODECS[0].sample:
        jsonschema_rs.validate(schema, json.loads(record.value or b""))
    assert not jsonschema_rs.is_valid(schema, {"seq": "one"})


def test_topics_are_those_of_the_configuration() -> None:
    """Under their default names, each with what tokenmill does with it."""
    assert {name: each["address"] for name, each in CHANNELS.items()} == {
        name: getattr(Topics(), name) for name in CHANNELS
    }
    assert {each["action"] for each in DOCUMENT["operations"].values()} == {"send", "receive"}
    assert {each["channel"]["$ref"].rpartition("/")[2] for each in DOCUMENT["operations"].values()} == CHANNELS.keys()
