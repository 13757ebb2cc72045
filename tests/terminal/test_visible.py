"""Text of others, made harmless."""

import pytest

from tests.support.hostile import FILLERS
from tokenmill.terminal.visible import one_line, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, 天気, \U0001f600", "plain, 天気, \U0001f600"),
        ("a\n\tb", "a\n\tb"),
        ("\x1b[31m\x07\r\x9b", "<U+001B>[31m<U+0007><U+000D><U+009B>"),
        ("abc\u202ecba\u200b", "abc<U+202E>cba<U+200B>"),
        ("\ud83d\ue000\u2028", "<U+D83D><U+E000><U+2028>"),
        ("1\u00a0000\u3000a\u200cb", "1\u00a0000\u3000a\u200cb"),
    ],
)
def test_what_can_not_be_seen_is_named(text: str, shown: str) -> None:
    """Characters that move, colour or reverse what is shown; but not what letters and words need."""
    assert visible(text) == shown


@pytest.mark.parametrize("char", FILLERS.replace("\ufe0f", "\u2065"))
def test_what_has_no_ink_is_named(char: str) -> None:
    """Text that one can't see may be read by a model, or hide in a name."""
    assert visible(f"a{char}b") == f"a<U+{ord(char):04X}>b"


def test_what_makes_a_sign_an_emoji_is_kept() -> None:
    """And so are letters with marks above them."""
    for text in ("\u2764\ufe0f", "\u2764\ufe0e", "e\u0301"):
        assert visible(text) == text


def test_text_on_one_line_has_its_white_space_joined() -> None:
    """Line breaks included."""
    assert one_line(" a\n\n b\tc\x00 ") == "a b c<U+0000>"
