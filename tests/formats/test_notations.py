"""How arguments are written."""

from typing import Any

import pytest

from tokenmill.formats.notations import Elements, Json, Literal, Marked, Python, Tags
from tokenmill.parser.spec import Notation

ARGUMENTS: dict[str, Any] = {"s": 'a "b"', "n": 1, "t": True, "z": None, "l": ["x", 2], "o": {"k": "v"}}


@pytest.mark.parametrize(
    ("notation", "written"),
    [
        (Json(), '{"s": "a \\"b\\"", "n": 1, "t": true, "z": null, "l": ["x", 2], "o": {"k": "v"}}'),
        (Literal(), "{'s': 'a \"b\"', 'n': 1, 't': True, 'z': None, 'l': ['x', 2], 'o': {'k': 'v'}}"),
        (
            Tags("<$key $type $is_text>$value;"),
            (
                '<s string true>a "b";<n number false>1;<t boolean false>true;<z null false>null;'
                '<l array false>["x", 2];<o object false>{"k": "v"};'
            ),
        ),
        (
            Elements(),
            '<s>a "b"</s><n>1</n><t>true</t><z>null</z><l><item>x</item><item>2</item></l><o><k>v</k></o>',
        ),
        (Python(), 's="a \\"b\\"", n=1, t=True, z=None, l=["x", 2], o={"k": "v"}'),
        (Marked("|"), 's:|a "b"|,n:1,t:true,z:null,l:[|x|,2],o:{k:|v|}'),
    ],
)
def test_all_kinds_of_values(notation: Notation, written: str) -> None:
    """Text as the notation has it, nested values too."""
    assert notation.write(ARGUMENTS) == written


def test_signs_of_tags_are_escaped_where_there_are_escapes() -> None:
    """And only there; every tag has its token."""
    assert Elements(escapes=True).write({"a": "<b> & c"}) == "<a>&lt;b&gt; &amp; c</a>"
    assert Elements("|").write({"a": "<b>", "c": []}) == "|<a><b>|</a>|<c>[]|</c>"
