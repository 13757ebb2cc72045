"""Rows of the dialect `agent`: what all of a message share, and what is each one's own."""

import json
from uuid import UUID

from tokenmill.dialects import Envelope
from tokenmill.dialects.agent_rows import COMPLETE_CALL, MADE, STREAMED_CALL, STREAMED_TEXT, TOOL_CALL, Rows
from tokenmill.dialects.agent_state import AgentState


def rows(message: str = "m", choice: int = 0, first: int = 5 << 16) -> Rows:
    """Those of one event."""
    return Rows(AgentState(), Envelope("c", message, choice, 0), first, 7)


def test_a_row_is_an_object_with_what_is_its_own() -> None:
    """Whatever stands in the message's id, signs of templates too."""
    made = rows('%b%d"\\é')
    made.add(STREAMED_TEXT, b'"100%b"')
    made.add_object(TOOL_CALL, name="f", arguments={"a": "%d"})
    text, call = (json.loads(payload) for payload in made.payloads)
    assert (text["type"], text["content"], text["isComplete"]) == ("assistant_streaming_message", "100%b", False)
    assert (call["type"], call["name"], call["arguments"]) == ("tool_call", "f", {"a": "%d"})
    assert {row["messageId"] for row in (text, call)} == {'%b%d"\\é'}
    assert {row["timestamp"] for row in (text, call)} == {7}


def test_rows_of_one_type_may_differ_in_more() -> None:
    """Each kind has its own template, also where its type is another's."""
    made = rows()
    made.add(STREAMED_CALL, b'"arguments":"a"')
    made.add(COMPLETE_CALL, b'"arguments":')
    streamed, complete = (json.loads(payload) for payload in made.payloads)
    assert streamed["type"] == complete["type"]
    assert [(row["arguments"], row["isComplete"]) for row in (streamed, complete)] == [("a", False), ("", True)]


def test_ids_count_events_and_their_rows() -> None:
    """The last twelve digits; the others are those of the message and choice."""
    ids = []
    for made in (rows(), rows(first=MADE << 16), rows(choice=1), rows("other")):
        made.add(STREAMED_TEXT, b'""')
        made.add(STREAMED_TEXT, b'""')
        ids.append([UUID(json.loads(payload)["id"]) for payload in made.payloads])
    assert [str(one)[-12:] for one in ids[0] + ids[1]] == [
        "000000050000",
        "000000050001",
        "000008000000",
        "000008000001",
    ]
    assert len({str(one)[:-12] for several in ids for one in several}) == 3
    assert {one.version for several in ids for one in several} == {8}
