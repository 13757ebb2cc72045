"""What makes a bracket in running text a call."""

import pytest

from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies.json_ahead import CALL_AHEAD, CALLS_AHEAD
from tokenmill.parser.markers import Scanner, marker

SCANNER = Scanner([(marker("{", ahead=CALL_AHEAD), "call"), (marker("[", ahead=CALLS_AHEAD), "calls")])
NAMED = '"name": "f", "arguments": {'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{" + NAMED + '"', "call"),
        ("{" + NAMED + "}", "call"),
        ('{\n  "name" : "f",\n  "parameters" : {\n    "', "call"),
        ("{'name': 'f', 'parameters': {'", "call"),
        ('{"type": "function", ' + NAMED + "}", "call"),
        (r'{"name": "t\u00e9\\t", "arguments": {"', "call"),
        ("[{" + NAMED + "}", "calls"),
        ('[\n  {"type":"function",' + NAMED + "}", "calls"),
    ],
)
def test_calls(text: str, found: str) -> None:
    """A name, then the arguments: at the first sign inside them it is certain, and before that it is held."""
    hit = SCANNER.find(text, 0, final=False)
    assert hit is not None
    assert (hit.start, hit.end, hit.value) == (0, 1, found)
    for size in range(1, len(text)):
        held = SCANNER.find(text[:size], 0, final=False)
        assert held is not None
        assert (held.start, held.end) == (0, -1)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Bob", "age"',
        '{"name": ""',
        r'{"name": "a\", "arguments"',
        '{"name": 1',
        '{"name": "f"}',
        '{"name": "f", "arguments": "',
        '{"name": "f", "arguments": null',
        '{"name": "f", "arguments": {1',
        '{"type": "object"',
        "{ code }",
        "[1]",
        "[ {1",
        '{"name": "' + "x" * (NAME_CHARS + 1),
    ],
)
def test_prose_and_data(text: str) -> None:
    """Anything else is released as soon as it can't be a call."""
    assert SCANNER.find(text, 0, final=False) is None
