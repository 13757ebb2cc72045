"""What a dialect writes, the codec of the same shape reads back: text, reasoning, calls and the reason are the same.

All cases of all formats go through: the project's own, and those of other projects where they are.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from tests.conformance.own_cases import own_cases
from tests.conformance.shared_cases import options_of, shared_cases
from tests.support.every import every
from tests.support.parsing import named, reasoning_of, text_of
from tests.support.provided import provided
from tokenmill.dialects import Envelope, find_dialect
from tokenmill.events import AnyEvent, Finish, ToolCall
from tokenmill.formats import FORMATS, compile_grammar
from tokenmill.parser import MessageParser, Options, read_options

SHAPES = ("anthropic", "openai", "openai_responses")
"""Names that are both a dialect's and a codec's; the shape of the AI SDK leaves out reasoning."""

SHOWN = {
    "vllm:tests/parser/engine/test_minimax_m3.py::TestArguments::test_malformed_element_keeps_preceding_params"
    "[]<]minimax[>[<note>unterminated]": "an element that is never closed is left out of the call; its text was shown"
}
"""Cases, by source, in which arguments that grew can't be taken back, and why."""

STEP = 7
"""Characters of a chunk: markers and calls are cut."""


class Told(NamedTuple):
    """What a message says, white space apart: one shape leaves it out around calls."""

    text: str
    reasoning: str
    calls: list[tuple[str, str, Any]]
    reason: str

    @classmethod
    def of(cls, events: list[AnyEvent]) -> "Told":
        """That of events."""
        (finish,) = named(events, Finish)
        calls = [(call.id, call.name, _plain(call.arguments)) for call in named(events, ToolCall)]
        return cls("".join(text_of(events).split()), "".join(reasoning_of(events).split()), calls, finish.reason)


def _plain(arguments: Any) -> str:
    """Arguments as JSON can say them: what is not finite is nothing."""
    return msgspec.json.encode(arguments, order="sorted").decode()


def cases(format_name: str, *, shared: bool) -> Iterator[tuple[str, Options]]:
    """Text and options of the cases of a format."""
    if shared:
        for case in shared_cases(format_name):
            if case["source"] not in SHOWN:
                yield case["text"], options_of(case)
    else:
        for own in own_cases(format_name):
            yield own.text, read_options({"format": format_name, "tools": own.tools, **own.open})


def native(text: str, options: Options) -> tuple[list[AnyEvent], Envelope]:
    """The events of a case, with all deltas."""
    grammar = compile_grammar(options)
    parser = MessageParser.of(grammar, "identity")
    events = parser.start()
    for at in range(0, len(text), STEP):
        events += parser.feed(text[at : at + STEP])
    envelope = Envelope("c", "m", 0, 1_760_000_000_000, grammar.message_start)
    return events + parser.finish("stop"), envelope


def check(text: str, options: Options) -> None:
    """Assert that a case comes back from every shape."""
    events, envelope = native(text, options)
    for shape in SHAPES:
        check_shape(shape, events, envelope)


def check_shape(shape: str, events: list[AnyEvent], envelope: Envelope) -> None:
    """Assert that what a dialect writes of events says the same."""
    dialect = find_dialect(shape)
    state = dialect.state_type() if dialect.state_type else None
    payloads = [
        payload for seq, event in enumerate(events) for payload in dialect.encode(state, envelope, event, seq, 0)
    ]
    back = provided(shape, *payloads)
    assert back.rejected == []
    assert Told.of(back.events) == Told.of(events), shape


@pytest.mark.parametrize("growing", [True, False], ids=["growing", "whole"])
@pytest.mark.parametrize("format_name", [format_.name for format_ in FORMATS])
def test_own_cases_come_back(format_name: str, growing: bool) -> None:
    """With arguments that grow, and whole."""
    grow = {"stream_tool_input": growing, "content_arguments": ["*"]}
    every(cases(format_name, shared=False), lambda case: check(case[0], replace(case[1], **grow)), itemgetter(0))


@pytest.mark.parametrize("format_name", [format_.name for format_ in FORMATS])
def test_cases_of_other_projects_come_back(format_name: str) -> None:
    """With arguments that grow."""
    grow = {"stream_tool_input": True, "content_arguments": ["*"]}
    every(cases(format_name, shared=True), lambda case: check(case[0], replace(case[1], **grow)), itemgetter(0))
