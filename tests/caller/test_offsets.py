"""How far a partition of requests is done."""

from tokenmill.caller.offsets import Offsets


def test_what_is_committed_lies_below_everything_unfinished() -> None:
    """In whatever order answers end; what is no request holds nothing up."""
    offsets = Offsets(5, 8)
    assert offsets.due == 5
    for offset, finished in ((5, False), (6, True), (7, False), (9, False)):
        offsets.take(offset, finished=finished)
    assert (offsets.due, offsets.read) == (5, 10)
    offsets.done(7)
    assert offsets.due == 5
    offsets.done(5)
    assert offsets.due == 9
    offsets.done(9)
    offsets.done(9)
    assert offsets.due == 10
