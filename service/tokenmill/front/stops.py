"""Stops an answer, whoever writes it, by two records.

The worker ends the message at the record on `tokens`. A caller that has not begun the answer yet, and fronts that are
asked for it again, see the one on `requests`.
"""

import msgspec

from tokenmill.apis.record import StoppedRecord
from tokenmill.codecs import Chunk
from tokenmill.gateway.ingest.native_chunks import NATIVE
from tokenmill.gateway.ingest.producer import Producer


class Stops:
    """Writes the records that stop answers."""

    def __init__(self, producer: Producer, tokens: str, requests: str) -> None:
        """`tokens` is the topic of chunks, `requests` that of requests."""
        self._producer = producer
        self._tokens = tokens
        self._requests = requests

    async def stop(self, conversation: str, message_id: str) -> None:
        """End an answer early, for everybody. To repeat it does no harm. Raises `Refused`."""
        await self._write(conversation, StoppedRecord(message_id))

    async def abandon(self, conversation: str, message_id: str) -> None:
        """End an answer that has no reader. Raises `Refused`."""
        await self._write(conversation, StoppedRecord(message_id, abandoned=True))

    async def _write(self, conversation: str, record: StoppedRecord) -> None:
        key, chunk = conversation.encode(), Chunk(message_id=record.message_id, control="cancel")
        await self._producer.send(self._requests, key, msgspec.json.encode(record))
        await self._producer.send(self._tokens, key, msgspec.json.encode(chunk), [NATIVE])
