"""The epoch in which a fetched record was written."""

import pytest
from aiokafka import TopicPartition

from tests.kafka.test_log_protocol import _batch
from tests.support.rig import rigged, said, words
from tests.support.stage import Stage
from tokenmill.kafka.leader_epochs import LeaderEpochs
from tokenmill.partition import Mark

PLACE = TopicPartition("tokens", 0)


def test_each_record_has_the_epoch_of_its_batch() -> None:
    """What was not fetched is unknown; what lies before the last question is forgotten."""
    epochs = LeaderEpochs()
    assert epochs.at(PLACE, 5) == -1
    epochs.note(PLACE, _batch(5, 2, 4) + _batch(9, 4, 2))
    epochs.note(PLACE, _batch(11, 4))
    assert [epochs.at(PLACE, offset) for offset in (4, 5, 8, 9, 11, 99)] == [-1, 2, 2, 4, 4, 4]
    assert epochs.at(PLACE, 8) == -1
    assert epochs.at(TopicPartition("tokens", 1), 9) == -1


def test_what_is_read_again_counts() -> None:
    """After a seek, and where the log continued with other records."""
    epochs = LeaderEpochs()
    epochs.note(PLACE, _batch(5, 2, 4) + _batch(9, 4))
    epochs.note(PLACE, _batch(7, 6))
    assert [epochs.at(PLACE, offset) for offset in (6, 9)] == [2, 6]


@pytest.mark.integration
async def test_commits_say_log_and_epoch(stage: Stage) -> None:
    """Those of the topic and of the last record: they show the next owner what the offset refers to."""
    async with rigged(stage) as rig:
        await rig.live()
        await said(stage, *words("m", "one "))
        await rig.settled(1)
    mark = Mark.decode((await stage.committed())[0][1])
    assert mark is not None
    assert mark.log.cluster
    assert len(mark.log.topic) == 22
    assert mark.epoch >= 0
