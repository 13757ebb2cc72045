"""Gauges that are read from the parts of a gateway, or of a front, when metrics are scraped."""

import asyncio

from tokenmill.config import Gateway
from tokenmill.gateway.event_log.log_readers import LogReaders
from tokenmill.gateway.event_log.tail import Tail
from tokenmill.limits import MIB
from tokenmill.observe import Numbers


def read_gauges(numbers: Numbers, settings: Gateway, tail: Tail, log_readers: LogReaders) -> None:
    """Register the gauges that are read from these parts."""
    numbers.read_value("tokenmill_gateway_connections_limit", lambda: settings.connections)
    numbers.read_value("tokenmill_gateway_window_limit_bytes", lambda: settings.window_mib * MIB)
    numbers.read_value("tokenmill_gateway_readers_limit", lambda: settings.catch_up_readers)
    numbers.read_value("tokenmill_gateway_window_bytes", lambda: tail.windows.size)
    numbers.read_value("tokenmill_gateway_window_records", lambda: tail.windows.records)
    numbers.read_value("tokenmill_gateway_readers_in_use", lambda: log_readers.in_use)
    read_tail_gauges(numbers, tail, "tokenmill_gateway_uncommitted_records", "tokenmill_gateway_poll_age_seconds")


def read_tail_gauges(numbers: Numbers, tail: Tail, uncommitted: str, poll_age: str) -> None:
    """Register the gauges that are read from the reader of the log's end, under the names that its host gives them."""
    numbers.read(
        uncommitted,
        lambda: [((str(partition),), records) for partition, records in tail.uncommitted()],
    )
    numbers.read(
        poll_age,
        lambda: [((), asyncio.get_running_loop().time() - tail.polled_at)] if tail.polled_at else [],
    )
