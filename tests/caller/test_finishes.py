"""Who writes an answer is told when it is over."""

import pytest

from tests.support.watching import PARTITION, Watching
from tokenmill.errors import Unavailable


async def test_the_end_of_a_message_is_told() -> None:
    """That of this conversation's message, and of no other."""
    watching, told = Watching(), list[str]()
    await watching.finishes.watch("c", "m", lambda: told.append("m"))
    watching.end("n")
    watching.end("m", "d")
    assert told == []
    watching.end("m")
    assert told == ["m"]


async def test_the_partition_is_read_as_long_as_somebody_watches() -> None:
    """And nobody is told who looks away."""
    watching, told = Watching(), list[str]()
    first = await watching.finishes.watch("c", "m", lambda: told.append("first"))
    second = await watching.finishes.watch("c", "m", lambda: told.append("second"))
    assert watching.tail.pins[PARTITION] == 2
    first()
    watching.end("m")
    assert (told, watching.tail.pins[PARTITION]) == (["second"], 1)
    second()
    assert watching.tail.pins[PARTITION] == 0


async def test_who_can_t_watch_is_not_told_either() -> None:
    """There is nothing to end then: Kafka is asked again from the beginning."""
    watching, told = Watching(), list[str]()
    watching.tail.problems = [Unavailable("Kafka does not answer")]
    with pytest.raises(Unavailable):
        await watching.finishes.watch("c", "m", lambda: told.append("m"))
    watching.end("m")
    assert (told, watching.tail.pins[PARTITION]) == ([], 0)
