"""A partition from a snapshot, where nobody has anything else to do meanwhile."""

from collections.abc import Mapping

from tokenmill.partition import Mark, Partition, PartitionSettings, at_once


def restore(
    settings: PartitionSettings, topic: str, number: int, mark: Mark, snapshot: tuple[bytes, Mapping[bytes, bytes]]
) -> Partition:
    """All steps of `Partition.restoring`, and what they come to."""
    return at_once(Partition.restoring(settings, topic, number, mark, snapshot))
