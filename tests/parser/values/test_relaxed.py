"""JSON as models write it, rewritten as JSON."""

import json
from typing import Any

import pytest

from tokenmill.parser.values.relaxed import Spelling, escaped, printed, to_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 'it\\'s \"so\"'}", {"a": 'it\'s "so"'}),
        ('{a: 1, b_2: {c-d: "x"}, $e : 2}', {"a": 1, "b_2": {"c-d": "x"}, "$e": 2}),
        ('{"a": [1, 2,], "b": 3,}', {"a": [1, 2], "b": 3}),
        ('{"a": 1, // it\'s {\n "b": 2 /* "x", */ }', {"a": 1, "b": 2}),
        ('{"a": [1, /* none */ ], // none\n}', {"a": [1]}),
        ("{'a': True, 'b': False, 'c': None, 'd': null}", {"a": True, "b": False, "c": None, "d": None}),
        ('{"path": "C:\\dir", "pattern": "\\d+\\.\\w"}', {"path": "C:\\dir", "pattern": "\\d+\\.\\w"}),
        ('{"url": "http://x/*y*/", "s": "a, }"}', {"url": "http://x/*y*/", "s": "a, }"}),
        ('{"a": "x\ny"}', {"a": "x\ny"}),
        ("[-1.5e3, +Infinity]"[:7] + "]", [-1.5e3]),
    ],
)
def test_to_json(text: str, value: Any) -> None:
    """What is meant is plain: it is read so."""
    assert json.loads(to_json(text), strict=False) == value


PRINTED = {"a": ["it's \x1b\xa0", 'q"q', {"b'": None, "c": True}], "\U000e0001": [-1, 1e-09, False], "n": "\r\n\\x41"}


def test_escapes_of_python() -> None:
    """What `repr()` prints is read back, by both readers; in JSON's own strings such an escape stands for itself."""
    for value in (PRINTED, ["it's \x7f"], {"p": ["\x00\\U0001f600"]}):
        assert json.loads(to_json(repr(value))) == json.loads(printed(repr(value))) == value
    assert json.loads(to_json("['\\U00110000\\x4\\U0000d83d']")) == ["\ufffd\\x4\ufffd"]
    assert json.loads(to_json('{"p": "\\x41\\U0001f600", b: "it\'s"}')) == {"p": "\\x41\\U0001f600", "b": "it's"}
    assert json.loads(to_json("{'p': '\\x41'}", words=True)) == {"p": "x41"}


def test_where_strings_are_sent_while_they_arrive() -> None:
    """What stands behind a string says nothing of it then."""
    text = """["it's \\x41", {'p': 1}, "\\x41"]"""
    assert json.loads(to_json(text)) == ["it's A", {"p": 1}, "A"]
    assert json.loads(to_json(text, growing=True)) == ["it's \\x41", {"p": 1}, "A"]
    assert json.loads(to_json('["it\'s \\x41"]', growing=True)) == ["it's \\x41"]


@pytest.mark.parametrize(
    "text", ["{a: 1}", "[1] # x", "{'a': tru}", "[nan]", "[Trueish]", "{'a': it}", "[x for x in y]"]
)
def test_what_python_does_not_print(text: str) -> None:
    """Bare words, comments and code are none of it."""
    with pytest.raises(ValueError, match=r".+"):
        json.loads(printed(text))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": }',
        '{"a" 1}',
        "{'a': 'it's'}",
        '{"a": tru}',
        '{"a": 1',
        '{"a": 1}} ',
        "[1,,2]",
        "[,]",
        ",]",
        "@",
        "{a b: 1}",
        "/*",
    ],
)
def test_nothing_is_guessed(text: str) -> None:
    """A missing value, quote, character or bracket stays an error."""
    with pytest.raises(ValueError, match=r".+"):
        json.loads(to_json(text), strict=False)


def test_each_character_is_looked_at_once() -> None:
    """Much of anything is read or refused at once."""
    for piece in ("'", "/*", "{a:", "[1,", "\\", '"\\'):
        text = piece * (100_000 // len(piece))
        try:
            to_json(text)
        except ValueError as problem:
            assert len(str(problem)) < 100  # noqa: PT017 -- either outcome is right


@pytest.mark.parametrize(
    ("content", "as_json"),
    [
        ("a\\nb", "a\\nb"),
        ("\\d\\\\", "\\\\d\\\\"),
        ("\\u00e9\\u12", "\\u00e9\\\\u12"),
        ("\\'\"", "'\\\""),
        ("x\\", "x\\\\"),
    ],
)
def test_escaped(content: str, as_json: str) -> None:
    """What is no escape stands for itself, each on its own: the parts of a string are read as the whole is."""
    assert escaped(content) == escaped(content, Spelling.PYTHON) == as_json
    assert escaped(f"\\x1b{content}") == f"\\\\x1b{as_json}"
    assert escaped(f"\\x1b{content}", Spelling.PYTHON) == f"\\u001b{as_json}"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: b, c: [d-e, f.g]}", {"a": "b", "c": ["d-e", "f.g"]}),
        ("{a: b//c, d: http/x?y}", {"a": "b//c", "d": "http/x?y"}),
        ("{a: true, b: None, c: trueish}", {"a": True, "b": None, "c": "trueish"}),
        ("{a: 1// c\n}", {"a": 1}),
        ("{a: 'x\\$y\\'z\\u00e9\\n'}", {"a": "x$y'zé\n"}),
        ('{"a": "b\\\nc\\user"}', {"a": "b\ncuser"}),
    ],
)
def test_words(text: str, value: Any) -> None:
    """As some readers of JavaScript have it: values without quotes, and no backslash where none is needed."""
    assert json.loads(to_json(text, words=True), strict=False) == value


@pytest.mark.parametrize("text", ["{a: b c}", "{a: 3 days}", "{a: 3days}", "{a: @b}"])
def test_what_is_no_word_is_an_error(text: str) -> None:
    """Nothing is guessed here either."""
    with pytest.raises(ValueError, match=r"."):
        json.loads(to_json(text, words=True))


def test_a_carriage_return_ends_a_comment() -> None:
    """As a new line does."""
    assert json.loads(to_json("{a: 1, // b\rc: 2}")) == {"a": 1, "c": 2}
