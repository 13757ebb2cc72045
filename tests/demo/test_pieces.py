"""What three APIs say is the same in one shape."""

import msgspec
import pytest

from tests.support.parsing import parse
from tokenmill import render
from tokenmill.demo.model_server import SAMPLES
from tokenmill.demo.pieces import Reader, Told, of_chat, of_messages, of_responses
from tokenmill.demo.tools import TOOLS
from tokenmill.formats import compile_grammar
from tokenmill.parser import read_options

READERS: dict[str, tuple[Reader, str]] = {
    "openai": (of_chat, "tool_calls"),
    "openai_responses": (of_responses, "completed"),
    "anthropic": (of_messages, "tool_use"),
}


@pytest.mark.parametrize("dialect", READERS)
def test_each_api_tells_what_the_model_wrote(dialect: str) -> None:
    """Reasoning, text, the call with its arguments, and the word of the API for why it ended."""
    events = parse(compile_grammar(read_options({"format": "hermes", "tools": TOOLS})), [SAMPLES["hermes"]])
    read, finish = READERS[dialect]
    told = Told()
    for payload in render(events, dialect, "c", "m"):
        if payload != b"[DONE]":
            for piece in read(msgspec.json.decode(payload)):
                told.take(piece)
    assert (told.reasoning, told.text.strip()) == ("I need the forecast.", "I'll look it up.")
    assert told.made() == [("get_weather", {"city": "Paris", "days": 3})]
    assert told.finish == finish
