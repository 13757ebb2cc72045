"""What random answers are made of: what a format's data and samples have, and words of the languages in calls."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tests.conformance.own_cases import own_cases
from tokenmill.formats import find_format
from tokenmill.parser import Format
from tokenmill.parser.markers import Marker

JSON = (
    *('{"name": "f", "arguments": {"b": "x", "n": 1}}', '{"name": "g", "arguments": "{\\"b\\": \\"\\\\n\\"}"}'),
    *('{"arguments":{"name":"B","b":"\\ud83d\\ude00"},"name":"f"}', '{"name": "f", "parameters": {"b": ', "[{"),
    *('{"name":', '"name": "f", ', '"arguments":', '"b":', '"b": "', '", "b": "', '"n": ', '"id": "k1", ', "{}", "[]"),
    *("{", "}", "[", "]", ",", ":", '"', "'", "\\", '\\"', "\\u", "\\ud83d", "\\ude00", "\\n", "//", "/*", "*/", "]]]"),
    *("1e999", "-1e-999", "9" * 40, "0x1F", "-", "+1", "01", ".5", "1_000", "null", "true", "NaN", "-Infinity", "None"),
)
PYTHON = (
    *("f(b=", "g(n=", "[f(b='x', n=1)", "f()", "f(", ")", ")]", "), ", ", b=", "b='", "'''", '"""', 'r"', "rb'", "f'"),
    *(
        "{'name': 'f', 'arguments': {'b': '",
        "'b': '",
        "\\x1b",
        "\\x4",
        "\\N{DASH}",
        "\\U0001f600",
        "\\777",
        "0b1",
        "07",
    ),
    *("1j", "...", "{'b': (1,)}", "lambda", "=", "*", "#"),
)
XML = (
    *("<f>", "</f>", "<b>", "</b>", "</", "/>", "<", ">", "< / b >", "&lt;", "&amp", "&#x", "<![CDATA[", "]]>", "<!--"),
    *('name="f"', " name=f", 'name="b"', 'string="false"', 'type="integer"', "<function=f>", "<parameter=b>", "=", "b"),
)
TEXT = (
    *("text", "f", "g", "b", "n", "unknown", "functions.f:0", "to=functions.f", "12", "1.5", "-3", "true", "a" * 40),
    *("é", "e\u0301", "😀", "👩\u200d👩", "\U0010ffff", "\ufeff", "\u202e", "ﬃ", "İ", "｜", "▁", "\u0000", "\x1b[0m"),
    *(" ", "  ", "\n", "\n\n", "\r\n", "\t", "\u2028", "\u00a0", "\u3000", "\u200b", "\x0b", "\x85", " " * 70),
)
HALVES = ("\ud83d", "\ude00", "\udcff")
"""Halves of surrogate pairs: text that has no bytes."""

_WORDS = re.compile(r"\s+|\w+|\W")


def pieces_of(format_: Format) -> tuple[str, ...]:
    """Markers of a format, their beginnings and ends, and words of its sample."""
    found = sorted(set(spellings(format_)))
    halves = [part for text in found for part in (text[:-1], text[1:], text[: len(text) // 2])]
    return tuple(piece for piece in (*found * 3, *halves, *_words(format_.sample)) if piece)


def answers_of(name: str) -> tuple[str, ...]:
    """Good answers of a format: its sample and its cases."""
    return (find_format(name).sample, *(case.text for case in own_cases(name)))


def _words(text: str) -> list[str]:
    return [word for word in _WORDS.findall(text) if len(word) > 1]


def spellings(node: Any) -> Iterator[str]:
    """Every spelling of every marker in a format's data, in the order of its fields."""
    if isinstance(node, Marker):
        yield from node.spellings
    elif isinstance(node, tuple | Mapping):
        for item in node.values() if isinstance(node, Mapping) else node:
            yield from spellings(item)
    elif isinstance(node, msgspec.Struct):
        for field in node.__struct_fields__:
            yield from spellings(getattr(node, field))
