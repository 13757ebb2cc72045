"""What of a string can be decoded before its end is known."""

import pytest

from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies.json_reading import CALL_AHEAD, CALLS_AHEAD, certain
from tokenmill.parser.markers import Scanner, marker
from tokenmill.parser.values.relaxed import Spelling


@pytest.mark.parametrize(
    ("raw", "whole"),
    [
        ("plain", "plain"),
        ("a\\", "a"),
        ("a\\n", "a\\n"),
        ("a\\\\", "a\\\\"),
        ("a\\\\\\", "a\\\\"),
        ("\\u00e", ""),
        ("\\u00e9", "\\u00e9"),
        ("\\u00zz", "\\u00zz"),
        ("\\ud83d", ""),
        ("\\ud83d\\", ""),
        ("\\ud83d\\ude0", ""),
        ("\\ud83d\\ude00", "\\ud83d\\ude00"),
        ("\\ud83dx", "\\ud83dx"),
        ("\\ud83d\\n", "\\ud83d\\n"),
        ("\\ude00", "\\ude00"),
        ("\\\\ud83d", "\\\\ud83d"),
    ],
)
def test_whole_escapes(raw: str, whole: str) -> None:
    """Half an escape and half a surrogate pair wait for the rest; whatever can't become one does not."""
    assert raw[: certain(raw)] == raw[: certain(raw, Spelling.PYTHON)] == whole


@pytest.mark.parametrize(
    ("raw", "whole"),
    [
        ("a\\x", "a"),
        ("\\x1", ""),
        ("\\x1b[", "\\x1b["),
        ("\\xa ", "\\xa "),
        ("\\U0001f60", ""),
        ("\\U0001f600", "\\U0001f600"),
        ("\\U0001z", "\\U0001z"),
        ("\\ud83d\\U0000", "\\ud83d"),
        ("\\\\x1", "\\\\x1"),
    ],
)
def test_whole_escapes_of_python(raw: str, whole: str) -> None:
    """Those that only Python has wait, too; in JSON they are none."""
    assert raw[: certain(raw, Spelling.PYTHON)] == whole
    assert raw[: certain(raw)] == raw


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
    """A name, then the arguments: at the first character inside them it is certain, and before that it is held."""
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
