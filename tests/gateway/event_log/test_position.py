"""Ids of frames: what is written is read, the order of texts is that of frames, and other text is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.gateway.event_log.position import LONGEST, BadPosition, Position, read_position

OFFSETS = st.integers(0, 2**63 - 1)


@st.composite
def positions(draw: st.DrawFn) -> Position:
    offset = draw(OFFSETS)
    part, back, mark = draw(st.integers(0, 99_999)), draw(st.integers(0, offset)), draw(st.integers(0, 2**32 - 1))
    return Position(draw(st.integers(0, 99_999)), offset, part, back, mark)


@given(positions())
def test_an_id_is_read_as_it_was_written(position: Position) -> None:
    """Whatever the place, its text leads back to it, and means nothing in a URL, a header or JSON."""
    text = str(position)
    assert read_position(text) == position
    assert len(text) < LONGEST
    assert set(text) <= set("0123456789.~")


@given(st.lists(positions(), min_size=2, max_size=2))
def test_ids_sort_as_their_frames_do(two: list[Position]) -> None:
    """Within a partition; Durable Streams' clients compare ids as text."""
    first, second = (position._replace(partition=3, back=0, mark=0) for position in two)
    assert (str(first) < str(second)) == (first.place < second.place)


@given(st.text() | st.from_regex(r"[0-9.~+ _-]{0,40}", fullmatch=True))
def test_any_text_is_an_id_or_refused(text: str) -> None:
    """What is taken can be written again; everything else is `BadPosition`, and no other error."""
    try:
        position = read_position(text)
    except BadPosition:
        return
    assert read_position(str(position)) == position


def test_an_id_may_say_no_mark() -> None:
    """Then it is believed without one."""
    assert read_position("1.8.2~3") == Position(1, 8, 2, 3)
    assert read_position("1.8.2~3~4") == Position(1, 8, 2, 3, 4)


def test_who_stands_in_front_of_the_first_record_may_have_had_an_end() -> None:
    """On another partition, from which it was led there."""
    assert read_position("3.0.0~1") == Position(3, 0, 0, 1)


@pytest.mark.parametrize(
    "text",
    ["", "0.1.1", "0.1.1~", "0.1.1~2", "-1.1.1~0", "0.1.1~0\n", "0.1.1~0,", " 0.1.1~0", "\u0660.1.1~0", "0.1.1~0" * 99],
)
def test_what_is_no_id_is_said_so(text: str) -> None:
    """Nothing is guessed: a wrong place would be another answer."""
    with pytest.raises(BadPosition, match=r"as you got it"):
        read_position(text)
