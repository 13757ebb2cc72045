"""What a member of the group knows of its partitions, and for how long."""

import asyncio
import time
from typing import Any, cast

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import IllegalGenerationError, NodeNotReadyError, UnknownMemberIdError
from aiokafka.structs import OffsetAndMetadata

from tokenmill.caller.membership import Membership

OFFSETS = {TopicPartition("requests", 0): 5}


class Group:
    """Takes commits, or refuses them, when it is told to; in the place of a consumer and its coordinator."""

    def __init__(self) -> None:
        self._coordinator = self
        self.generation = 3
        self.sent = 0
        self.problem: Exception | None = None
        self.answering = asyncio.Event()
        self.answering.set()
        self.taken: list[dict[TopicPartition, int]] = []

    async def _do_commit_offsets(self, _: None, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        self.sent += 1
        await self.answering.wait()
        if self.problem is not None:
            raise self.problem
        self.taken.append({place: each.offset for place, each in offsets.items()})

    async def commit(self, offsets: dict[TopicPartition, int]) -> None:
        """As the client's own call: sent again where the group did not answer; here once."""
        marks = {place: OffsetAndMetadata(offset, "") for place, offset in offsets.items()}
        try:
            await self._do_commit_offsets(None, marks)
        except NodeNotReadyError:
            await self._do_commit_offsets(None, marks)


class Member:
    """Of a group whose sessions take ten seconds, with a clock that goes when it is told to."""

    def __init__(self, *, static: bool = False) -> None:
        self.now = 100.0
        self.group = Group()
        self.membership = Membership(10.0, lambda: self.now, static=static)

    async def commit(self) -> bool:
        return await self.membership.commit(cast("AIOKafkaConsumer", cast("Any", self.group)), OFFSETS)


async def test_a_commit_tells_for_half_a_session() -> None:
    """From when it was sent; the next one is due before that is over."""
    member = Member()
    assert (member.membership.known, member.membership.due) == (False, True)
    member.group.answering.clear()
    committing = asyncio.create_task(member.commit())
    await asyncio.sleep(0)
    member.now += 2.4
    member.group.answering.set()
    assert await committing
    assert member.group.taken == [OFFSETS]
    assert (member.membership.known, member.membership.due) == (True, False)
    member.now += 0.2
    assert (member.membership.known, member.membership.due) == (True, True)
    member.now += 2.3
    assert member.membership.known
    member.now += 0.2
    assert not member.membership.known


async def test_a_refusal_tells_nothing() -> None:
    """The group has given the partitions to others; nor does it say anything if it does not answer. It is sent once."""
    member = Member()
    for problem in (UnknownMemberIdError(), NodeNotReadyError(), OSError()):
        member.group.problem = problem
        member.group.sent = 0
        assert not await member.commit()
        assert (member.membership.known, member.group.sent) == (False, 1)


@pytest.mark.parametrize(
    ("problem", "known"), [(UnknownMemberIdError(), False), (IllegalGenerationError(), False), (OSError(), True)]
)
async def test_a_refusal_ends_what_was_known(problem: Exception, known: bool) -> None:
    """The partitions are another's, however young the last commit. A group that does not answer changes nothing."""
    member = Member()
    assert await member.commit()
    member.group.problem = problem
    assert not await member.commit()
    assert member.membership.known is known


async def test_a_static_member_asks_each_time() -> None:
    """Another process with its name gets its place at once, and the group accepts that one's commits from then on."""
    member = Member(static=True)
    assert await member.commit()
    assert not member.membership.known


async def test_a_session_also_ends_while_the_machine_is_suspended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The group counts that time; `time.monotonic` does not."""
    now, member = 100.0, Member()
    monkeypatch.setattr(time, "clock_gettime", lambda _: now)
    member.membership = Membership(10.0)
    assert await member.commit()
    assert member.membership.known
    now += 60
    assert not member.membership.known


@pytest.mark.parametrize("known", [True, False])
async def test_what_was_sent_before_partitions_were_shared_out_tells_nothing(known: bool) -> None:
    """Neither what was known, nor what comes to be known of the time before."""
    member = Member()
    if known:
        assert await member.commit()
        member.membership.rebalanced()
        assert not member.membership.known
        return
    member.group.answering.clear()
    committing = asyncio.create_task(member.commit())
    await asyncio.sleep(0)
    member.membership.rebalanced()
    member.group.answering.set()
    assert not await committing
    assert not member.membership.known


async def test_who_is_no_member_commits_nothing() -> None:
    """The broker would take it for a tool that sets offsets, where the group has no members at the moment."""
    member = Member()
    for generation in (-1, 0):
        member.group.generation = generation
        assert not await member.commit()
    assert (member.group.sent, member.membership.known) == (0, False)
    member.group.generation = 1  # the first one of a group
    assert await member.commit()


async def test_a_commit_that_waits_is_not_sent_for_partitions_of_before() -> None:
    """It would be that of a member with others."""
    member = Member()
    member.group.answering.clear()
    both = [asyncio.create_task(member.commit()) for _ in range(2)]
    await asyncio.sleep(0)
    member.membership.rebalanced()
    member.group.answering.set()
    assert await asyncio.gather(*both) == [False, False]
    assert member.group.sent == 1
