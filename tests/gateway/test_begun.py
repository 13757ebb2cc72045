"""What is seen before anything is answered: `gateway/begun.py`."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from tests.support.gateways import Gate, answer, listening
from tokenmill.dialects.native import NATIVE
from tokenmill.gateway.asked import Asked
from tokenmill.gateway.begun import Begun
from tokenmill.gateway.framing import SSE
from tokenmill.gateway.position import Position

pytestmark = pytest.mark.integration

ASKED = Asked("c", NATIVE, SSE, start="start", until_finish=True)


@pytest.fixture
async def gate(kafka: str, unique: str) -> AsyncIterator[Gate]:
    """A gateway with two answers of one conversation, the second of which is open."""
    async with listening(kafka, unique) as gate:
        await gate.say([*answer("c", "m1", ["Hello"]), *answer("c", "m2", ["again"], finish=False)])
        yield gate


async def seen(gate: Gate, **wanted: Any) -> tuple[Begun, bool]:
    """What is seen by a reading, and whether nothing comes."""
    asked = msgspec.structs.replace(ASKED, **wanted)
    async with gate.serving.begun(asked) as begun:
        return begun, begun.nothing_comes(asked)


async def test_a_message_is_looked_for_up_to_the_head(gate: Gate) -> None:
    """Its first frames are there, whatever lies before them; of one that is nowhere there are none."""
    begun, _ = await seen(gate, message=b"m2")
    assert begun.peeked
    assert {frame.message for frame in begun.peeked} == {b"m2"}
    begun, nothing = await seen(gate, message=b"m3")
    assert (begun.peeked, nothing) == (None, False)


async def test_nothing_comes_behind_the_end(gate: Gate) -> None:
    """Of a message that is over, while the conversation's other one is open."""
    begun, _ = await seen(gate, message=b"m1")
    assert begun.peeked
    end = begun.peeked[-1]
    place = Position(begun.reading.partition, end.offset, end.part, end.back)
    assert (await seen(gate, start=place, message=b"m1"))[1]
    assert not (await seen(gate, start=place))[1]


async def test_who_does_not_ask_for_an_end_waits(gate: Gate) -> None:
    """Something may always come."""
    begun, _ = await seen(gate, message=b"m1")
    assert begun.peeked
    end = begun.peeked[-1]
    place = Position(begun.reading.partition, end.offset, end.part, end.back)
    assert not (await seen(gate, start=place, message=b"m1", until_finish=False))[1]
