"""Payloads from native events alone."""

from typing import Any

import msgspec
import pytest

from tests.support.every import every
from tests.support.scenarios import SCENARIOS, STARTED_MS, Scenario, rendered
from tokenmill.dialects import DIALECTS, Renderer, find_dialect
from tokenmill.events import AnyEvent, Error, Event, Finish, MessageStart, Request, TextDelta, ToolCall, decode_event
from tokenmill.limits import Limits
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

EVERY = [pytest.param(dialect.name, id=dialect.name) for dialect in DIALECTS]
GROWING = [pytest.param({}, id="default"), pytest.param({"stream_tool_input": True}, id="growing")]


def told(dialect: str, events: list[AnyEvent]) -> list[bytes]:
    """What a reader of the topic makes of events."""
    renderer = Renderer(find_dialect(dialect))
    return [payload for event in events for payload in renderer.render(event)]


@pytest.mark.parametrize("options", GROWING)
@pytest.mark.parametrize("dialect", EVERY)
def test_a_reader_of_the_events_writes_what_the_worker_wrote(dialect: str, options: dict[str, Any]) -> None:
    """Byte for byte, whatever befell the message."""
    asked = {"provider": "acme", "id_prefix": "p:", "conversation_hash": "h", **options}

    def check(scenario: str) -> None:
        done = rendered(SCENARIOS[scenario], dialect, **asked)
        assert told(dialect, done.events) == done.payloads

    every(SCENARIOS, check, str)


@pytest.mark.parametrize("dialect", EVERY)
def test_an_event_that_is_too_large_is_an_error_for_all(dialect: str) -> None:
    """Readers of native events were told of a limit, so all are."""
    arguments = '{"a": "' + "x" * 30_000 + '"}'
    call = f'<tool_call>{{"name": "f", "arguments": {arguments}}}</tool_call>'
    scenario = Scenario(
        [{"delta": call}, {"finish_reason": "stop", "usage": {"n": "y" * 9_000}}],
        {"format": "hermes", "stream_tool_input": False},
        Limits(output_bytes=24_000),
    )
    done = rendered(scenario, dialect)
    assert [event.type for event in done.events] == ["message-start", "error", "finish"]
    assert told(dialect, done.events) == done.payloads


@pytest.mark.parametrize("dialect", EVERY)
def test_messages_side_by_side(dialect: str) -> None:
    """Choices and messages are told apart, an id that is used again begins anew, and a choice says what is left."""
    settings = PartitionSettings(outputs=(OutputSpec("events"), OutputSpec("wire", dialect)), dlq="dlq")
    partition, out = Partition(settings, "tokens", 0), list[Output]()
    chunks = [
        {"message_id": "a", "open": {"model": "m"}, "delta": "one"},
        {"message_id": "a", "choice": 1, "delta": "two"},
        {"message_id": "b", "delta": "three"},
        {"message_id": "a", "control": "cancel"},
        {"message_id": "b", "delta": " four", "end": True},
        {"message_id": "b", "open": {"model": "other"}, "delta": "again", "end": True},
    ]
    for offset, chunk in enumerate(chunks):
        partition.process([InputRecord("tokens", 0, offset, STARTED_MS, b"c", msgspec.json.encode(chunk))], out)
    events = [decode_event(each.value or b"") for each in out if each.topic == "events"]
    assert told(dialect, events) == [each.value for each in out if each.topic == "wire"]
    assert [event.choices_left for event in events if isinstance(event, Finish)] == [1, 0, 0, 0]


@pytest.mark.parametrize("dialect", EVERY)
def test_a_message_whose_state_was_lost(dialect: str) -> None:
    """Its last events have no `seq` and are rendered without a state, whether its beginning is known or not."""
    lost: list[Event] = [Error("state-lost", "gone", conversation_id="c", message_id="m", time=7)]
    lost.append(Finish("error", conversation_id="c", message_id="m", time=7))
    begun = MessageStart("q", "plain", conversation_id="c", message_id="m", seq=0, time=5)
    known = Renderer(find_dialect(dialect))
    known.render(begun)
    unknown = Renderer(find_dialect(dialect))
    for event in lost:
        if dialect not in ("session", "agent"):  # they repeat the model or an id that has the time of the beginning
            assert known.render(event) == unknown.render(event)


def test_the_room_of_a_message_is_its_own() -> None:
    """What `message-start` says of it, and not what is the default where it is rendered."""
    renderer = Renderer(find_dialect("openai"))
    start = MessageStart("q", "plain", Request(payload_bytes=400), conversation_id="c", message_id="m", seq=0, time=5)
    assert renderer.render(start) == []
    large = ToolCall("i", "f", {"a": "x" * 500}, conversation_id="c", message_id="m", seq=1, time=5)
    assert all(len(payload) <= 400 for payload in renderer.render(large))
    small = TextDelta("t", "y", conversation_id="c", message_id="m", seq=2, time=5)
    assert b'"content":"y"' in renderer.render(small)[0]
