"""Requests that aiokafka lacks: which log a topic is, who leads it since when, and who wrote what was fetched.

Only this file depends on how aiokafka writes its requests (`aiokafka.protocol`); its client connects, logs in and waits
as for its own, and reports which versions a broker knows. The newest that both know is used:

    Metadata              v10     ids of topics (KIP-516); v7 epochs of leaders (KIP-320); v2 the id of the cluster
    ListOffsets           v5      only the leader of the epoch that is named answers; v2 any that believes to lead
    OffsetsForLeaderEpoch v3, v2  where the records of an epoch end
"""

import struct
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

from aiokafka.errors import IncompatibleBrokerVersion
from aiokafka.protocol.api import RequestStruct, Response
from aiokafka.protocol.types import (
    Array,
    Boolean,
    CompactArray,
    CompactString,
    Int8,
    Int16,
    Int32,
    Int64,
    Schema,
    String,
    TaggedFields,
)

from tokenmill.partition import UNKNOWN_EPOCH

FETCH, LIST_OFFSETS, METADATA, EPOCH_ENDS = 1, 2, 3, 23
"""Keys of requests."""

WITH_EPOCHS, WITH_IDS = 7, 10
"""First versions of metadata in which leaders have epochs, and topics ids."""

END, BEGINNING = -1, -2
"""In place of a timestamp, where offsets are asked for."""

_CONSUMER = -1
"""Replica id of a client, which is not a replica."""


class Ask:
    """A request in several versions. aiokafka has the broker's versions and asks for the one to send."""

    def __init__(self, *ways: tuple[Any, Sequence[Any]]) -> None:
        """Requests and what is in them, the newest first; all have the same key."""
        self._ways = ways

    def prepare(self, versions: Mapping[int, tuple[int, int]]) -> Any:
        """Return the request in the newest version that the broker knows. Raises `IncompatibleBrokerVersion`."""
        for request, content in self._ways:
            least, most = versions.get(request.API_KEY, (0, -1))
            if least <= request.API_VERSION <= most:
                return request(*content)
        raise IncompatibleBrokerVersion(f"the broker does not know request {self.key}")

    @property
    def key(self) -> int:
        """The request's."""
        return int(self._ways[0][0].API_KEY)


def _request(key: int, version: int, asked: Schema, answered: Schema, *, flexible: bool = False) -> Any:
    numbers = {"API_KEY": key, "API_VERSION": version}
    response = type("Answer", (Response,), {**numbers, "SCHEMA": answered})
    fields = {**numbers, "SCHEMA": asked, "RESPONSE_TYPE": response, "FLEXIBLE_VERSION": flexible}
    return type("Question", (RequestStruct,), fields)


class _Uuid:
    """16 bytes, as Kafka's tools print them; empty for none."""

    @staticmethod
    def encode(_: str) -> bytes:
        """Only the null id: topics are asked for by name."""
        return bytes(16)

    @staticmethod
    def decode(data: BytesIO) -> str:
        """The id."""
        found = data.read(16)
        return urlsafe_b64encode(found).decode().rstrip("=") if any(found) else ""


_TEXT = String("utf-8")
_COMPACT = CompactString("utf-8")
_TAGS = ("tags", TaggedFields)
_NUMBER = ("partition", Int32)
_ERROR = ("error_code", Int16)
_EPOCH = ("leader_epoch", Int32)
_CURRENT = ("current_leader_epoch", Int32)
_THROTTLE = ("throttle_time_ms", Int32)
_REPLICA = ("replica_id", Int32)


def _of_topics(*partition: Any) -> tuple[str, Any]:
    """Topics by name, each with fields of its partitions."""
    return "topics", Array(("topic", _TEXT), ("partitions", Array(*partition)))


# Metadata

_BROKERS = ("brokers", Array(("node_id", Int32), ("host", _TEXT), ("port", Int32), ("rack", _TEXT)))
_CLUSTER = ("cluster_id", _TEXT), ("controller_id", Int32)
_LEADER = _ERROR, _NUMBER, ("leader", Int32)
_REPLICAS = ("replicas", Array(Int32)), ("isr", Array(Int32))


def _described(*partition: Any) -> tuple[str, Any]:
    return "topics", Array(_ERROR, ("topic", _TEXT), ("is_internal", Boolean), ("partitions", Array(*partition)))


_METADATA_2 = _request(
    METADATA, 2, Schema(("topics", Array(_TEXT))), Schema(_BROKERS, *_CLUSTER, _described(*_LEADER, *_REPLICAS))
)
_METADATA_7 = _request(
    METADATA,
    WITH_EPOCHS,
    Schema(("topics", Array(_TEXT)), ("allow_auto_topic_creation", Boolean)),
    Schema(
        _THROTTLE,
        _BROKERS,
        *_CLUSTER,
        _described(*_LEADER, _EPOCH, *_REPLICAS, ("offline_replicas", Array(Int32))),
    ),
)
_METADATA_10 = _request(
    METADATA,
    WITH_IDS,
    Schema(
        ("topics", CompactArray(("topic_id", _Uuid()), ("topic", _COMPACT), _TAGS)),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_authorized_operations", Boolean),
        ("include_topic_authorized_operations", Boolean),
        _TAGS,
    ),
    Schema(
        _THROTTLE,
        ("brokers", CompactArray(("node_id", Int32), ("host", _COMPACT), ("port", Int32), ("rack", _COMPACT), _TAGS)),
        ("cluster_id", _COMPACT),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                _ERROR,
                ("topic", _COMPACT),
                ("topic_id", _Uuid()),
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        *_LEADER,
                        _EPOCH,
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline_replicas", CompactArray(Int32)),
                        _TAGS,
                    ),
                ),
                ("authorized_operations", Int32),
                _TAGS,
            ),
        ),
        ("cluster_authorized_operations", Int32),
        _TAGS,
    ),
    flexible=True,
)


def metadata(topic: str) -> Ask:
    """Ask what a broker knows of one topic now. A missing topic is not made, where the version has that option."""
    return Ask(
        (_METADATA_10, ([("", topic, {})], False, False, False, {})),
        (_METADATA_7, ([topic], False)),
        (_METADATA_2, ([topic],)),
    )


# Offsets

_OFFSET = _NUMBER, _ERROR, ("timestamp", Int64), ("offset", Int64)

_LIST_OFFSETS_2 = _request(
    LIST_OFFSETS,
    2,
    Schema(_REPLICA, ("isolation_level", Int8), _of_topics(_NUMBER, ("timestamp", Int64))),
    Schema(_THROTTLE, _of_topics(*_OFFSET)),
)
_LIST_OFFSETS_5 = _request(
    LIST_OFFSETS,
    5,
    Schema(_REPLICA, ("isolation_level", Int8), _of_topics(_NUMBER, _CURRENT, ("timestamp", Int64))),
    Schema(_THROTTLE, _of_topics(*_OFFSET, _EPOCH)),
)


def list_offsets(topic: str, epochs: Mapping[int, int], place: int) -> Ask:
    """Ask for `END` or `BEGINNING` of partitions that one broker leads, each with the epoch of its leadership.

    Ends are those of the log, open transactions included.
    """
    return Ask(
        (_LIST_OFFSETS_5, (_CONSUMER, 0, [(topic, [(number, epoch, place) for number, epoch in epochs.items()])])),
        (_LIST_OFFSETS_2, (_CONSUMER, 0, [(topic, [(number, place) for number in epochs])])),
    )


_EPOCH_END = Schema(_THROTTLE, _of_topics(_ERROR, _NUMBER, _EPOCH, ("end_offset", Int64)))

_EPOCH_ENDS_2 = _request(EPOCH_ENDS, 2, Schema(_of_topics(_NUMBER, _CURRENT, _EPOCH)), _EPOCH_END)
_EPOCH_ENDS_3 = _request(EPOCH_ENDS, 3, Schema(_REPLICA, _of_topics(_NUMBER, _CURRENT, _EPOCH)), _EPOCH_END)


def epoch_ends(topic: str, epochs: Mapping[int, tuple[int, int]]) -> Ask:
    """Ask where the records of an epoch end, or if there are none, those of the last one before it.

    By partition, of those that one broker leads: the epoch of its leadership, and the one whose end is asked for.
    """
    asked = [(topic, [(number, *pair) for number, pair in epochs.items()])]
    return Ask((_EPOCH_ENDS_3, (_CONSUMER, asked)), (_EPOCH_ENDS_2, (asked,)))


# What was fetched

_BATCH = struct.Struct(">qiib")
"""Beginning of a record batch: its first offset, the length of what follows, the epoch of its leader, its version."""

_NOT_COUNTED = 12
"""Bytes of offset and length, which the length leaves out."""

_BATCH_WITH_EPOCH = 2
"""First version of batches that have an epoch."""


def fetched(response: Any) -> Iterator[tuple[str, int, bytes]]:
    """Yield topic, partition and record batches of the answer to a fetch; of any other answer nothing."""
    if response.API_KEY == FETCH:
        for topic, partitions in response.topics:
            for number, *_, batches in partitions:
                if batches:
                    yield topic, number, batches


def epochs_of(batches: bytes) -> Iterator[tuple[int, int]]:
    """Yield first offset and leader's epoch of fetched record batches, where the epoch changes.

    The last one may be cut off; it comes again with the next fetch.
    """
    at, before = 0, UNKNOWN_EPOCH
    while at + _BATCH.size <= len(batches):
        offset, length, epoch, version = _BATCH.unpack_from(batches, at)
        if version >= _BATCH_WITH_EPOCH and epoch != before:
            yield offset, epoch
            before = epoch
        at += _NOT_COUNTED + length
