"""How many partitions the outputs have."""

from tokenmill.worker.output_partitions import UNLIMITED, OutputPartitions


def test_the_smallest_output_decides() -> None:
    """The input's own number does not count; outputs that were not counted hold nothing."""
    assert OutputPartitions("tokens", {"tokens": 2, "events": 6, "dlq": 8}).partitions == 6
    assert OutputPartitions().partitions == UNLIMITED


def test_the_sentence_names_each_topic_that_is_too_small_and_the_command() -> None:
    """It needs as many as the input has, by the latest count."""
    outputs = OutputPartitions("tokens", {"tokens": 8, "events": 6, "dlq": 8, "tool-calls": 7})
    wanted = "topic events has 6 partitions, topic tool-calls has 7 partitions, tokens has 8"
    assert outputs.sentence(7) == f"{wanted}: `tokenmill topics create --partitions 8` adds them"
    assert "topic dlq has 8 partitions" in outputs.sentence(8)
    assert outputs.sentence(8).endswith("tokens has 9: `tokenmill topics create --partitions 9` adds them")


def test_what_is_not_seen_has_what_it_had() -> None:
    """A topic that is missing from an answer did not shrink."""
    outputs = OutputPartitions("tokens", {"tokens": 8, "events": 6, "dlq": 7})
    outputs.learn({"tokens": 8, "events": 8})
    assert outputs.partitions == 7
