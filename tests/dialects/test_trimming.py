"""White space around calls."""

import pytest

from tests.support.parsing import all_cuts
from tokenmill.dialects.trimming import HELD_CHARS, Trimming

CALL, FAIL = object(), object()


def sent(*steps: object, tools: bool = True) -> str:
    """What is sent of text and calls in this order; `|` stands for a call."""
    trimming, out = Trimming(), ""
    for step in steps:
        if step is CALL:
            trimming.call()
            out += "|"
        elif step is FAIL:
            trimming.fail()
        else:
            out += trimming.text(str(step), tools=tools)
    return out + trimming.end()


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (("a \n", CALL), "a|"),
        ((" \n a", CALL), "a|"),
        ((" \n", CALL), "|"),
        (("a ", CALL, " ", CALL, "\nb ", CALL, " c \n"), "a||b|c \n"),
        (("a", CALL, " \n"), "a|"),
        (("a b \n",), "a b \n"),
        (("a \n", FAIL), "a"),
        (("a \n", FAIL, " "), "a"),
        (("a \n", FAIL, "<call> ", CALL), "a \n<call>|"),
        (("a \n", FAIL, "<call> "), "a \n<call> "),
        (("a", FAIL, "b", " "), "ab "),
    ],
)
def test_text_beside_calls_is_trimmed(steps: tuple[object, ...], expected: str) -> None:
    """Everything else stays, and where the text was cut makes no difference."""
    assert sent(*steps) == expected
    pieces = [part for step in steps for part in (list(step) if isinstance(step, str) else [step])]
    assert sent(*pieces) == expected


def test_what_an_answer_begins_with_stays_where_it_has_no_tools() -> None:
    """Indentation of code, say; where calls may follow it is known too late that none does."""
    assert sent("  a ", tools=False) == "  a "
    assert sent(" ", " ", tools=False) == "  "
    assert sent("  a ", tools=True) == "a "
    assert sent("  ", CALL, tools=False) == "|"
    assert sent("a", CALL, " b", tools=False) == "a|b"


def test_nothing_but_white_space_waits() -> None:
    """Text is sent at once."""
    trimming = Trimming()
    assert [trimming.text(text, tools=True) for text in ("a", " ", "b c\n")] == ["a", "", " b c"]


def test_what_waits_is_bounded() -> None:
    """P8: the last white space waits, whatever the cut; what is in front of it is content."""
    text = "a" + " " * (HELD_CHARS + 10)
    for chunks in ([text], list(text), *list(all_cuts(text))[::97]):
        trimming = Trimming()
        assert "".join(trimming.text(chunk, tools=True) for chunk in chunks) == "a" + " " * 10
        assert len(trimming.held) == HELD_CHARS
