"""Stops an answer from here, whoever writes it: a record that its worker and its caller see."""

import msgspec

from tokenmill.codecs import Chunk
from tokenmill.gateway.ingest.native_chunks import NATIVE
from tokenmill.gateway.ingest.producer import Producer


class Stops:
    """Writes the records that stop answers."""

    def __init__(self, producer: Producer, tokens: str) -> None:
        """`tokens`: the topic of chunks."""
        self._producer = producer
        self._tokens = tokens

    async def stop(self, conversation: str, message_id: str) -> None:
        """End an answer early, for everybody. To repeat it does no harm. Raises `Refused`."""
        chunk = Chunk(message_id=message_id, control="cancel")
        await self._producer.send(self._tokens, conversation.encode(), msgspec.json.encode(chunk), [NATIVE])
