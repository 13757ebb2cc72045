"""The events of Responses, as their clients get them."""

import msgspec
import pytest

from tokenmill.dialects import find_dialect
from tokenmill.front.framing import ResponseEvents, response_framing
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.streams.framing import SSE

DIALECT = find_dialect("openai_responses")
NAMES = {"mcp__words__lookup": ("mcp__words", "lookup")}


def framed(framing: ResponseEvents, number: int | None) -> bytes:
    """Return an event that names a call, as a client gets it."""
    item = {"type": "function_call", "name": "mcp__words__lookup"}
    said = {"type": "response.output_item.added", "sequence_number": number, "item": item}
    return framing.frame(DIALECT, 0, Frame(7, 0, 0, msgspec.json.encode(said), b"m"))


@pytest.mark.parametrize(
    ("after", "number", "there"), [(None, 0, True), (3, 3, False), (3, 4, True), (0, 0, False), (3, None, True)]
)
def test_a_reader_gets_the_events_after_those_it_has(after: int | None, number: int | None, there: bool) -> None:
    """One without a number, too: it is not an event of the answer."""
    assert bool(framed(ResponseEvents({}, after), number)) == there


def test_a_place_alone_is_for_every_reader() -> None:
    """It moves the client's id."""
    place = Frame(7, 0, 0, b"", b"m")
    assert ResponseEvents(NAMES, 3).frame(DIALECT, 0, place) == b"id: %b\n\n" % str(place.id(0)).encode()


def test_a_call_has_the_names_that_its_client_knows() -> None:
    """If they are known; also for a reader that resumes."""
    for after in (None, 3):
        assert b'"namespace":"mcp__words"' in framed(ResponseEvents(NAMES, after), 4)
        assert b'"name":"mcp__words__lookup"' in framed(ResponseEvents({}, after), 4)


def test_readers_without_a_need_of_their_own_share_a_framing() -> None:
    """What one of them gets is framed for all."""
    assert response_framing({}) is SSE
    assert all(isinstance(framing, ResponseEvents) for framing in (response_framing(NAMES), response_framing({}, 0)))
