"""`tokenmill tail`."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import aclosing

import click
import msgspec
from aiokafka import ConsumerRecord

from tokenmill.client import Connection, Follower, Repeats
from tokenmill.commands.settings import kafka_options, quiet_kafka
from tokenmill.config import Config
from tokenmill.errors import FatalError
from tokenmill.events import Finish, known_event
from tokenmill.replay import record_to_json
from tokenmill.terminal.answers import Conversation
from tokenmill.terminal.console import Terminal, echo, watched
from tokenmill.terminal.live import watch
from tokenmill.terminal.readable import EventPrinter

Show = Callable[[ConsumerRecord], None]


@click.command()
@click.argument("conversation", required=False)
@click.option("--topic", help="Topic, instead of the configured events topic.")
@click.option("--live", is_flag=True, help="Draw the latest answers of CONVERSATION as they grow.")
@click.option("--raw", is_flag=True, help="Print whole records as JSON lines, repeats included.")
@click.option("--from-beginning", is_flag=True, help="Start with the oldest record instead of the next one.")
@click.option("--until-end", is_flag=True, help="Stop at the topic's current end.")
@click.option("--until-finish", is_flag=True, help="Stop after the first finish event.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(0, min_open=True), help="Stop after this many seconds.")
@kafka_options
def command(  # noqa: PLR0913 -- one for each option
    *,
    conversation: str | None,
    topic: str | None,
    live: bool,
    raw: bool,
    from_beginning: bool,
    until_end: bool,
    until_finish: bool,
    timeout_s: float | None,
    config: Config,
) -> None:
    """Follow the events of a CONVERSATION, or of all conversations.

    Events are shown readably on a terminal, otherwise as JSON lines. Records that a worker published again are dropped.
    A timeout is a failure only with --until-end or --until-finish.
    """
    if live:
        _refuse_live(conversation, raw=raw)
    quiet_kafka()
    follower = Follower(
        Connection.of(config.kafka),
        topic=topic or config.topics.events,
        conversation_id=conversation,
        from_beginning=from_beginning,
        until_end=until_end,
        repeats=None if raw else Repeats(),
    )
    try:
        if live:
            asyncio.run(_live(follower, until_finish=until_finish, timeout_s=timeout_s))
        else:
            show = _whole_records if raw else _events(names=conversation is None)
            asyncio.run(_follow(follower, show, until_finish=until_finish, timeout_s=timeout_s))
    except TimeoutError as late:
        if until_end or until_finish:
            raise FatalError(f"the end did not come within {timeout_s:g} s") from late


def _refuse_live(conversation: str | None, *, raw: bool) -> None:
    if raw:
        raise click.UsageError("--live draws answers, --raw prints records; give one of them")
    if conversation is None:
        raise click.UsageError("--live shows one CONVERSATION; without --live all are followed")
    if not watched(Terminal()):
        raise click.UsageError("--live needs a terminal, and stdout is not one; without --live events are JSON lines")


async def _live(follower: Follower, *, until_finish: bool, timeout_s: float | None) -> None:
    conversation = Conversation()

    def show(record: ConsumerRecord) -> None:
        event = known_event(record.value or b"")  # None: another dialect's
        if event is not None:
            conversation.add(event, record.timestamp)

    await watch(Terminal(), conversation, _follow(follower, show, until_finish=until_finish, timeout_s=timeout_s))


async def _follow(follower: Follower, show: Show, *, until_finish: bool, timeout_s: float | None) -> None:
    async with follower, asyncio.timeout(timeout_s), aclosing(follower.records()) as records:
        async for record in records:
            show(record)
            if until_finish and _is_finish(record):
                return


def _is_finish(record: ConsumerRecord) -> bool:
    return isinstance(known_event(record.value or b""), Finish)


def _whole_records(record: ConsumerRecord) -> None:
    echo(msgspec.json.encode(record_to_json(record)))


def _events(*, names: bool) -> Show:
    console = Terminal()
    if not console.is_terminal:
        return _payloads
    printer = EventPrinter(console, live=True, names=names)

    def show(record: ConsumerRecord) -> None:
        event = known_event(record.value or b"")
        if event is None:
            _payloads(record)  # another dialect's
        else:
            printer.show(event)

    return show


def _payloads(record: ConsumerRecord) -> None:
    echo(record.value or b"null")
    sys.stdout.flush()
