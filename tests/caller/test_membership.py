"""What a member of the group knows of its partitions, and for how long."""

import asyncio
from typing import Any, cast

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError

from tokenmill.caller.membership import Membership

OFFSETS = {TopicPartition("requests", 0): 5}


class Group:
    """Takes commits, or refuses them, when it is told to."""

    def __init__(self) -> None:
        self.problem: Exception | None = None
        self.answering = asyncio.Event()
        self.answering.set()
        self.taken: list[dict[TopicPartition, int]] = []

    async def commit(self, offsets: dict[TopicPartition, int]) -> None:
        await self.answering.wait()
        if self.problem is not None:
            raise self.problem
        self.taken.append(offsets)


class Member:
    """Of a group whose sessions take ten seconds, with a clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0
        self.group = Group()
        self.membership = Membership(10.0, lambda: self.now)

    async def commit(self) -> bool:
        return await self.membership.commit(cast("AIOKafkaConsumer", cast("Any", self.group)), OFFSETS)


async def test_a_commit_tells_for_half_a_session() -> None:
    """From when it was sent; the next one is due before that is over."""
    member = Member()
    assert (member.membership.known, member.membership.due) == (False, True)
    member.group.answering.clear()
    committing = asyncio.create_task(member.commit())
    await asyncio.sleep(0)
    member.now += 2
    member.group.answering.set()
    assert await committing
    assert member.group.taken == [OFFSETS]
    assert (member.membership.known, member.membership.due) == (True, False)
    member.now += 1
    assert (member.membership.known, member.membership.due) == (True, True)
    member.now += 2
    assert not member.membership.known


async def test_a_refusal_tells_nothing() -> None:
    """The group has given the partitions to others; nor does it say anything if it does not answer."""
    member = Member()
    for problem in (CommitFailedError(), OSError()):
        member.group.problem = problem
        assert not await member.commit()
        assert not member.membership.known


@pytest.mark.parametrize("known", [True, False])
async def test_what_was_sent_before_partitions_were_shared_out_tells_nothing(known: bool) -> None:
    """Neither what was known, nor what comes to be known of the time before."""
    member = Member()
    if known:
        assert await member.commit()
        member.membership.shared_out_anew()
        assert not member.membership.known
        return
    member.group.answering.clear()
    committing = asyncio.create_task(member.commit())
    await asyncio.sleep(0)
    member.membership.shared_out_anew()
    member.group.answering.set()
    assert not await committing
    assert not member.membership.known
