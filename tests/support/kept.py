"""Clients that look at a broker again and again, as tests do that wait: made when they are needed first, then kept."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from tokenmill.kafka.calls import NO_COORDINATOR

UNREACHABLE = (KafkaError, OSError, TimeoutError, AttributeError)
"""What a client says to a broker that is gone, or not yet back: the last one is a slip of the client's own."""

PATIENCE_MS = 40_000


class Kept:
    """Of one cluster. One that fails is made anew: a broker that was started again is no failure."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._clients: dict[str, Any] = {}
        self._making = asyncio.Lock()

    async def committed(self, group: str) -> Mapping[TopicPartition, Any]:
        """Offset and metadata that a group committed; nothing while no group has committed anything on this cluster."""
        try:
            return dict(await self._ask("group", lambda client: client.list_consumer_group_offsets(group)))
        except NO_COORDINATOR:
            return {}

    async def ends(self, places: Collection[TopicPartition], isolation: str) -> dict[TopicPartition, int]:
        """Where partitions end, for readers of that isolation."""
        return dict(await self._ask(isolation, lambda client: client.end_offsets(places)))

    async def close(self) -> None:
        """Let go of all of them."""
        for name in list(self._clients):
            await self._drop(name)

    async def _ask(self, name: str, question: Callable[[Any], Awaitable[Any]]) -> Any:
        if (kept := self._clients.get(name)) is not None:
            try:
                return await question(kept)
            except NO_COORDINATOR:
                raise
            except UNREACHABLE:
                await self._drop(name)
        return await question(await self._made(name))

    async def _made(self, name: str) -> Any:
        async with self._making:
            if name not in self._clients:
                client = self._client(name)
                try:
                    await client.start()
                except BaseException:
                    await _closed(client)
                    raise
                self._clients[name] = client
            return self._clients[name]

    def _client(self, name: str) -> Any:
        if name == "group":
            return AIOKafkaAdminClient(bootstrap_servers=self._bootstrap, request_timeout_ms=PATIENCE_MS)
        return AIOKafkaConsumer(bootstrap_servers=self._bootstrap, isolation_level=name)

    async def _drop(self, name: str) -> None:
        if (client := self._clients.pop(name, None)) is not None:
            await _closed(client)


async def _closed(client: Any) -> None:
    with suppress(*UNREACHABLE):
        await (client.close() if isinstance(client, AIOKafkaAdminClient) else client.stop())
