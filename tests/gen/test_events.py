"""The page of the events and the schemas agree with the structs."""

import json

import jsonschema_rs
import msgspec
import pytest

from tokenmill.codecs import CODECS
from tokenmill.events import EVENT_TYPES, Event, TextDelta
from tokenmill.gen import events


def test_every_event_is_on_the_page() -> None:
    """By its name on the wire."""
    page = events.page()
    assert all(f"## `{event.__struct_config__.tag}`" in page for event in EVENT_TYPES)


def test_the_schema_takes_an_event_and_refuses_what_is_none() -> None:
    """A client may check records with it."""
    schema = jsonschema_rs.validator_for(json.loads(events.schema()))
    event: Event = TextDelta(id="t0", delta="x", conversation_id="c", message_id="m", seq=0, time=1)
    assert schema.is_valid(json.loads(msgspec.json.encode(event)))
    assert not schema.is_valid({"type": "text-delta", "id": "t0"})
    assert not schema.is_valid({"type": "surprise"})


@pytest.mark.parametrize("value", [record.value for record in CODECS[0].sample])
def test_the_chunk_schema_takes_the_samples(value: bytes) -> None:
    """The native codec's own samples are valid chunks."""
    schema = jsonschema_rs.validator_for(json.loads(events.chunk_schema()))
    assert schema.is_valid(json.loads(value))
    assert not schema.is_valid({"seq": "one"})
