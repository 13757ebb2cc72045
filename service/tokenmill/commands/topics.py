"""`tokenmill topics`."""

import asyncio

import click

from tokenmill.commands.settings import kafka_options, quiet_kafka
from tokenmill.config import Config
from tokenmill.kafka.topics import create_topics
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.progress import progress_bar
from tokenmill.terminal.tables import print_table


@click.group()
def command() -> None:
    """Create the topics."""


@command.command("create")
@click.option("--partitions", type=click.IntRange(1), default=4, show_default=True, help="Partitions of each topic.")
@click.option("--replication", type=click.IntRange(1), default=1, show_default=True, help="Replicas of each partition.")
@kafka_options
def create(*, partitions: int, replication: int, config: Config) -> None:
    """Create every missing topic of the configuration.

    Idempotent. A topic with fewer partitions gets more, one with more keeps them: a conversation stays on its partition
    only while their number does not change, so choose it large enough from the start. Other differences of an existing
    topic are reported, but not changed.
    """
    quiet_kafka()
    with progress_bar() as bar:
        bar.at("connecting", 0, None)
        changes = asyncio.run(create_topics(config, partitions, replication, bar.at))
    rows = [(change.topic, change.outcome, str(change.partitions)) for change in changes]
    print_table(Terminal(), ("topic", "", "partitions"), rows, right=1)
    for change in changes:
        if change.differs:
            click.echo(
                f"{change.topic} differs from what was requested, and is unchanged: {'; '.join(change.differs)}",
                err=True,
            )
