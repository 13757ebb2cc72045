"""A consumer that has partitions, and no Kafka."""

from types import SimpleNamespace

from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError


class Reading:
    """What of a consumer says which partitions it reads."""

    _coordinator = SimpleNamespace(member_id="runner", generation=1)

    def __init__(self, *places: TopicPartition) -> None:
        self.places, self.paused_now = set(places), set[TopicPartition]()
        self.assignment, self.paused = self.places.copy, self.paused_now.copy

    def pause(self, *places: TopicPartition) -> None:
        self.paused_now |= set(places)

    def resume(self, *places: TopicPartition) -> None:
        self.paused_now -= set(places)

    def seek(self, place: TopicPartition, _: int) -> None:
        if place not in self.places:
            raise IllegalStateError(f"{place} is another's")
