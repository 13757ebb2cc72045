"""What clients say on a WebSocket: `gateway/websocket/client_frames.py`."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.problems import Refused
from tokenmill.gateway.websocket.client_frames import conversation_in, read_frame, read_subscribe
from tokenmill.gateway.websocket.server_frames import WebSocketFraming

PLACE = Position(0, 7, 1, 3)


def test_a_frame_without_a_type_subscribes() -> None:
    """So the first frame needs none."""
    said = read_frame('{"conversation": "c"}')
    assert (said.type, said.fields) == ("subscribe", {"conversation": "c"})


def test_a_subscription_asks_what_a_request_asks() -> None:
    """The same words."""
    fields = {"dialect": "openai", "last_event_id": str(PLACE), "until": "finish", "replay": "folded"}
    asked = read_subscribe({"conversation": "c", **fields}).as_request("c", WebSocketFraming("c"))
    assert (asked.conversation, asked.dialect.name, asked.start) == ("c", "openai", PLACE)
    assert (asked.until_finish, asked.folded, asked.comes_back, asked.framing) == (
        True,
        True,
        True,
        WebSocketFraming("c"),
    )
    assert read_subscribe({"from": "start"}).as_request("c", WebSocketFraming()).start == "start"
    assert read_subscribe({}).as_request("c", WebSocketFraming()).start == "now"


@pytest.mark.parametrize("content", ["", "[]", "3", "{", '"a"', '{"type": 3}', "[" * 100_000, "\ud800"])
def test_what_is_no_frame_is_refused(content: str) -> None:
    """With what to say instead."""
    with pytest.raises(Refused):
        read_frame(content)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"last_even_id": "x"}, "last_even_id"),
        ({"dialect": 3}, "dialect"),
        ({"dialect": "klingon"}, "tokenmill dialects"),
        ({"from": "yesterday"}, "expected now, start"),
        ({"until": "noon"}, "finish"),
        ({"replay": "twice"}, "exact or folded"),
    ],
)
def test_a_subscription_that_is_not_understood_is_refused(fields: dict[str, object], says: str) -> None:
    """A misspelt place would be lost without a word."""
    with pytest.raises(Refused, match=says):
        read_subscribe(fields).as_request("c", WebSocketFraming())


def test_conversations_are_text() -> None:
    """Or there is none."""
    assert (conversation_in({}), conversation_in({"conversation": "c"})) == ("", "c")
    with pytest.raises(Refused):
        conversation_in({"conversation": 3})


@given(st.text() | st.dictionaries(st.text(), st.none() | st.integers() | st.text()).map(str))
def test_any_text_is_a_frame_or_refused(content: str) -> None:
    """Nothing else happens."""
    with suppress(Refused):
        assert isinstance(read_frame(content).fields, dict)
