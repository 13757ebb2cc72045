"""Writes the stages and outcomes of the calls of one partition, and how far `tool-calls` was read.

One transaction has all of it: the record on `tool-state`, the records for others, and the offset. The metadata of the
offset is the place on `tool-state` from which the next owner has to read.

Offsets there grow. If they do not, it is another log, such as that of a topic that was created again, without anything
that is known here: nothing is committed, and the process ends.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec
from aiokafka import TopicPartition
from aiokafka.structs import OffsetAndMetadata, RecordMetadata

from tokenmill.config import Topics
from tokenmill.errors import FatalError
from tokenmill.kafka.transaction import Transaction
from tokenmill.tools.call import Call
from tokenmill.tools.call_states import CallStates
from tokenmill.tools.control import request_for
from tokenmill.tools.outcome import Progress, answer_to, progress_of
from tokenmill.tools.waiting_calls import Step

Sent: TypeAlias = "asyncio.Future[RecordMetadata]"


class StateLog:
    """Writes records, and notes their offsets in the states of the calls."""

    def __init__(self, place: TopicPartition, transaction: Transaction, topics: Topics, states: CallStates) -> None:
        self._place = place
        self._transaction = transaction
        self._topics = topics
        self._states = states

    async def write(
        self, steps: Sequence[Step], progress: Sequence[tuple[Call, Progress]], taken: int, now: int
    ) -> None:
        """Write one transaction. `taken` is the offset after the last record that was read. Raises `FatalError`."""
        needed = self._states.first_needed(now)
        states, others = list[Sent](), list[Sent]()

        async def acknowledged() -> None:
            for call, how_far in progress:
                others.append(await self._send(self._topics.tool_results, progress_of(call, how_far), call))
            for step in steps:
                states.append(await self._state(step, now))
                others.extend([await self._send(topic, said, step.call) for topic, said in self._told(step)])
            await asyncio.gather(*states, *others)
            self._check(states)

        await self._transaction.commit(self._place, OffsetAndMetadata(taken, str(needed)), acknowledged)
        for step, written in zip(steps, states, strict=True):
            self._states.placed(step.call.key, written.result().offset)

    def _check(self, states: Sequence[Sent]) -> None:
        """Raises `FatalError` if the log is another one. An offset below 0 is one that the broker did not report."""
        end, offset = self._states.end, states[0].result().offset if states else -1
        if 0 <= offset < end:
            raise FatalError(
                f"{self._topics.tool_state}/{self._place.partition} is another log than before: a record got the "
                f"offset {offset}, but at least {end} was due. If the topic was created again, calls that were taken "
                "and have no result are forgotten: ask for them again. The next start continues with new calls"
            )

    async def _state(self, step: Step, now: int) -> Sent:
        value = self._states.write(step.call, step.stage, now, step.asked)
        client, partition = self._transaction.client, self._place.partition
        sent: Sent = await client.send(self._topics.tool_state, value, partition=partition, key=step.call.key)
        return sent

    def _told(self, step: Step) -> Iterator[tuple[str, Any]]:
        """Return the records for others, with their topics."""
        if step.outcome is not None:
            yield self._topics.tool_results, answer_to(step.call, step.outcome)
        if step.stage == "asking" and step.asked is not None:
            yield self._topics.tool_control, request_for(step.call, step.asked.fingerprint, step.asked.until)

    async def _send(self, topic: str, said: Any, call: Call) -> Sent:
        headers = [(name, value.encode("latin-1")) for name, value in call.tracing]
        sent: Sent = await self._transaction.client.send(
            topic, msgspec.json.encode(said), key=call.conversation.encode(), headers=headers
        )
        return sent
