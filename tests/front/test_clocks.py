"""A front's clock, and those of callers."""

import re
import time

import msgspec
import pytest

from tokenmill.events import MessageStart
from tokenmill.front.clocks import CLOCKS_MS, Clocks
from tokenmill.observe import FRONT_METRICS, Numbers

APART = "tokenmill_front_clocks_apart_total"


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
