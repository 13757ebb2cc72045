"""Records that can't be used."""

from tokenmill.errors import TooLarge, Undecodable
from tokenmill.partition.dead_letters import TEXT_CHARS, dead_letter
from tokenmill.records import InputRecord

SOURCE = ("tokens", 3)
RECORD = InputRecord("tokens", 3, 17, 1_234, b"key", b"value", [("trace", b"1"), ("trace", b"2")])


def test_a_record_goes_as_it_came_with_the_reason_in_headers() -> None:
    """Key, value, timestamp and own headers are unchanged."""
    output = dead_letter(RECORD, SOURCE, Undecodable("no JSON"), "dlq", 1_000)
    assert (output.topic, output.timestamp, output.key, output.value) == ("dlq", 1_234, b"key", b"value")
    assert output.headers == [
        ("trace", b"1"),
        ("trace", b"2"),
        ("tm-error-code", b"undecodable"),
        ("tm-error", b"no JSON"),
        ("tm-source-topic", b"tokens"),
        ("tm-source-partition", b"3"),
        ("tm-source-offset", b"17"),
    ]


def test_above_the_cap_the_value_is_left_out_and_that_is_marked() -> None:
    """The key and the headers are still there."""
    large = InputRecord("tokens", 3, 17, 1_234, b"key", b"x" * 2_000, [("trace", b"1")])
    output = dead_letter(large, SOURCE, TooLarge("too large"), "dlq", 1_000)
    assert (output.key, output.value) == (b"key", None)
    assert output.headers[0] == ("trace", b"1")
    assert output.headers[-1] == ("tm-truncated", b"1")


def test_if_that_is_not_enough_only_the_reason_is_left() -> None:
    """Headers and keys can be large, too; one oversize record would stop the producer."""
    for large in (
        InputRecord("tokens", 3, 17, 1_234, b"key", b"v", [("trace", b"1" * 2_000)]),
        InputRecord("tokens", 3, 17, 1_234, b"k" * 2_000, b"v", []),
    ):
        output = dead_letter(large, SOURCE, Undecodable("odd"), "dlq", 1_000)
        assert (output.key, output.value) == (None, None)
        assert output.headers[0] == ("tm-error-code", b"undecodable")


def test_a_long_reason_is_cut() -> None:
    """It may quote the record."""
    output = dead_letter(RECORD, SOURCE, Undecodable("x" * 5_000), "dlq", 10_000)
    assert dict(output.headers)["tm-error"] == b"x" * TEXT_CHARS


def test_a_record_without_key_and_value_goes_as_well() -> None:
    """Nothing is made up for what is missing."""
    output = dead_letter(InputRecord("tokens", 3, 17, 1_234, None, None), SOURCE, Undecodable("null"), "dlq", 1_000)
    assert (output.key, output.value) == (None, None)
