"""A front's clock, and those of callers."""

import re
import time

import msgspec
import pytest

from tests.support.fronts import Asked, fronting
from tokenmill.events import MessageStart
from tokenmill.front.clocks import CLOCKS_MS, Clocks
from tokenmill.observe import FRONT_METRICS, Numbers

APART = "tokenmill_front_clocks_apart_total"

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def compared(payload: bytes, asked_s: float = 10.0) -> float:
    """Return how many answers are counted, of one that was asked for so long ago."""
    numbers = Numbers(FRONT_METRICS)
    Clocks(numbers).compare(int((time.time() - asked_s) * 1000), payload)
    return numbers.value(APART)


def begun(after_ms: float) -> bytes:
    """Return the first event of an answer whose caller began it so long after now."""
    event = MessageStart(model="m", format="plain", time=int(time.time() * 1000 + after_ms))
    return msgspec.json.encode(event)


@pytest.mark.parametrize("after_ms", [0, CLOCKS_MS / 2, -10_000 - CLOCKS_MS / 2])
def test_a_difference_that_does_no_harm_is_not_counted(after_ms: float) -> None:
    """The time between the request and its first event is none, either."""
    assert compared(begun(after_ms)) == 0


@pytest.mark.parametrize(("after_ms", "said"), [(60_000, "s ahead of"), (-70_000, "s behind")])
def test_a_clock_that_is_far_off_is_named(after_ms: float, said: str, caplog: pytest.LogCaptureFixture) -> None:
    """With its difference, and what helps."""
    assert compared(begun(after_ms)) == 1
    (line,) = caplog.messages
    assert re.match(rf"a caller's clock is (59|60)\.\d {said} this front's: run NTP", line)


@pytest.mark.parametrize("payload", [b"", b"{", b"{}", b'{"time":"x"}', b'{"time":null}'])
def test_an_event_without_a_time_shows_nothing(payload: bytes) -> None:
    """Anybody may write one."""
    assert compared(payload) == 0


@pytest.mark.integration
async def test_a_caller_s_clock_that_is_far_off_is_counted(kafka: str, unique: str) -> None:
    """With each new answer, streamed or whole; one that is there already tells nothing new."""

    async def answer(asked: Asked) -> None:
        asked.behind(60_000)
        await asked.answer()

    async with fronting(kafka, unique, answer) as front:
        for further in ({"stream": True}, {}, {}):
            async with front.post("/v1/chat/completions", BODY | further, idempotency_key=str(further)) as response:
                assert response.status == 200
                await response.read()
        async with front.session.get(f"http://127.0.0.1:{front.config.front.ops_port}/metrics") as response:
            assert "\ntokenmill_front_clocks_apart_total 2.0\n" in await response.text()
