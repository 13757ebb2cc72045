"""`tokenmill sessions`."""

import asyncio

import click
import msgspec

from tokenmill.client import Connection
from tokenmill.client.sessions import Session, read_session
from tokenmill.commands.settings import kafka_options, quiet_kafka
from tokenmill.config import Config
from tokenmill.errors import ConfigError, FatalError
from tokenmill.kafka.topic_log import cluster_id
from tokenmill.store.configured import configured
from tokenmill.store.sessions import RedisSessions
from tokenmill.terminal.console import echo


@click.group()
def command() -> None:
    """Show what is kept of conversations after their answers."""


@command.command("show")
@click.argument("conversation")
@kafka_options
def show(*, conversation: str, config: Config) -> None:
    """Print the session of a CONVERSATION as a JSON object: the provider's ids, and totals of its answers.

    It is read from Redis; if Redis does not have all of it, it is read from the topic and stored in Redis again.
    """
    quiet_kafka()
    if not config.topics.sessions:
        raise ConfigError(["topics.sessions: is empty, so no sessions are kept; give the topic a name"])
    session = asyncio.run(_read(config, conversation))
    if session is None:
        raise FatalError(f"the conversation {conversation!r} has no session: no answer of it has ended")
    echo(msgspec.json.format(msgspec.json.encode(session), indent=2))


async def _read(config: Config, conversation: str) -> Session | None:
    store = configured(RedisSessions, config, await cluster_id(config.kafka))
    try:
        return await read_session(conversation, Connection.of(config.kafka), config.topics.sessions, store)
    finally:
        if store is not None:
            await store.close()
