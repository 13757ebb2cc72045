"""A record on its way has an outcome or a deadline, and what is said of a failure tells what to do next."""

import asyncio

import pytest

from tokenmill.gateway.problems import TOO_LARGE, Refused
from tokenmill.gateway.room import Room
from tokenmill.gateway.sent import Placed, Sent, refused, too_many, unavailable


async def test_a_record_is_where_kafka_says() -> None:
    """Whoever asks before the answer waits for it."""
    sent = Sent(Room(10), 1, 5)
    asking = asyncio.create_task(sent.placed())
    await asyncio.sleep(0)
    sent.settle(Placed(3, 42))
    assert await asking == (3, 42)


async def test_a_refusal_is_raised_for_whoever_asks() -> None:
    """And for nobody else: a future that fails unseen would be reported as a mistake."""
    sent = Sent(Room(10), 1, 5)
    sent.settle(Refused(TOO_LARGE, "shorter"))
    with pytest.raises(Refused, match="shorter"):
        await sent.placed()


async def test_nobody_waits_longer_than_the_deadline_of_the_record() -> None:
    """The deadline counts from when it was sent, not from when somebody asks."""
    sent = Sent(Room(10), 1, 0.01)
    with pytest.raises(Refused, match=r"within 0\.01 s.*same `seq`"):
        await sent.placed()
    assert not sent.settled


@pytest.mark.parametrize(
    ("problem", "status"), [(too_many(), 429), (refused(KeyError("x")), 503), (unavailable("Kafka: no leader"), 503)]
)
def test_what_may_be_tried_again_says_when(problem: Refused, status: int) -> None:
    """Seconds in `Retry-After`, which every client library understands."""
    assert (problem.kind.status, int(problem.headers["retry-after"]) > 0) == (status, True)
