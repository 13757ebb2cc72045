"""Fetched records as the client's own decoder gives them, without a second object around each.

aiokafka reads a record batch in C and then makes a `ConsumerRecord` of every record in Python, which costs more than
the reading before it. Nothing here needs what that adds: topic and partition are known from where the batch stands.
"""

from typing import Any

from aiokafka import AIOKafkaConsumer

from tokenmill.kafka.aiokafka_inside import give_plain_records


def unwrap_fetched(consumer: AIOKafkaConsumer) -> None:
    """Have the consumer return what it has fetched as plain records.

    What arrives during the next `getmany` comes as `ConsumerRecord`s, which serve as well.
    """
    give_plain_records(consumer, _as_it_is)


def _as_it_is(_: object, record: Any) -> Any:
    return record
