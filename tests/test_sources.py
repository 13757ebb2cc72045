"""Sources are closed, by everything that reads them."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from tokenmill import convert_async
from tokenmill.client.stream import _each

RECORD = '{"choices":[{"index":0,"delta":{"content":"a"}}]}'


class Closed:
    """Sources of all kinds; notes what of them was closed."""

    def __init__(self) -> None:
        self.parts = list[str]()

    async def generator(self) -> AsyncIterator[str]:
        """A function of the user's."""
        try:
            while True:
                yield RECORD
        finally:
            self.parts.append("generator")

    def iterator(self) -> AsyncIterator[str]:
        """A stream that iterates over itself."""
        parts = self.parts

        class Stream:
            def __aiter__(self) -> AsyncIterator[str]:
                return self

            async def __anext__(self) -> str:
                return RECORD

            def close(self) -> None:
                parts.append("stream")

        return Stream()

    def sdk(self) -> Any:
        """A stream of an SDK: it has a generator of its own for what it reads."""
        parts, generator = self.parts, self.generator

        class Stream:
            def __aiter__(self) -> AsyncIterator[str]:
                return generator()

            async def close(self) -> None:
                parts.append("stream")
                raise ConnectionError("reset")

        return Stream()


def converted(source: Any) -> AsyncGenerator[Any]:
    return convert_async(source, "openai", "openai")


@pytest.mark.parametrize("reads", [converted, _each], ids=["convert_async", "publish_stream"])
@pytest.mark.parametrize(
    ("kind", "parts"),
    [("generator", ["generator"]), ("iterator", ["stream"]), ("sdk", ["generator", "stream"])],
)
def test_a_source_is_closed_with_its_reader(
    kind: str, parts: list[str], reads: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A client that leaves stops the provider's stream, too. Errors are logged, and nobody else gets them."""
    closed = Closed()

    async def leave() -> None:
        async with aclosing(reads(getattr(closed, kind)())) as items:
            await anext(items)
        assert closed.parts == parts  # before the event loop closes what is left

    with caplog.at_level(logging.WARNING):
        asyncio.run(leave())
    said = ["a source did not close cleanly: ConnectionError('reset')"] if kind == "sdk" else []
    assert [record.getMessage() for record in caplog.records] == said
