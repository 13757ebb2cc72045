"""The parser as a library."""

import pytest

from tokenmill import Parser
from tokenmill.errors import BadOpen, SnapshotError
from tokenmill.formats.hermes import HERMES
from tokenmill.limits import Limits

CALL = '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>'


def test_by_name() -> None:
    """A name, tools and options; text in, events out."""
    parser = Parser("hermes", [{"function": {"name": "f"}}], start="text", identity="m1")
    events = parser.feed("a") + parser.feed(CALL) + parser.finish("stop")
    assert [event.type for event in events][-2:] == ["tool-call", "finish"]


def test_by_object() -> None:
    """A format of one's own needs no registration."""
    events = Parser(HERMES).feed(CALL)
    assert [event.type for event in events if event.type == "tool-call"] == ["tool-call"]


@pytest.mark.parametrize("own_format", [None, HERMES])
def test_snapshot_in_the_middle_of_a_call(own_format: object) -> None:
    """A restored parser goes on as the first would have, with the same options and caps."""
    begin, rest = CALL[:30], CALL[30:] + CALL
    parser = Parser(own_format or "hermes", limits=Limits(calls=1), identity="m1")  # type: ignore[arg-type] # of the table
    parser.feed(begin)
    restored = Parser.restore(parser.snapshot(), own_format)  # type: ignore[arg-type] # of the table
    assert restored.feed(rest) + restored.finish() == parser.feed(rest) + parser.finish()


def test_wrong_options_are_refused() -> None:
    """Unknown formats and options raise, by name."""
    with pytest.raises(BadOpen, match="unknown format 'nope'"):
        Parser("nope")
    with pytest.raises(BadOpen, match="unknown option 'colour'"):
        Parser("hermes", colour="red")


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x81\xa7version\x01"])
def test_wrong_snapshots_are_refused(data: bytes) -> None:
    """Bytes that are no snapshot raise `SnapshotError`."""
    with pytest.raises(SnapshotError):
        Parser.restore(data)


def test_a_snapshot_of_another_version_is_refused() -> None:
    """A snapshot says which version wrote it."""
    data = Parser("hermes").snapshot().replace(b"\xa7version\x01", b"\xa7version\x02")
    with pytest.raises(SnapshotError, match="version 2"):
        Parser.restore(data)
