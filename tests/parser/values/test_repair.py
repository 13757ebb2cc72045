"""JSON of models: strict where valid, lenient where not, and marked."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tokenmill.limits import JSON_DEPTH
from tokenmill.parser.values.repair import (
    Spelling,
    decode_json,
    decode_printed,
    decode_string,
    escaped,
    joined_tokens,
    nested_too_deep,
    printed,
    relaxed_tokens,
    whole_characters,
)


def to_json(text: str, *, words: bool = False, growing: bool = False) -> str:
    """As a text is written that is not JSON yet."""
    return joined_tokens(*relaxed_tokens(text, words=words), words=words, growing=growing)


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


@pytest.mark.parametrize(
    ("text", "value", "repaired"),
    [
        ('{"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}, False),
        ('{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890}, False),
        ('{"a": "x\ny"}', {"a": "x\ny"}, True),
        ('{"a": 1e999, "b": -Infinity}', {"a": "1e999", "b": "-Infinity"}, True),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}, True),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}, False),
    ],
)
def test_decode_json(text: str, value: Any, repaired: bool) -> None:  # a parameter of the table
    """What is valid is not marked as repaired; what is not is read as meant."""
    assert decode_json(text) == (value, repaired)


@pytest.mark.parametrize("text", ["", "{", "nope", '{"a": 1} x', "[" * 100_000])
def test_what_can_not_be_read(text: str) -> None:
    """No value: a `ValueError`, never another exception."""
    with pytest.raises(ValueError, match=r".+"):
        decode_json(text)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("plain", "plain"),
        ("a\\nb", "a\nb"),
        ("\\u00e9", "é"),
        ("\\ud83d", "\ufffd"),
        ("\\x", "\\x"),
        ("a\tb\\\\", "a\tb\\"),
    ],
)
def test_decode_string(raw: str, text: str) -> None:
    """Escapes are decoded; one that is none stands for itself."""
    assert decode_string(raw) == decode_string(raw, Spelling.PYTHON) == text


def test_decode_string_by_its_spelling() -> None:
    """What an escape stands for, and whether it is one, depends on whose string it is."""
    raw = "\\x41\\$\\n"
    assert [decode_string(raw, spelling) for spelling in (Spelling.JSON, Spelling.PYTHON, Spelling.WORDS)] == [
        "\\x41\\$\n",
        "A\\$\n",
        "x41$\n",
    ]


def test_whole_characters_everywhere() -> None:
    """Halves of pairs are replaced in keys and values, at any depth."""
    assert whole_characters({"\ud800": ["\udc00", 1, {"a": "b"}]}) == {"\ufffd": ["\ufffd", 1, {"a": "b"}]}


@pytest.mark.parametrize(
    ("text", "too_deep"),
    [
        ("", False),
        ("[" * JSON_DEPTH + "]" * JSON_DEPTH, False),
        ("[" * (JSON_DEPTH + 1) + "]" * (JSON_DEPTH + 1), True),
        ('[{"a":' * (JSON_DEPTH // 2) + "[1]", True),
        ("[[],{}]" * JSON_DEPTH, False),
        ('{"a": "' + "[" * 200 + '"}', False),
        ('["\\"' + "[" * 200 + '\\\\", "]"]', False),
        ('["\\"", ' + "[" * 200, True),
        ("[" * 200 + ' "and no end \\', True),
    ],
)
def test_depth_of_a_text(text: str, too_deep: bool) -> None:
    """Lists and objects count alike, and what stands in strings does not."""
    assert nested_too_deep(text) is too_deep
    assert nested_too_deep(f"[{text}]", around=0) is (nested_too_deep(text, around=1))


def _below(frames: int, read: Callable[[str], Any], text: str) -> Any:
    """What `read` makes of the text when it is called from so deep."""
    return read(text) if not frames else _below(frames - 1, read, text)


@pytest.mark.parametrize("deep", [JSON_DEPTH + 1, 850, 950, 5_000])
@pytest.mark.parametrize("form", ['{"a": %s}', "%s", '{"a": %s, "a": 1}', "{'a': %s}", '{"a": 1e999, "b": %s}'])
def test_what_is_read_does_not_depend_on_the_caller(form: str, deep: int) -> None:
    """A decoder gets as deep as its caller leaves it room: what one process reads, another would not."""
    text = form % ("[" * deep + "]" * deep)
    for read in (decode_json, decode_printed):
        for frames in (0, 100, 500):
            with pytest.raises(ValueError, match="nesting is too deep"):
                _below(frames, read, text)


def test_decode_printed() -> None:
    """What Python prints of a JSON value is read back; nesting without end is refused."""
    value = {"a": [None, True, 1.5, "it's \x1b\U000e0001"], "b\xa0": {}}
    assert decode_printed(repr(value)) == value
    assert decode_printed("['\\ud800']") == ["\ufffd"]
    for text in ("[" * 100_000 + "]" * 100_000, "[1", "{'a'}"):
        with pytest.raises(ValueError, match=r".+"):
            decode_printed(text)
