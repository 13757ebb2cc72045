"""Results in the protocol's own shape, and never larger than they may be."""

from typing import Any

import msgspec
import pytest

from tokenmill.tools.content import ERROR_CHARACTERS, NAME_CHARACTERS, error_of, plain, quoted, result_of

IMAGE = {"type": "image", "data": "aGk=" * 300, "mimeType": "image/png"}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def size(value: Any) -> int:
    return len(msgspec.json.encode(value))


def test_what_fits_is_shown_as_it_came() -> None:
    """Whatever it is."""
    parts = [text("a"), IMAGE, {"type": "resource_link", "uri": "file:///x"}]
    assert result_of(parts, {"n": 1}) == {"content": parts, "structuredContent": {"n": 1}}
    assert result_of([], None) == {"content": []}
    assert result_of([], 0) == {"content": [], "structuredContent": 0}


@pytest.mark.parametrize("sign", ["a", "ä", "\n", "\0", "\U0001f600"])
def test_a_text_keeps_as_much_as_there_is_room_for(sign: str) -> None:
    """However many bytes its characters take."""
    result = result_of([text(sign * 100_000)], None, cap=10_000)
    (part,) = result["content"]
    kept, _, said = part["text"].rpartition("\n")
    assert result["truncated"]
    assert set(kept) == {sign}
    assert said == f"[{100_000 - len(kept)} more characters were left out]"
    assert 9_000 < size(part) <= 10_000


def test_what_is_no_text_is_told_of() -> None:
    """By its kind and size."""
    assert result_of([IMAGE, text("b")], None, cap=400) == {
        "content": [text(f"[image/png of {size(IMAGE)} bytes was left out]"), text("b")],
        "truncated": True,
    }


def test_a_value_that_does_not_fit_is_left_out() -> None:
    """Half of it would be another."""
    assert result_of([text("a")], ["b" * 500], cap=300) == {"content": [text("a")], "truncated": True}


@pytest.mark.parametrize("cap", [0, 40, 150, 300, 900])
def test_many_parts_are_bounded_together(cap: int) -> None:
    """The last ones go without a word when there is no room for one."""
    result = result_of([text("word " * 20)] * 50, ["x"] * 50, cap=cap)
    assert sum(map(size, result["content"])) <= cap
    assert result["truncated"]


def test_an_error_is_its_texts() -> None:
    """Or a sentence, if it has none."""
    assert error_of([text("no such"), IMAGE, text("city")]) == "no such\ncity"
    assert error_of([IMAGE]) == "the tool failed without a word"
    assert len(error_of([text("x" * 10_000)])) == ERROR_CHARACTERS


def test_words_of_a_server_do_nothing_to_a_terminal() -> None:
    """No colours, titles, or lines of their own."""
    assert plain("\x1b[31mred\x1b]0;title\x07 \x9b2J\r\nmore ü\n") == "[31mred ]0;title   2J  more ü"
    assert plain("x" * 10, most=3) == "xxx"


def test_a_name_in_a_log_is_quoted_and_cut() -> None:
    """Whoever chose it writes no line there."""
    assert quoted("weather__forecast") == "'weather__forecast'"
    assert quoted("a\n\u2028\x1b'b") == '"a   \'b"'
    assert len(quoted("x" * 1_000)) == NAME_CHARACTERS + 2
