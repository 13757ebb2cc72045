"""`tokenmill recover`."""

import asyncio

import click
import msgspec

from tokenmill.commands.settings import kafka_options, quiet_kafka
from tokenmill.config import Config
from tokenmill.kafka.topic_log import cluster_id
from tokenmill.kafka.topics import Progress
from tokenmill.store import RedisStore
from tokenmill.store.configured import configured
from tokenmill.terminal.progress import progress_bar
from tokenmill.worker.recover import Recovery, recoveries, sentences


@click.command()
@click.option("--partition", type=click.IntRange(0), help="Only this partition.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@kafka_options
def command(*, partition: int | None, as_json: bool, config: Config) -> int:
    """Show what a restore of the input's partitions would do, if a worker were given them now.

    It runs a worker's own code: it reads commit, snapshot and topic, and replays what it has to, but changes and
    publishes nothing: to restore for real, start a worker. Running workers continue to commit and write snapshots
    meanwhile. The exit code is 1 if messages or records would be lost.
    """
    quiet_kafka()
    with progress_bar() as bar:
        bar.at("connecting", 0, None)
        found = asyncio.run(_find(config, partition, bar.at))
    for recovery in found:
        if as_json:
            click.echo(msgspec.json.encode(recovery))
        else:
            click.echo("\n".join(sentences(recovery)))
    return 0 if all(recovery.sound for recovery in found) else 1


async def _find(config: Config, partition: int | None, progress: Progress) -> list[Recovery]:
    store = configured(RedisStore, config, await cluster_id(config.kafka))
    try:
        return await recoveries(config, store, partition, progress)
    finally:
        if store is not None:
            await store.close()
