"""Dropping what was delivered before."""

import pytest

from tokenmill.client import Repeats


def headers(seq: int, part: str = "1/1", message: str = "m1") -> list[tuple[str, bytes]]:
    return [("tm-message-id", message.encode()), ("tm-seq", str(seq).encode()), ("tm-part", part.encode())]


def test_an_event_that_comes_again_is_dropped() -> None:
    """A worker that crashed publishes the last events of a message a second time."""
    repeats = Repeats()
    seen = [repeats.fresh(b"c1", headers(seq)) for seq in (0, 1, 2, 1, 2, 3)]
    assert seen == [True, True, True, False, False, True]


def test_parts_of_one_event_are_told_apart() -> None:
    """A dialect may make several payloads of one event."""
    repeats = Repeats()
    seen = [repeats.fresh(b"c1", headers(4, part)) for part in ("1/2", "2/2", "1/2", "2/2")]
    assert seen == [True, True, False, False]


def test_messages_conversations_and_choices_have_their_own_positions() -> None:
    """The same number in another message is another event."""
    repeats = Repeats()
    assert repeats.fresh(b"c1", headers(0))
    assert repeats.fresh(b"c2", headers(0))
    assert repeats.fresh(b"c1", headers(0, message="m2"))
    assert repeats.fresh(b"c1", [*headers(0), ("tm-choice", b"1")])


def test_an_id_that_is_used_again_is_another_message() -> None:
    """It begins at 0 once more. What a worker publishes again of it says the same time of its beginning."""
    repeats = Repeats()
    first, second = (("tm-opened", opened) for opened in (b"1700000000000", b"1700000000001"))
    assert [repeats.fresh(b"c1", [*headers(seq), first]) for seq in (0, 1, 2)] == [True] * 3
    assert [repeats.fresh(b"c1", [*headers(seq), second]) for seq in (0, 1, 1, 2)] == [True, True, False, True]
    assert not repeats.fresh(b"c1", [*headers(2), first])


def test_records_without_a_number_always_pass() -> None:
    """Notices of lost state and tool results have no place in a message's order."""
    repeats = Repeats()
    assert repeats.fresh(b"c1", [])
    assert repeats.fresh(b"c1", [])


@pytest.mark.parametrize(("name", "value"), [("tm-seq", b"one"), ("tm-seq", b""), ("tm-part", b"x/2")])
def test_records_with_a_number_that_is_none_always_pass(name: str, value: bytes) -> None:
    """No worker wrote them, and nobody has to stop for them."""
    repeats = Repeats()
    assert [repeats.fresh(b"c1", [*headers(0), (name, value)]) for _ in range(2)] == [True, True]


def test_only_so_many_messages_are_remembered() -> None:
    """Memory is bounded: the message that was quiet for longest is forgotten first."""
    repeats = Repeats(remembered=2)
    for message in ("m1", "m2", "m3"):
        repeats.fresh(b"c1", headers(0, message=message))
    assert repeats.fresh(b"c1", headers(0, message="m1"))
    assert not repeats.fresh(b"c1", headers(0, message="m3"))


def test_a_message_that_goes_on_is_remembered() -> None:
    """However long ago it began."""
    repeats = Repeats(remembered=2)
    for seq, message in ((0, "long"), (0, "m1"), (1, "long"), (0, "m2")):
        assert repeats.fresh(b"c1", headers(seq, message=message))
    assert not repeats.fresh(b"c1", headers(1, message="long"))
