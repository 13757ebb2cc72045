"""What the routes of the front share."""

import time
from typing import Any

import msgspec
import pytest

from tokenmill.apis import APIS, CHAT, Api
from tokenmill.config import Config
from tokenmill.front.clocks import CLOCKS_MS
from tokenmill.front.route_context import AnswerRef, RouteContext, place_of, since, too_late
from tokenmill.front.whole import MORE_S
from tokenmill.gateway.event_log.reading import Since


@pytest.mark.parametrize(
    ("conversation", "header"),
    [("chat-7", "chat-7"), ("chat 7", "chat 7"), ("7/é", "7%2F%C3%A9"), ("a\r\nb", "a%0D%0Ab")],
)
def test_the_place_of_an_answer_fits_into_headers(conversation: str, header: str) -> None:
    """Whatever the name of the conversation is."""
    assert place_of(conversation, "m") == {"x-conversation-id": header, "tm-message-id": "m"}


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_an_answer_that_is_late_is_an_error_of_the_api(api: Api) -> None:
    """As SDKs find it among the events of a stream."""
    block, *done = too_late(api).split(b"\n\n")[:-1]
    *name, data = block.split(b"\n")
    said = msgspec.json.decode(data.removeprefix(b"data: "))
    assert "not over in time" in (said.get("error") or said)["message"]
    assert (name, done) == (([], [b"data: [DONE]"]) if api is CHAT else ([b"event: error"], []))


def test_an_answer_is_looked_for_a_little_earlier_than_its_request() -> None:
    """Clocks differ; there is no time before the first."""
    assert since(1_000_000) == Since(1_000_000 - CLOCKS_MS)
    assert since(1) == Since(0)


def test_a_stream_is_not_cut_off_before_the_end_of_its_answer_can_arrive() -> None:
    """Its caller writes that when the time is over; whoever comes later has what is left."""
    nothing: Any = None
    config, now_ms = Config(), int(time.time() * 1000)
    context = RouteContext(config, {}, nothing, nothing, nothing, nothing, nothing, nothing, nothing)
    left_s = [context._left_s(AnswerRef("c", "m", now_ms - ago_ms)) for ago_ms in (0, 100_000)]
    expected = config.front.answer_s + MORE_S
    assert left_s == [pytest.approx(expected, abs=5), pytest.approx(expected - 100, abs=5)]
