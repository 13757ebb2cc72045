"""Escapes inside of values."""

import pytest

from tokenmill.parser.bodies.escapes import XML


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a &lt;&gt;&amp;&quot;&apos;", "a <>&\"'"),
        ("&amp;lt;", "&lt;"),
        ("&lt &nbsp; & ]]>", "&lt &nbsp; & ]]>"),
        ("<![CDATA[&lt;\n]]>&lt;<![CDATA[]]>", "&lt;\n<"),
        ("<![CDATA[x", "<![CDATA[x"),
    ],
)
def test_decoding(text: str, expected: str) -> None:
    """Each sign once; a raw section as it stands; what is no escape stays."""
    assert XML.decoder()(text) == expected
