"""`tokenmill capacity`."""

from math import isfinite
from typing import Any, get_args

import click
import msgspec

from tokenmill.capacity import Load, Need, need
from tokenmill.config.sections import Delivery
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.tables import print_table

ROWS = {
    "records_per_s": "records a second",
    "worker_cores": "cores of workers, full",
    "workers": "workers, one core each, half used",
    "partitions": "partitions of each topic",
    "worker_mib": "memory of a worker, MiB",
    "tokens_mb_s": "into tokens, MB/s",
    "events_mb_s": "into events, MB/s",
    "network_mb_s": "all that the network carries, MB/s",
    "brokers": "brokers",
    "disk_gb": "disk of all brokers, GB",
    "redis_mib": "memory of Redis, MiB",
    "redis_writes_per_s": "messages written to Redis a second",
    "transactions_per_s": "transactions a second, at least",
    "move_s": "seconds that a rebalance costs a record",
    "takeover_s": "seconds without a worker that died",
    "month": "price of a month",
    "million_tokens": "price of a million tokens",
}
"""Rows of a `Need`, in this order."""

PRICES = {"month", "million_tokens"}
"""Rows that are left out if no price was given."""

NO_FIGURES = "there are no figures for such a load: give finite, more realistic numbers"

POSITIVE = click.FloatRange(0, min_open=True)


@click.command()
@click.option("--conversations", type=click.IntRange(1), required=True, help="Answers written at the same time.")
@click.option("--tokens-per-s", type=POSITIVE, default=30.0, show_default=True, help="Rate of each answer.")
@click.option("--tokens-per-record", type=click.FloatRange(1), default=1.0, show_default=True, help="In one chunk.")
@click.option("--delivery", type=click.Choice(get_args(Delivery)), default="at-least-once", show_default=True)
@click.option("--keep-hours", type=POSITIVE, default=24.0, show_default=True, help="Retention of tokens and events.")
@click.option("--copies", type=click.IntRange(1), default=3, show_default=True, help="Replicas of each record.")
@click.option(
    "--readers", type=click.IntRange(0), default=1, show_default=True, help="Readers of all events, such as gateways."
)
@click.option("--broker-mb-s", type=POSITIVE, default=50.0, show_default=True, help="What one broker may write.")
@click.option("--core-hour", type=click.FloatRange(0), default=0.0, help="Price of a worker's core for an hour.")
@click.option("--broker-hour", type=click.FloatRange(0), default=0.0, help="Price of a broker for an hour.")
@click.option("--gb-month", type=click.FloatRange(0), default=0.0, help="Price of a gigabyte of disk for a month.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(*, as_json: bool, **load: Any) -> None:
    """Calculate what a load needs: workers, partitions, memory, Kafka, Redis.

    Arithmetic over figures that were measured on one machine; docs/topics/operations.md has them, and their limits.
    Bytes are those before compression.
    """
    try:
        found = need(Load(**load))
    except (ValueError, OverflowError, ZeroDivisionError) as problem:  # infinity can't be rounded
        raise click.UsageError(NO_FIGURES) from problem
    if not isfinite(found.month + found.million_tokens):
        raise click.UsageError(NO_FIGURES)
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        names = [name for name in ROWS if found.month or name not in PRICES]
        print_table(Terminal(), ("what", "needed"), [(ROWS[name], _shown(found, name)) for name in names], right=1)


def _shown(found: Need, name: str) -> str:
    return f"{getattr(found, name):,}"
