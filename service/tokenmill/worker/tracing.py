"""Spans of messages that are part of a trace: one for each, from its first record to its end.

A span for each batch would show more, but that is one for each token where answers come slowly. Nothing of a span is
kept while its message is open, so it needs no state: a message that another worker began gets its span, too.
"""

from aiokafka import TopicPartition

from tokenmill.dialects.dialect import FAILURES
from tokenmill.observe.telemetry import Telemetry, Value
from tokenmill.partition.trace_context import EndedMessage


def record_span(telemetry: Telemetry, ended: EndedMessage, source: TopicPartition) -> None:
    """Record the span of a message that has ended; `source` is where it was read."""
    if not telemetry.on:
        return
    envelope, finish = ended.envelope, ended.finish
    about: dict[str, Value] = {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": source.topic,
        "messaging.destination.partition.id": str(source.partition),
        "gen_ai.conversation.id": envelope.conversation_id,
        "gen_ai.response.id": envelope.message_id,
        "gen_ai.response.finish_reasons": [finish.reason],
        "tokenmill.format": list(ended.formats),
        "tokenmill.events": ended.events,
    }
    if finish.reason in FAILURES:
        about["error.type"] = finish.reason
    telemetry.past(f"process {source.topic}", "consumer", ended.trace_context, about, envelope.created, ended.time)
