"""What the routes of the front share."""

import msgspec
import pytest

from tokenmill.apis import APIS, CHAT, Api
from tokenmill.front.clocks import CLOCKS_MS
from tokenmill.front.route_context import place_of, since, too_late
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
