"""JSON of models: strict where valid, lenient where not, and marked."""

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


@pytest.mark.parametrize(("depth", "too_deep"), [(0, False), (JSON_DEPTH, False), (JSON_DEPTH + 1, True), (5000, True)])
def test_depth_of_a_value(depth: int, too_deep: bool) -> None:
    """Lists and objects count alike."""
    value: Any = 1
    for number in range(depth):
        value = [value, 2] if number % 2 else {"a": value}
    assert nested_too_deep(value) is too_deep


def test_decode_printed() -> None:
    """What Python prints of a JSON value is read back; nesting without end is refused."""
    value = {"a": [None, True, 1.5, "it's \x1b\U000e0001"], "b\xa0": {}}
    assert decode_printed(repr(value)) == value
    assert decode_printed("['\\ud800']") == ["\ufffd"]
    for text in ("[" * 100_000 + "]" * 100_000, "[1", "{'a'}"):
        with pytest.raises(ValueError, match=r".+"):
            decode_printed(text)
