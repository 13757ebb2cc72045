"""What is asked of the parts of a gateway when somebody looks."""

from tests.support.topics import make_topics
from tokenmill.config import Gateway, Kafka
from tokenmill.gateway.event_log.entry import Entry
from tokenmill.gateway.event_log.gauges import read_gauges
from tokenmill.gateway.event_log.log_readers import LogReaders
from tokenmill.gateway.event_log.tail import Tail
from tokenmill.gateway.event_log.window import Windows
from tokenmill.gateway.streams.hub import Hub
from tokenmill.observe import GATEWAY_METRICS, Numbers

SETTINGS = Gateway(window_mib=1, connections=7, catch_up_readers=3)


async def test_gauges_say_what_is_held_and_what_may_be(kafka: str, unique: str) -> None:
    """Memory beside its cap, readers beside theirs, and nothing uncommitted on a topic without transactions."""
    topic = f"events-{unique}"
    await make_topics(kafka, topic, partitions=2)
    numbers, windows, place = Numbers(GATEWAY_METRICS), Windows(1 << 20, 60), Kafka(bootstrap_servers=kafka)
    tail, log_readers = Tail(place, topic, windows, Hub(), list[int]().extend), LogReaders(place, topic, 3)
    read_gauges(numbers, SETTINGS, tail, log_readers)
    await tail.start(20)
    try:
        await tail.pin(0)
        windows.add(0, [Entry(0, 0, b"key", b"value")], 1, 0)
        assert numbers.value("tokenmill_gateway_window_records") == 1
        assert numbers.value("tokenmill_gateway_window_bytes") == windows.size > 0
        assert numbers.value("tokenmill_gateway_uncommitted_records", "0") == 0
    finally:
        await log_readers.close()
        await tail.stop()
    assert numbers.value("tokenmill_gateway_window_limit_bytes") == 1 << 20
    assert numbers.value("tokenmill_gateway_connections_limit") == 7
    assert numbers.value("tokenmill_gateway_readers_limit") == 3
    assert numbers.value("tokenmill_gateway_readers_in_use") == 0
