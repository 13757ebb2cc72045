"""Spans of messages that a worker has parsed."""

from typing import Any

import pytest
from aiokafka import TopicPartition
from opentelemetry.trace import SpanKind, StatusCode

from tests.partition.logs import record
from tests.support.spans import HEADERS, PARENT, TRACE, Kept, ids_of
from tokenmill.observe.telemetry import NO_TELEMETRY
from tokenmill.partition import Partition, PartitionSettings
from tokenmill.partition.trace_context import EndedMessage
from tokenmill.records import InputRecord, Output
from tokenmill.worker.tracing import record_span

SOURCE = TopicPartition("tokens", 3)


def ended(*chunks: dict[str, Any], traced: bool = True) -> list[EndedMessage]:
    """Return what a partition reports of messages that have ended; these chunks are their records."""
    partition, out = Partition(PartitionSettings(), "tokens", 3), list[Output]()
    headers: dict[str, Any] = {"traceparent": HEADERS[0][1].decode()} if traced else {}
    records: list[InputRecord] = [record(offset, chunk, **headers) for offset, chunk in enumerate(chunks)]
    partition.process(records, out)
    return partition.drain().ended


def test_a_message_is_a_span_from_its_first_record_to_its_end() -> None:
    """It has the conversation and how the message ended, and nothing of its text."""
    kept = Kept()
    (message,) = ended(
        {"message_id": "m", "open": {"format": "hermes"}, "delta": "a secret"}, {"message_id": "m", "end": True}
    )
    record_span(kept.telemetry, message, SOURCE)
    span = kept.only
    assert (span.name, span.kind, ids_of(span)) == ("process tokens", SpanKind.CONSUMER, (TRACE, PARENT))
    assert (span.start_time, span.end_time) == (1_000_000_000, 1_001_000_000)
    assert dict(span.attributes or {}) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "tokens",
        "messaging.destination.partition.id": "3",
        "gen_ai.conversation.id": "c",
        "gen_ai.response.id": "m",
        "gen_ai.response.finish_reasons": ("stop",),
        "tokenmill.format": ("hermes",),
        "tokenmill.events": 5,
    }
    assert "secret" not in span.to_json()


def test_each_choice_has_its_span() -> None:
    """As each has its own end; one that failed has an error."""
    kept = Kept()
    for message in ended(
        {"message_id": "m", "delta": "a"},
        {"message_id": "m", "choice": 1, "delta": "b"},
        {"message_id": "m", "end": True},
        {"message_id": "m", "choice": 1, "error": "broken", "finish_reason": "error", "end": True},
    ):
        record_span(kept.telemetry, message, SOURCE)
    assert [span.status.status_code for span in kept.spans] == [StatusCode.UNSET, StatusCode.ERROR]
    assert [(span.attributes or {}).get("error.type") for span in kept.spans] == [None, "error"]


@pytest.mark.parametrize("chunks", [({"message_id": "m", "delta": "a", "end": True},)])
def test_nothing_is_kept_of_messages_without_a_trace(chunks: tuple[dict[str, Any], ...]) -> None:
    """Nor recorded where telemetry is off."""
    assert ended(*chunks, traced=False) == []
    (message,) = ended(*chunks)
    record_span(NO_TELEMETRY, message, SOURCE)
