"""No text costs more than in proportion to its length; `make fuzz` looks for one for longer."""

import re
from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import msgspec
import pytest

from tests.properties.costs import READERS, Text, growth_problem, parsed, seconds
from tests.properties.fuzz import run_seeds
from tests.support.parsing import grammar
from tokenmill.formats import FORMATS
from tokenmill.parser import Format

DRAWN = 160
"""Texts of a test: of every format some."""

NUMBER = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "number"}}}}}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 4 * DRAWN, DRAWN))
def test_random_patterns_cost_what_their_length_says(first: int) -> None:
    """In every format, whole and in pieces, in some dialect; and with the readers of complete values."""
    assert run_seeds("costs", first, DRAWN) == (DRAWN, None)


@pytest.mark.parametrize("size", [4, 1_000_000])
@pytest.mark.parametrize(
    ("format_", "lead", "pattern", "rest"),
    [
        ("pythonic", "[f(x=", " ", ""),
        ("pythonic", "[f(x=", " ", ")]"),
        ("llama4_pythonic", "<|python_start|>[f(x=", "\t", ")]"),
        ("lfm2", "<|tool_call_start|>[f(x=[", "\n", "])]<|tool_call_end|>"),
        ("olmo3", "<function_calls>f(x={'a':", " ", "r})</function_calls>"),
        ("olmo3", "<function_calls>f(x=", "9", "x)</function_calls>"),
        ("olmo3", "<function_calls>f(x=", "9_", "x)</function_calls>"),
        ("olmo3", "<function_calls>", "f", "(x=1)</function_calls>"),
        ("olmo3", "<function_calls>f(", "x", "=1)</function_calls>"),
        ("qwen3_xml", "<tool_call><function=f><parameter=a>", "9", "x</parameter></function></tool_call>"),
        ("glm_kv", "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>", "9", "x</arg_value></tool_call>"),
        ("json_array", "", "[", ""),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a": ', "[", ""),
        ("lfm2", "<|tool_call_start|>[f(x=", "[", ""),
    ],
)
def test_what_once_took_the_square_of_its_length(format_: str, lead: str, pattern: str, rest: str, size: int) -> None:
    """White space before a value, digits that are no number, a name or nesting without end."""
    compiled = grammar(format_, tools=[NUMBER])
    assert (
        growth_problem(partial(parsed, compiled, size=size), Text(lead, pattern, pattern, mixed=False, rest=rest))
        is None
    )


@pytest.mark.parametrize(
    ("format_", "pattern"),
    [("bare_json", '{"a":1}'), ("pythonic", "[g(x=1) "), ("llama4_pythonic", "<|python_start|>[1]")],
)
def test_what_gives_up_early_has_not_looked_at_all_that_follows(format_: str, pattern: str) -> None:
    """Many calls that are none in one long chunk: each is done with, whatever stands behind it."""
    work = partial(parsed, grammar(format_, tools=[NUMBER]), size=2_000_000)
    assert growth_problem(work, Text("", pattern, pattern, mixed=True, rest=""), 100_000) is None


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_a_long_text(name: str) -> None:
    """Blanks, digits, backslashes and brackets alone, of each as many as a call may have."""
    for pattern in ' 9\\[<"':
        assert growth_problem(READERS[name], Text("", pattern, pattern, mixed=True, rest="x")) is None


def test_what_takes_the_square_is_found() -> None:
    """Two repetitions side by side try every place between them."""
    told = growth_problem(re.compile(r"\s*\s*x").match, Text("", " ", "\n", mixed=True, rest=""), 1_500)
    assert told is not None
    assert "ms for 6,000" in told


TAG_CHARS = 512
"""Of a header or a tag, at most: so patterns for all of one may try some ways, but not all."""

TAG_S = 0.03


def _patterns(node: Any) -> Iterator[str]:
    """The patterns in a format's data that a whole header or tag must match."""
    if isinstance(node, tuple):
        for item in node:
            yield from _patterns(item)
    elif isinstance(node, msgspec.Struct):
        for field in node.__struct_fields__:
            value = getattr(node, field)
            yield from [value] if field in ("pattern", "key", "shape") and isinstance(value, str) else _patterns(value)


WITH_PATTERNS = [format_ for format_ in FORMATS if any(_patterns(format_))]


@pytest.mark.parametrize("format_", WITH_PATTERNS, ids=lambda format_: format_.name)
def test_a_pattern_of_a_header_bears_any_header(format_: Format) -> None:
    """The same characters again and again, between a beginning and an end that fit, or do not."""
    for pattern in set(_patterns(format_)):
        match = re.compile(pattern, re.DOTALL).fullmatch
        for sign in (" ", "\n", "a", "a ", '"', "' ", "=", " string", ":", ".", "0", ' key="a"'):
            for lead, rest in product(
                ("", "a", '"a', "functions.", "x string="), ("", "x", "<", '"', "</ifm|arg_key>x")
            ):
                header = lead + sign * (TAG_CHARS // len(sign)) + rest
                assert any(seconds(match, header) < TAG_S for _ in range(3)), (pattern, sign, lead, rest)
