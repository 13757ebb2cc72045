"""TLS in front of a server that has none: the Redis of the wheel is built without it."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.certificates import Identity

BLOCK = 65_536


@asynccontextmanager
async def tls_front(identity: Identity, port: int) -> AsyncIterator[int]:
    """A port that takes TLS and passes on what comes to `port`, as stunnel does."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, to_behind = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(OSError):
            await asyncio.gather(_copy(reader, to_behind), _copy(behind, writer))

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(identity.both)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while block := await reader.read(BLOCK):
            writer.write(block)
            await writer.drain()
    finally:
        writer.close()
