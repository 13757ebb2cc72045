"""JSON of models: strict where valid, lenient where not, and marked."""

from collections.abc import Callable
from typing import Any

import pytest

from tokenmill.limits import JSON_DEPTH
from tokenmill.parser.values.relaxed import Spelling
from tokenmill.parser.values.repair import decode_json, decode_printed, decode_string, nested_too_deep, whole_characters


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
