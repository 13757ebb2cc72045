"""Stops answers: writes two records, whichever caller runs the answer.

At the record on `tokens`, the worker ends the message. The record on `requests` is for a caller that has not begun the
answer yet, and for fronts that get the same request again.
"""

import msgspec

from tokenmill.apis.record import StoppedRecord
from tokenmill.codecs import Chunk
from tokenmill.gateway.ingest.native_chunks import NATIVE
from tokenmill.gateway.ingest.producer import Producer


class Stops:
    """Writes the records that stop answers."""

    def __init__(self, producer: Producer, tokens: str, requests: str) -> None:
        """`tokens` and `requests` are the names of the topics."""
        self._producer = producer
        self._tokens = tokens
        self._requests = requests

    async def stop(self, conversation: str, message_id: str) -> None:
        """Stop an answer for all readers, at a client's request. A repeated stop has no effect. Raises `Refused`."""
        await self._write(conversation, StoppedRecord(message_id))

    async def abandon(self, conversation: str, message_id: str) -> None:
        """Stop an answer because it has no reader, so that a repeated request asks for it again. Raises `Refused`."""
        await self._write(conversation, StoppedRecord(message_id, abandoned=True))

    async def _write(self, conversation: str, record: StoppedRecord) -> None:
        key, chunk = conversation.encode(), Chunk(message_id=record.message_id, control="cancel")
        await self._producer.send(self._requests, key, msgspec.json.encode(record))
        await self._producer.send(self._tokens, key, msgspec.json.encode(chunk), [NATIVE])
