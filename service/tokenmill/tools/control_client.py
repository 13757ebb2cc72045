"""What a person does on the topic `tool-control`: list the calls that wait, and answer."""

import asyncio
import time
from collections.abc import Iterable

import msgspec

from tokenmill.config import Config
from tokenmill.errors import Unavailable
from tokenmill.kafka.calls import deadline, running
from tokenmill.kafka.clients import make_producer
from tokenmill.kafka.topics import find_topic
from tokenmill.process import run_until
from tokenmill.tools.control import ASKED_S, Approval, ApprovalRequest, Control
from tokenmill.tools.control_log import ControlLog

READ_S = 30.0
"""Seconds to read the topic: it has some records for each call that a person was asked about in the last day. A reader
would wait without end for a Kafka that is away."""


async def questions(config: Config) -> list[ApprovalRequest]:
    """Return the calls that wait, in the order in which they will be given up. Raises `Unavailable`."""
    asked, answered = dict[str, ApprovalRequest](), set[str]()

    def take(control: Control, _: int) -> None:
        if isinstance(control, ApprovalRequest):
            asked[control.approval] = control
        elif isinstance(control, Approval):
            answered.add(control.approval)

    back_s = max(ASKED_S, config.tools.approve_s)
    topic = config.topics.tool_control
    log = ControlLog(config.kafka, topic, back_s, take)
    try:
        async with asyncio.timeout(READ_S), run_until(log.read, {"the reader of what people say": log.run}):
            pass  # all that the topic has now is read
    except TimeoutError as late:
        raise Unavailable(f"Kafka: {topic} was not read to its end within {READ_S:g} s") from late
    now = time.time() * 1000
    open_ = (each for each in asked.values() if each.approval not in answered and each.until >= now)
    return sorted(open_, key=lambda each: each.until)


async def say(config: Config, words: Iterable[tuple[str, Control]]) -> None:
    """Publish records about calls, each with its conversation. Raises `Unavailable`."""
    kafka, topic = config.kafka, config.topics.tool_control
    await find_topic(kafka, topic)
    writing = f"write to {topic}"
    async with running(lambda: make_producer(kafka), writing, kafka.startup_timeout_s) as producer:
        for conversation, word in words:
            value = msgspec.json.encode(word)
            await deadline(producer.send_and_wait(topic, value, key=conversation.encode()), writing)
