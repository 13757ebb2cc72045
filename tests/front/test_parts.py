"""What the routes of the front share."""

import pytest

from tokenmill.front.parts import CLOCKS_MS, place_of, since
from tokenmill.gateway.reading import Since


@pytest.mark.parametrize(
    ("conversation", "header"),
    [("chat-7", "chat-7"), ("chat 7", "chat 7"), ("7/é", "7%2F%C3%A9"), ("a\r\nb", "a%0D%0Ab")],
)
def test_the_place_of_an_answer_fits_into_headers(conversation: str, header: str) -> None:
    """Whatever the name of the conversation is."""
    assert place_of(conversation, "m") == {"x-conversation-id": header, "tm-message-id": "m"}


def test_an_answer_is_looked_for_a_little_earlier_than_its_request() -> None:
    """Clocks differ; there is no time before the first."""
    assert since(1_000_000) == Since(1_000_000 - CLOCKS_MS)
    assert since(1) == Since(0)
