"""`tokenmill publish`."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import click
import msgspec

from tokenmill.client import Connection, MessagePublisher, Publisher
from tokenmill.codecs import find_codec
from tokenmill.commands.reading import coming_lines, coming_pieces
from tokenmill.commands.settings import (
    kafka_options,
    message_options,
    opening,
    quiet_kafka,
    refuse_unused,
)
from tokenmill.config import Config
from tokenmill.formats import compile_grammar
from tokenmill.parser import read_options

UNUSED = {"codec": ("chunk", "reason", "open_ended")}
"""Parameters that are ignored if another one is given: lines of a captured stream are sent as they are."""


@click.command()
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--conversation", metavar="ID", help="Conversation id, the records' key; by default a random one.")
@click.option("--message", metavar="ID", help="Message id; by default a random one.")
@message_options
@click.option("--codec", metavar="NAME", help="FILE is a captured stream of this codec: each line is sent as a record.")
@click.option("--chunk", type=click.IntRange(1), default=4, show_default=True, help="Characters in a chunk.")
@click.option(
    "--rate", type=click.FloatRange(0, min_open=True), help="Chunks per second; by default as fast as possible."
)
@click.option("--finish", "reason", default="stop", show_default=True, help="Finish reason of the message.")
@click.option("--open-ended", is_flag=True, help="Do not end the message.")
@click.option("--topic", help="Topic, instead of the configured one.")
@kafka_options
def command(  # noqa: PLR0913 -- one for each option
    *,
    file: BinaryIO,
    conversation: str | None,
    message: str | None,
    format_name: str | None,
    tools: Path | None,
    pairs: tuple[str, ...],
    codec: str | None,
    chunk: int,
    rate: float | None,
    reason: str,
    open_ended: bool,
    topic: str | None,
    config: Config,
) -> None:
    """Publish model text from FILE or stdin to the tokens topic.

    The text is cut into chunks, each a record of the native codec; all go to the partition of their conversation. Lines
    of a captured stream are sent as they are, with options and message id in headers.
    """
    refuse_unused(UNUSED)
    quiet_kafka()
    options = opening(format_name, tools, pairs)
    compile_grammar(read_options(options))  # fail here, not in the worker, which would refuse the message
    headers = _headers(codec, message, options)
    pause_s = 1 / rate if rate else 0.0
    name = conversation or f"conversation-{uuid4().hex[:8]}"

    async def run() -> None:
        async with Publisher(Connection.of(config.kafka), topic=topic or config.topics.tokens) as publisher:
            if codec is not None:
                await _lines(publisher, file, name, headers, pause_s)
                return
            published = publisher.message(name, message, open=options or None)
            await _text(published, file, chunk, pause_s)
            if not open_ended:
                await published.finish(reason)

    asyncio.run(run())
    click.echo(f"published {name}", err=True)


def _headers(codec: str | None, message: str | None, options: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    """Return headers for a captured stream, whose codec may have no place for the options. Raises `UnknownCodec`."""
    headers = []
    if codec is not None:
        headers.append(("tm-codec", find_codec(codec).name.encode()))
    if message is not None:
        headers.append(("tm-message-id", message.encode()))
    if options:
        headers.append(("tm-open", msgspec.json.encode(options)))
    return headers


async def _text(message: MessagePublisher, file: BinaryIO, chunk: int, pause_s: float) -> None:
    async for piece in coming_pieces(file, chunk):
        await message.text(piece)
        await asyncio.sleep(pause_s)


async def _lines(
    publisher: Publisher, file: BinaryIO, name: str, headers: Sequence[tuple[str, bytes]], pause_s: float
) -> None:
    async for line in coming_lines(file):
        await publisher.send(name, line, headers)
        await asyncio.sleep(pause_s)
