"""White space around calls."""

import pytest

from tests.support.parsing import all_cuts
from tokenmill.dialects.margins import HELD_CHARS, Margins

CALL, FAIL = object(), object()


def sent(*steps: object, tools: bool = True) -> str:
    """What is sent of text and calls in this order; `|` stands for a call."""
    margins, out = Margins(), ""
    for step in steps:
        if step is CALL:
            margins.call()
            out += "|"
        elif step is FAIL:
            margins.fail()
        else:
            out += margins.text(str(step), tools=tools)
    return out + margins.end()


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
    margins = Margins()
    assert [margins.text(text, tools=True) for text in ("a", " ", "b c\n")] == ["a", "", " b c"]


def test_what_waits_is_bounded() -> None:
    """P8: the last white space waits, whatever the cut; what is in front of it is content."""
    text = "a" + " " * (HELD_CHARS + 10)
    for chunks in ([text], list(text), *list(all_cuts(text))[::97]):
        margins = Margins()
        assert "".join(margins.text(chunk, tools=True) for chunk in chunks) == "a" + " " * 10
        assert len(margins.held) == HELD_CHARS
