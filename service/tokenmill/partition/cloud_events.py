"""CloudEvents 1.0 on Kafka: how an output record describes itself by that standard.

Source: https://github.com/cloudevents/spec, `cloudevents/spec.md`, `bindings/kafka-protocol-binding.md`.

1. `binary` leaves the payload as it is and adds headers, so readers that don't use CloudEvents are not affected;
   `structured` puts the payload into a JSON object with the attributes around it.
2. `source` and `id` are made of the event's own content, never of an offset: a repeat has the same ones, which is how
   readers of CloudEvents recognize it.
3. `sequence` has ten digits, because it is ordered as text. Events of a message whose state was lost have none.
"""

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias
from urllib.parse import quote

import msgspec

from tokenmill.events import Event
from tokenmill.limits import KIB
from tokenmill.partition.message import Choice
from tokenmill.records import date_of

Mode: TypeAlias = Literal["binary", "structured"]

Headers: TypeAlias = list[tuple[str, bytes]]

Binding: TypeAlias = Callable[[dict[str, str], bytes], tuple[bytes, Headers]]
"""Turns attributes and a payload into the record's value and additional headers."""

TYPE = "tokenmill.{event}.v1"
"""Type of an event. The number is raised when readers of the data have to change."""

CLOUD_EVENT_BYTES = 24 * KIB
"""Bytes that the attributes take of a record at most. The conversation's id, of up to 1 KiB, is in three of them:
`source` may need three times as much for it, the others, in JSON, six times."""

_encode = msgspec.json.Encoder().encode


def attributes(event: Event, choice: Choice, topic: str, seq: int | None, part: int, time: int) -> dict[str, str]:
    """The attributes of one payload of an event; `part` counts its payloads from 1, `time` is in milliseconds."""
    envelope = choice.envelope
    opened, place = choice.opened_header[1].decode(), f"{event.type}-{time}" if seq is None else str(seq)
    given = {
        "specversion": "1.0",
        "id": f"{envelope.message_id}/{opened}/{choice.index}/{place}/{part}",
        "source": f"/topics/{topic}/conversations/{quote(envelope.conversation_id, safe='')}",
        "type": TYPE.format(event=event.type),
        "subject": envelope.conversation_id,
        **_time(time),
        "partitionkey": envelope.conversation_id,
    }
    if seq is not None:
        given["sequence"] = f"{seq:010}"
    return given | {name: value.decode() for name, value in choice.trace_context}


def _time(time: int) -> dict[str, str]:
    """The time as an attribute; nothing for a time that no calendar has, because the attribute is optional."""
    said = date_of(time)
    return {} if said is None else {"time": said.isoformat(timespec="milliseconds").replace("+00:00", "Z")}


def _binary(given: dict[str, str], payload: bytes) -> tuple[bytes, Headers]:
    headers = [(f"ce_{name}", value.encode()) for name, value in given.items()]
    return payload, [("content-type", _content_type(payload).encode()), *headers]


def _structured(given: dict[str, str], payload: bytes) -> tuple[bytes, Headers]:
    kind = _content_type(payload)
    data = payload if kind == _JSON else _encode(payload.decode())
    head = _encode(given | {"datacontenttype": kind})
    return b'%b,"data":%b}' % (head[:-1], data), [("content-type", b"application/cloudevents+json; charset=UTF-8")]


_JSON = "application/json"


def _content_type(payload: bytes) -> str:
    """The payload's media type: JSON for all but the word that ends a stream in some dialects."""
    return _JSON if payload.startswith(b"{") else "text/plain"


BINDINGS: Mapping[Mode, Binding] = {"binary": _binary, "structured": _structured}
"""The standard's content modes that put one event in a record."""
