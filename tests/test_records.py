"""What is read of a record, whoever wrote it."""

import pytest

from tokenmill.records import Headers, number_in


@pytest.mark.parametrize(
    ("headers", "number"),
    [
        ([("n", b"7")], 7),
        ([("n", b"7"), ("n", b"8")], 8),
        ([("n", b"9" * 18)], 10**18 - 1),
        ([("n", b"9" * 19)], -1),
        ([("n", b"9" * 5_000)], -1),
        ([("n", b"-7")], -1),
        ([("n", b"\xd9\xa3")], -1),
        ([("n", b"")], -1),
        ([("n", None)], -1),
        ([("m", b"7")], -1),
        ([], -1),
    ],
)
def test_a_number_is_read_if_a_worker_may_have_written_it(headers: Headers, number: int) -> None:
    """Others may write anything there; Python reads no number of thousands of digits."""
    assert number_in(headers, "n", -1) == number
