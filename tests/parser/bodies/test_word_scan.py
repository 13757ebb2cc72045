"""Slashes in words."""

import pytest

from tokenmill.parser.bodies.json_scan import Token
from tokenmill.parser.bodies.word_scan import TaggedJsonState, WordScan, is_word
from tokenmill.parser.markers import Scanner
from tokenmill.parser.run.state import JsonState


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("{a: b//c}", True),
        ("{a: {x: b/c, y: [d//e]}}", True),
        ("{a: $/}", True),
        ("{a: 1// }\n}", True),
        ("{a: 1// }", False),
        ("{a: {x: 1/* }} */}}", True),
        ("{a: {x: 1 // }}", False),
        ("{a: 'b'// }", False),
    ],
)
def test_a_slash_in_a_word_begins_no_comment(text: str, ends: bool) -> None:
    """Behind a number, a string or white space it does."""
    state, scan, position, token = TaggedJsonState(), WordScan(1, Scanner([])), 0, Token.KEY
    while token not in (Token.MORE, Token.BAD):
        position, token = scan.step(state, text, position)
        if token == Token.END and not state.stack:
            break
    assert (token == Token.END) is ends


def test_the_word_may_have_begun_in_another_buffer() -> None:
    """The state knows its last character."""
    assert is_word(TaggedJsonState(before="a"), "/", 0)
    assert not is_word(TaggedJsonState(before="1"), "/", 0)
    assert not is_word(JsonState(), "/", 0)
    assert is_word(JsonState(), "_/", 1)
