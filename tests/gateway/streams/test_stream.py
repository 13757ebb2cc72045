"""A client at the head: what is written at once, what may wait, and why it is over."""

from tests.support.pipes import FakePipe, stream_of
from tokenmill.gateway.event_log.view import Frame
from tokenmill.gateway.streams.stream import MessageFilter


def frame(offset: int, message: bytes = b"m", *, first: bool = False, last: bool = False) -> Frame:
    return Frame(offset, 1, 0, b"{}", message, first=first, last=last, ends=last)


async def test_the_first_frame_and_the_last_are_written_at_once() -> None:
    """Those between wait for the next flush."""
    pipe = FakePipe()
    stream = stream_of(pipe)
    stream.tell([frame(1, first=True)], b"a")
    assert pipe.taken == b"a"
    stream.tell([frame(2)], b"b")
    assert pipe.taken == b"a"
    stream.tell([frame(3, last=True)], b"c")
    assert (pipe.taken, stream.place, stream.over.done()) == (b"abc", (3, 1), False)


async def test_what_it_has_already_is_not_sent() -> None:
    """It came with the id of a frame that this gateway reads only now."""
    pipe = FakePipe()
    stream = stream_of(pipe)
    stream.place = (5, 1)
    stream.tell([frame(5, first=True)], b"old")
    stream.tell([frame(6, first=True)], b"new")
    assert pipe.taken == b"new"


async def test_it_ends_with_the_answer_if_that_was_asked_for() -> None:
    """And takes nothing more."""
    pipe = FakePipe()
    stream = stream_of(pipe, until_finish=True)
    stream.tell([frame(1, first=True)], b"a")
    stream.tell([frame(2, last=True)], b"b")
    stream.tell([frame(3, first=True)], b"c")
    assert (await stream.over, pipe.taken) == ("finished", b"ab")


async def test_one_that_could_not_be_written_its_end_is_slow() -> None:
    """It would take what it has for the whole answer. Whoever looks after it ends it."""
    pipe = FakePipe(room=0)
    stream = stream_of(pipe, cap=1, until_finish=True)
    stream.tell([frame(1, first=True)], b"aa")
    stream.tell([frame(2, last=True)], b"bb")
    assert (stream.outbox.slow, stream.over.done()) == (True, False)


async def test_the_first_reason_counts() -> None:
    """Of several for which it is over."""
    stream = stream_of(FakePipe())
    stream.send_back(77, b"m")
    stream.lose()
    stream.end("closed")
    assert (await stream.over, stream.opened, stream.missing) == ("back", 77, b"m")
    lost = stream_of(FakePipe())
    lost.lose()
    assert await lost.over == "lost"


def test_a_filter_shows_all_messages_or_one() -> None:
    """That one is named, or the first that comes; its last frame is the end of what is shown, whatever else goes on."""
    for made, shown in (
        (MessageFilter(), [b"m", b"n"]),
        (MessageFilter(b"n"), [b"n"]),
        (MessageFilter(single=True), [b"m"]),
    ):
        assert [message for message in (b"m", b"n") if made.takes(message)] == shown
    over = Frame(3, 1, 0, b"{}", b"m", last=False, ends=True)
    assert [MessageFilter(message).ends_with(over) for message in (b"", b"m")] == [False, True]
