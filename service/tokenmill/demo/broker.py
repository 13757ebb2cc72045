"""An embedded Kafka: the mock cluster that librdkafka carries inside the `confluent-kafka` wheel.

It speaks Kafka's protocol over TCP, so every client works with it, but it is not Kafka. Topics come into being on first
use with four partitions, a consumer group has one member, there are no offsets inside transactions, and a partition
keeps about 5 MB. Good for a demo; tests of what matters run on a real Kafka.
"""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tokenmill.errors import MissingServer

START_DEADLINE_S = 10.0


@contextmanager
def embedded_broker(topics: Sequence[str]) -> Iterator[str]:
    """Run a broker with these topics inside this process and give its address; it ends, with its data, on exit.

    Raises `MissingServer` if the wheel is not installed or the broker does not come up.
    """
    try:
        from confluent_kafka import KafkaException, Producer  # noqa: PLC0415 -- an extra of this package
    except ImportError as missing:
        raise MissingServer("no broker to start: pip install 'tokenmill[demo]'") from missing
    # The cluster lives as long as the client that made it. The address is required, but not used.
    with _no_signals():
        owner = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "unused:1", "log_level": 3})
    try:
        broker = next(iter(owner.list_topics(timeout=START_DEADLINE_S).brokers.values()))
        for topic in topics:
            owner.list_topics(topic, timeout=START_DEADLINE_S)  # to ask for a topic creates it
    except KafkaException as problem:
        raise MissingServer(f"the embedded broker does not start: {problem}") from problem
    yield f"{broker.host}:{broker.port}"
    del owner  # it had to live until here


@contextmanager
def _no_signals() -> Iterator[None]:
    """Block signals for threads that begin here: the cluster's own thread would end at the first one that it got."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
