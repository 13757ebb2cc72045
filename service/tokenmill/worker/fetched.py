"""Fetched records as the client's own decoder gives them, without a second object around each.

aiokafka reads a record batch in C and then makes a `ConsumerRecord` of every record in Python, which costs more than
the reading before it. Nothing here needs what that adds: topic and partition are known from the batch's place.
"""

from typing import Any

from aiokafka import AIOKafkaConsumer


def unwrap_fetched(consumer: AIOKafkaConsumer) -> None:
    """Let what the consumer has fetched, and not yet given out, come as plain records.

    What arrives during the next `getmany` comes as `ConsumerRecord`s, which serve as well.
    """
    for result in consumer._fetcher._records.values():  # noqa: SLF001 -- there is no option for it
        records = getattr(result, "_partition_records", None)
        if records is not None:
            records._consumer_record = _as_it_is  # noqa: SLF001 -- likewise


def _as_it_is(_: object, record: Any) -> Any:
    return record
