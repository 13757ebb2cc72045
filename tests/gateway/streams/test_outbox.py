"""What a client has not been written yet: collected, in order, and bounded."""

from tests.support.pipes import FakePipe
from tokenmill.gateway.streams.outbox import PIECE_BYTES, Outbox


def outbox_of(pipe: FakePipe, cap: int = 100, stall_s: float = 10) -> tuple[Outbox, list[Outbox]]:
    told: list[Outbox] = []
    return Outbox(pipe, cap, stall_s, told.append), told


def test_what_comes_within_a_moment_is_one_write() -> None:
    """Whoever flushes is told once that there is something."""
    pipe = FakePipe()
    outbox, told = outbox_of(pipe)
    for piece in (b"a", b"b", b"c"):
        outbox.put(piece)
    assert (told, outbox.held, pipe.writes) == ([outbox], 3, 0)
    assert outbox.flush(now=5)
    assert (pipe.taken, pipe.writes, outbox.held, outbox.written_at) == (b"abc", 1, 0, 5)
    assert outbox.flush(now=6)
    assert (pipe.writes, outbox.written_at) == (1, 5)


def test_nothing_is_written_over_what_is_still_on_its_way() -> None:
    """It is kept in order until the socket took what it has."""
    pipe = FakePipe(room=1)
    outbox, _ = outbox_of(pipe)
    outbox.put(b"ab")
    assert outbox.flush(now=0)
    outbox.put(b"cd")
    assert not outbox.flush(now=1)
    assert (outbox.held, outbox.slow) == (3, False)
    pipe.read(100)
    assert outbox.flush(now=2)
    assert pipe.taken == b"abcd"


def test_much_that_comes_at_once_is_copied_as_it_is_taken() -> None:
    """All clients of a channel share what is collected: a copy for each of those who take nothing would add up."""
    pipe = FakePipe(room=0)
    outbox, _ = outbox_of(pipe, cap=1 << 20)
    frames = [bytes([number]) * (PIECE_BYTES // 2 + 1) for number in range(9)]
    for frame in frames:
        outbox.put(frame)
    assert not outbox.flush(now=0)
    assert (pipe.buffered, outbox.held) == (len(frames[0]), 9 * len(frames[0]))
    pipe.read(1 << 20)
    assert outbox.flush(now=1)
    assert (pipe.taken, outbox.held) == (b"".join(frames), 0)


def test_one_who_takes_what_comes_is_not_slow_because_much_comes_at_once() -> None:
    """That is our reader's doing. What comes while it takes nothing counts."""
    pipe = FakePipe(room=0)
    outbox, _ = outbox_of(pipe, cap=PIECE_BYTES)
    frame = b"x" * PIECE_BYTES
    for _ in range(5):
        outbox.put(frame)
    for number in range(4):
        assert not outbox.flush(now=number)
        assert not outbox.flush(now=number)
        pipe.read(PIECE_BYTES)
    assert outbox.flush(now=5)
    outbox.put(frame)
    assert not outbox.flush(now=6)
    assert (outbox.slow, pipe.taken) == (False, frame * 4)
    outbox.put(b"y")
    assert outbox.flush(now=7)
    assert outbox.slow


def test_one_frame_that_is_more_than_the_cap_makes_nobody_slow() -> None:
    """The kernel does not take all of it, and what comes right behind it is little."""
    pipe = FakePipe(room=50)
    outbox, _ = outbox_of(pipe, cap=10)
    outbox.put(b"x" * 100)
    assert outbox.flush(now=0)
    outbox.put(b"end")
    assert not outbox.flush(now=0.025)
    pipe.read(100)
    assert outbox.flush(now=1)
    assert (outbox.slow, pipe.taken) == (False, b"x" * 100 + b"end")


def test_one_who_is_behind_with_more_than_the_cap_is_slow() -> None:
    """What was collected for it is let go of; nothing more is taken."""
    pipe = FakePipe(room=0)
    outbox, _ = outbox_of(pipe, cap=10)
    outbox.put(b"x" * 6)
    assert outbox.flush(now=0)
    outbox.put(b"y" * 10)
    assert not outbox.flush(now=0)
    outbox.put(b"z")
    assert outbox.flush(now=0)
    outbox.put(b"z")
    assert (outbox.slow, outbox.held) == (True, 6)


def test_one_whose_socket_takes_nothing_for_too_long_is_slow() -> None:
    """However little it is behind with. The time begins anew when it took everything."""
    pipe = FakePipe(room=0)
    outbox, _ = outbox_of(pipe, stall_s=10)
    outbox.put(b"x")
    outbox.flush(now=0)
    assert not outbox.flush(now=1)
    pipe.read(1)
    assert outbox.flush(now=9)
    outbox.put(b"y")
    pipe.room = 0
    outbox.flush(now=20)
    assert not outbox.flush(now=21)
    assert not outbox.flush(now=31)
    assert not outbox.slow
    assert outbox.flush(now=31.1)
    assert outbox.slow


def test_the_rest_can_be_had_by_whoever_waits_for_the_client() -> None:
    """At the end of an answer it has to go out, and nothing twice."""
    pipe = FakePipe(room=1)
    outbox, _ = outbox_of(pipe)
    outbox.put(b"ab")
    outbox.flush(now=0)
    outbox.put(b"cd")
    assert (outbox.piece(), outbox.piece(), outbox.held) == (b"cd", b"", 1)


def test_nothing_is_neither_written_nor_taken_for_the_end() -> None:
    """A frame that its client does not want has no bytes. A connection may end by such a write, and a rest be lost."""
    pipe = FakePipe()
    outbox, _ = outbox_of(pipe, cap=1 << 20)
    outbox.put(b"")
    assert outbox.flush(now=0)
    assert (pipe.writes, outbox.held) == (0, 0)
    large = b"x" * (PIECE_BYTES + 1)
    for piece in (b"", large, b"", b"y"):
        outbox.put(piece)
    assert (outbox.piece(), outbox.piece(), outbox.piece()) == (large, b"y", b"")
