"""Markup read as far as it can be, and values of nested elements by their schema."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.costs import Text, growth_problem
from tokenmill.parser.values.markup import DEPTH, arguments_of, read_markup, unescaped, unescaped_markup
from tokenmill.parser.values.schema import NO_SHAPE, Shape


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", ""),
        ("  a b\n", "a b"),
        ("<a>1</a>", {"a": "1"}),
        ("<a>1</a> text <b><c> x </c></b>", {"a": "1", "b": {"c": "x"}}),
        ("<i>1</i><i>2</i><j/>", {"i": ["1", "2"], "j": ""}),
        ("<0>x</0><1 />", {"0": "x", "1": ""}),
        ("<a x=\"1 > 2\" y='/>'>b</a>", {"a": "b"}),
        ("<a>b</ a\n>", {"a": "b"}),
        ("<!-- <a>no</a> --><b>y</b><!-- open", {"b": "y"}),
        ("<a><![CDATA[<b> & c]]></a>", {"a": "<b> & c"}),
        ("a < b & c > d <3", "a < b & c > d <3"),
        ("<a>1 &lt; 2 &amp;&amp; &#51; &#x34;</a>", {"a": "1 < 2 && 3 4"}),
        ("</x><a>1</a></y>", {"a": "1"}),
        ("<a>1</x></a>", {"a": "1</x>"}),
        ("<a>1", {"a": "1"}),
        ("<l><i>1</l>", {"l": {"i": "1"}}),
        ("<l><i>1<i>2</l>", {"l": {"i": ["1", "2"]}}),
        ("<s><s>a</s><t>b</t><s><s>c</s><t>d</t></s>", {"s": [{"s": "a", "t": "b"}, {"s": "c", "t": "d"}]}),
    ],
)
def test_what_is_meant_is_read(text: str, value: Any) -> None:
    """Text, elements, and what models leave off."""
    assert read_markup(text) == value


@pytest.mark.parametrize("text", ["<a>1</a>2</a>", "<a>1</a></a>", "<l><a>1</a><b/></a></l>", "<l><a/></a>"])
def test_an_end_that_can_not_be_told(text: str) -> None:
    """A closing of an element that is complete may be the one that counts: the first was part of its text then."""
    with pytest.raises(ValueError, match="there is no telling where <a> ends"):
        read_markup(text)


@given(st.text("<>/ab !-[]&;\"'= \n") | st.text())
def test_no_text_raises_anything_else(text: str) -> None:
    """Model output never does."""
    with suppress(ValueError):
        assert isinstance(read_markup(text), str | dict)


def test_what_is_too_deep_is_refused() -> None:
    """Values stay as shallow as their readers bear."""
    assert read_markup("<a>" * DEPTH + "</a>" * DEPTH)
    with pytest.raises(ValueError, match="too deep"):
        read_markup("<a>" * (DEPTH + 1) + "</a>" * (DEPTH + 1))


@pytest.mark.parametrize(
    "piece", ["<a/></b>", '<a "', "<a  ", "</ ", "<a>", "</a>", "<a b='", "<!-", "<![CDATA[", "&#", "<a/"]
)
def test_the_effort_is_linear(piece: str) -> None:
    """Each character is looked at a bounded number of times, whatever begins and never ends."""
    assert growth_problem(_read, Text("", piece, piece, mixed=False, rest="")) is None


def _read(text: str) -> None:
    with suppress(ValueError):
        read_markup(text)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("&lt;&gt;&amp;&quot;&apos;", "<>&\"'"),
        ("&amp;lt;", "&lt;"),
        ("&nbsp; &copy &#; &#xD800; &#0; &#9999999;", "&nbsp; &copy &#; &#xD800; &#0; &#9999999;"),
        ("&#128512;&#x1F600;", "😀😀"),
    ],
)
def test_entities(text: str, plain: str) -> None:
    """Those of XML and numbers of characters; once only. Others stay."""
    assert unescaped(text) == plain


def test_raw_sections_stay_in_text_that_stays_markup() -> None:
    """With their wrapper, entities in them included."""
    assert unescaped_markup("&lt;<![CDATA[&lt;]]>&gt;<![CDATA[&amp;") == "<<![CDATA[&lt;]]>><![CDATA[&amp;"
    assert unescaped_markup("a &amp; b") == "a & b"


EITHER = {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]}
FILTER = {
    "anyOf": [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {"b": {"type": "integer"}}},
    ]
}

NAMES = {"I": "item", "T": "$text"}


def read(text: str, schema: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments of `a(b)` written for a → b: names are single letters, brackets hold what is inside.

    Without a schema the tool is not among those that are known.
    """
    marks, names = [], ""
    for at, sign in enumerate(text):
        if sign == "(":
            names += text[at - 1]
            marks.append((True, NAMES.get(names[-1], names[-1]), at - 1, at + 1))
        elif sign == ")":
            marks.append((False, NAMES.get(names[-1], names[-1]), at, at + 1))
            names = names[:-1]
    shape = NO_SHAPE if schema is None else Shape({"properties": schema}, {})
    return arguments_of(text, marks, shape, known=schema is not None)[0]


@pytest.mark.parametrize(
    ("text", "schema", "expected"),
    [
        ("a(1)", {}, {"a": "1"}),
        ("a(true)b(null)c(True)", {}, {"a": True, "b": None, "c": "True"}),
        ("a(1)", {"a": {"type": "integer"}}, {"a": 1}),
        ("a(b(1))", {"a": {"type": "string"}}, {"a": "b(1)"}),
        ("a(b(1))", {"a": {"type": ["string", "object"]}}, {"a": "b(1)"}),
        ("a(b(1)c(2))", {}, {"a": {"b": "1", "c": "2"}}),
        ("a(b(1)b(2))", {}, {"a": {"b": ["1", "2"]}}),
        ("a(1)a(2)", {"a": {"type": "array", "items": {"type": "integer"}}}, {"a": ["1", "2"]}),
        ("a(b(1)b(2))", {"a": {"type": "array", "items": {"type": "integer"}}}, {"a": [1, 2]}),
        ("a(b(1))a(b(2))", {"a": {"type": "array", "items": {"type": "integer"}}}, {"a": [1, 2]}),
        ("a()b()c( )", {"a": {"type": "array"}, "b": {"type": "object"}}, {"a": [], "b": {}, "c": " "}),
        ("a([1, {}])", {"a": {"type": "array"}}, {"a": [1, {}]}),
        ("a(x)", {"a": {"type": "array"}}, {"a": "x"}),
        ("a(I(1)I(2))", {"a": EITHER}, {"a": [1, 2]}),
        ("a( I(1) )", {"a": EITHER}, {"a": [1]}),
        ("a(b(1))", {"a": EITHER}, {"a": "b(1)"}),
        ("a(x I(1))", {"a": EITHER}, {"a": "x I(1)"}),
        ("a(I(1)I(2))", {"a": FILTER}, {"a": ["1", "2"]}),
        ("a(I(1))", {"a": FILTER}, {"a": ["1"]}),
        ("a(b(1))", {"a": FILTER}, {"a": {"b": 1}}),
        ("a(I(1)b(2))", {"a": FILTER}, {"a": {"item": "1", "b": 2}}),
        ("a(I(1)I(2))", {"a": {"type": "object"}}, {"a": {"item": ["1", "2"]}}),
        ("a(I(1)I(2))", {}, {"a": ["1", "2"]}),
        ("a(I(1)I(2))b(I(3))", None, {"a": {"item": ["1", "2"]}, "b": {"item": "3"}}),
        ("a(hi b(1) there)", {"a": {"type": "object"}}, {"a": {"b": "1", "$text": "hi  there"}}),
        ("a(b(1)\n b(2)!)", {}, {"a": {"b": ["1", "2"], "$text": "\n !"}}),
        ("a(xT(1))", {"a": {"type": "object"}}, {"a": {"$text": "1", "$$text": "x"}}),
        ("a(x I(1))", {"a": {"type": "array"}}, {"a": ["1"]}),
    ],
)
def test_values(text: str, schema: dict[str, Any] | None, expected: dict[str, Any]) -> None:
    """Objects, arrays and leaves as the schema says, by their look where it says nothing."""
    assert read(text, schema) == expected
