"""The check that a gateway served an answer notices when it did not."""

from collections.abc import Callable

import pytest

from tests.support.gateways import answer, listening
from tokenmill.demo.gateway_streams import GatewayStreams, events_url
from tokenmill.errors import FatalError
from tokenmill.events import AnyEvent, decode_event
from tokenmill.records import Output

pytestmark = pytest.mark.integration

ANSWER = answer("a b", "m", ["Hello ", "world"])

EVENTS = [decode_event(record.value or b"") for record in ANSWER]

WRONG: dict[str, Callable[[list[Output]], list[AnyEvent]]] = {
    "one is missing": lambda _: EVENTS[:-1],
    "one came twice": lambda _: [*EVENTS, EVENTS[-1]],
}


async def test_what_was_served_is_compared_with_what_there_is(kafka: str, unique: str) -> None:
    """A conversation is followed before it begins."""
    async with listening(kafka, unique) as gate, GatewayStreams(gate.url) as served:
        opened: list[int] = []
        await served.follow(["a b", "another"], 20, opened.append)
        assert opened == [0, 1]
        await gate.say(ANSWER)
        await served.check("a b", EVENTS, 20)
        for wrong in WRONG.values():
            with pytest.raises(FatalError, match="the gateway served"):
                await served.check("a b", wrong(ANSWER), 20)


async def test_an_answer_that_does_not_end_is_not_waited_for(kafka: str, unique: str) -> None:
    """Longer than is said."""
    async with listening(kafka, unique) as gate, GatewayStreams(gate.url) as served:
        await served.follow(["c"], 20)
        with pytest.raises(FatalError, match="did not serve the end of 'c'"):
            await served.check("c", EVENTS, 0.2)


def test_a_conversation_is_part_of_the_path() -> None:
    """Whatever it is called."""
    assert events_url("http://g", "a/b c", "from=now") == "http://g/v1/conversations/a%2Fb%20c/events?from=now"
