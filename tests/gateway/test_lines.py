"""Lines come out as they were, wherever the bytes between them were cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.gateway.lines import Lines, LineTooLong


def lines_of(*pieces: bytes, cap: int = 100) -> list[bytes]:
    lines = Lines(cap)
    found = [line for piece in pieces for line in lines.feed(piece)]
    last = lines.last()
    return [*found, last] if last else found


@given(st.lists(st.binary(max_size=6).map(lambda data: data.replace(b"\n", b"")), max_size=8), st.data())
def test_lines_do_not_depend_on_the_cuts(content: list[bytes], data: st.DataObject) -> None:
    """Bytes that come one by one make the lines that all of them make at once."""
    body = b"\n".join(content)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=5)))
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert lines_of(*pieces) == lines_of(body)


def test_line_ends_and_blank_lines_are_no_content() -> None:
    """Windows ends lines with CR and LF; some clients end the last one and some do not."""
    assert lines_of(b"a\r\n\n \r\nb\nc") == [b"a", b"b", b"c"]
    assert lines_of(b"a\n") == [b"a"]
    assert lines_of() == []


def test_a_line_is_known_by_its_number_in_the_body() -> None:
    """As an editor counts."""
    lines = Lines(10)
    assert [(line, lines.number) for line in lines.feed(b"a\n\nb\nc")] == [(b"a", 1), (b"b", 3)]
    assert lines.unfinished
    assert (lines.last(), lines.number, lines.unfinished) == (b"c", 4, False)


@pytest.mark.parametrize("pieces", [[b"a\n" + b"x" * 11], [b"a\n", *[b"x"] * 11], [b"a\n" + b"x" * 11 + b"\n"]])
def test_a_line_over_the_cap_is_refused_before_it_is_whole(pieces: list[bytes]) -> None:
    """Whoever never ends a line takes no more memory than one line may."""
    with pytest.raises(LineTooLong, match="line 2 is longer than 10 bytes"):
        lines_of(*pieces, cap=10)
