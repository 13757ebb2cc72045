"""Output records that are CloudEvents, judged by the standard's own library; that of JavaScript is in tests/judges."""

from typing import Any, get_args

import msgspec
import pytest
from cloudevents.core.bindings.kafka import KafkaMessage, from_kafka
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from tests.partition.logs import log, record, run
from tests.partition.test_outputs import CALL, OPEN, output
from tokenmill.limits import KEY_BYTES
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.partition.cloud_events import CLOUD_EVENT_BYTES, Mode
from tokenmill.records import Output

MODES: tuple[Mode, ...] = get_args(Mode)
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def read(record: Output) -> Any:
    """As a reader with the standard's library has it."""
    message = KafkaMessage(dict(record.headers), record.key, record.value or b"")
    return from_kafka(message, JSONFormat(), CloudEvent)


@pytest.mark.parametrize("mode", MODES)
def test_a_record_is_an_event_of_the_standard(mode: Mode) -> None:
    """Its attributes hold its type and source, and its data is the event."""
    plain, bound = (
        output({"message_id": "m", "delta": "a"}, specs=(OutputSpec("events", cloudevents=each),))
        for each in (None, mode)
    )
    event = read(bound[1])
    assert {name: str(value) for name, value in event.get_attributes().items()} == {
        "specversion": "1.0",
        "id": "m/1000/0/1/1",
        "source": "/topics/events/conversations/c",
        "type": "tokenmill.text-start.v1",
        "subject": "c",
        "time": "1970-01-01 00:00:01+00:00",
        "datacontenttype": "application/json",
        "partitionkey": "c",
        "sequence": "0000000001",
    }
    assert event.get_data() == msgspec.json.decode(plain[1].value or b"")


def test_binary_leaves_the_payload_and_the_other_headers_as_they_are() -> None:
    """Readers that don't use the standard are not affected."""
    plain, bound = (
        output(OPEN | {"delta": "a" + CALL, "end": True}, specs=(OutputSpec("events", cloudevents=mode),))
        for mode in (None, "binary")
    )
    assert [each.value for each in bound] == [each.value for each in plain]
    for with_more, each in zip(bound, plain, strict=True):
        assert with_more.headers[: len(each.headers)] == each.headers


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("dialect", "last"), [("openai", "[DONE]"), ("ai_sdk_ui", "[DONE]"), ("agent", None)])
def test_every_payload_has_an_id_of_its_own(mode: Mode, dialect: str, last: str | None) -> None:
    """Even if an event is several payloads, or one of them is not JSON."""
    chunks = (
        OPEN | {"delta": "a" + CALL},
        {"message_id": "m", "choice": 1, "delta": "b"},
        {"message_id": "m", "end": True},
        {"message_id": "m", "choice": 1, "end": True},
    )
    found = [read(each) for each in output(*chunks, specs=(OutputSpec("wire", dialect, cloudevents=mode),))]
    assert len({event.get_id() for event in found}) == len(found) >= 5
    assert [event.get_data() for event in found if isinstance(event.get_data(), str)][-1:] == [last] * bool(last)


def test_the_trace_goes_on() -> None:
    """As the standard's extension for it."""
    state = Partition(PartitionSettings(outputs=(OutputSpec("events", cloudevents="structured"),)), "tokens", 3)
    out = run(state, [record(0, {"message_id": "m", "delta": "a"}, traceparent=TRACE)])
    assert {read(each).get_extension("traceparent") for each in out} == {TRACE}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("time", [253_402_300_800_000, -62_135_596_800_001, 2**63 - 1, -(2**63)])
def test_a_time_that_no_calendar_has_is_left_out(mode: Mode, time: int) -> None:
    """A producer may send any, and no record may end the worker; the standard requires none."""
    state = Partition(PartitionSettings(outputs=(OutputSpec("events", cloudevents=mode),)), "tokens", 3)
    out = run(state, [msgspec.structs.replace(record(0, {"message_id": "m", "delta": "a"}), timestamp=time)])
    said = dict(out[0].headers) if mode == "binary" else msgspec.json.decode(out[0].value or b"")
    assert said.keys().isdisjoint({"ce_time", "time"})  # where none is said, the library says that of now
    assert read(out[0]).get_subject() == "c"


def test_a_message_without_state_has_ids_too() -> None:
    """Its events have no position."""
    settings = PartitionSettings(outputs=(OutputSpec("events", cloudevents="binary"),))
    records = log({"message_id": "m", "delta": "1"}, {"message_id": "m", "delta": "2"})
    before, after, announced = Partition(settings, "tokens", 3), Partition(settings, "tokens", 3), list[Output]()
    run(before, records)
    after.begin_replay(before.mark(), lossy=True)
    run(after, records[1:])
    after.end_replay(announced)
    assert [read(each).get_id().split("/", 2)[2] for each in announced] == ["0/error-1001/1", "0/finish-1001/1"]
    assert {read(each).get_extension("sequence") for each in announced} == {None}


@pytest.mark.parametrize("mode", MODES)
def test_the_attributes_fit_in_what_is_kept_for_them(mode: Mode) -> None:
    """However long the ids are, and whatever is in them."""
    worst = "\x01" * (KEY_BYTES - 1)
    plain, bound = (
        run(
            Partition(PartitionSettings(outputs=(OutputSpec("events", cloudevents=each),)), "tokens", 3),
            [record(0, {"message_id": worst, "delta": "a"}, key=worst.encode())],
        )
        for each in (None, mode)
    )
    assert plain
    for less, more in zip(plain, bound, strict=True):
        assert size(less) < size(more) < size(less) + CLOUD_EVENT_BYTES


def size(record: Output) -> int:
    return len(record.value or b"") + sum(len(name) + len(value) for name, value in record.headers)
