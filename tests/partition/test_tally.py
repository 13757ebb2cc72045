"""Counters that the host drains."""

from tokenmill.partition import Tally


def test_a_drain_takes_everything_once() -> None:
    """What was counted is in one drain; the next is empty until something happens."""
    tally = Tally()
    tally.events["text-delta"] += 2
    tally.tool_calls["hermes", "ok"] += 1
    tally.opened.append(1_000)
    drained = tally.drain()
    assert (drained.events, drained.tool_calls, drained.opened) == ({"text-delta": 2}, {("hermes", "ok"): 1}, [1_000])
    assert (tally.events, tally.tool_calls, tally.opened) == ({}, {}, [])
    tally.events["finish"] += 1
    assert drained.events == {"text-delta": 2}
