"""The cost of streaming calls to an agent's page, and that it is nothing while no message asks for it.

A partition writes two outputs, native and `agent`, and reads calls in chunks of four characters. *Without* is a run in
which the feature's events never reach the dialect; *off* is what a deployment does unless a message asks for it; *on*
is a message that asks.
"""

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

import msgspec

from tokenmill.bench.clock import in_turns
from tokenmill.bench.texts import FILE, TOOLS, call_text, chunks_of, samples
from tokenmill.errors import FatalError
from tokenmill.events import EVENT_TYPES
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

CALL_CHARS = 4_000
CALLS = 12

LIVE = "events.live"
_FEATURE = frozenset({"tool-input-start", "tool-input-delta", "tool-input-end"})
_OTHERS = frozenset(str(event.__struct_config__.tag) for event in EVENT_TYPES) - _FEATURE


class StreamingCost(msgspec.Struct, frozen=True):
    """Microseconds per chunk."""

    without_us: float
    off_us: float
    on_us: float

    @property
    def off(self) -> float:
        """Return how many times as long a run takes that could stream but does not."""
        return self.off_us / self.without_us

    @property
    def on(self) -> float:
        """Return how many times as long a streaming run takes."""
        return self.on_us / self.without_us


def run_agent(*, rounds: int, progress: Callable[[str], None]) -> StreamingCost:
    """Measure the three in turns; `progress` is called with what comes next."""
    progress("calls streamed to an agent's page")
    asked = _records({"stream_tool_input": True})
    plain = _records({})
    runs: dict[str, Callable[[], int]] = {
        "without": lambda: _process(plain, _OTHERS),
        "off": lambda: _process(plain, None),
        "on": lambda: _process(asked, None),
    }
    rows = {name: run() for name, run in runs.items()}
    if not rows["without"] == rows["off"] < rows["on"]:
        raise FatalError(f"rows of the agent's page: {rows}; nothing to compare")
    seconds = {name: median(times) for name, times in in_turns(runs, rounds).items()}
    each = 1e6 / len(plain)
    return StreamingCost(seconds["without"] * each, seconds["off"] * each, seconds["on"] * each)


def _records(asked: Mapping[str, Any]) -> list[InputRecord]:
    """Return messages of one long call each."""
    records: list[InputRecord] = []
    sample = samples()["json_call"]
    opening = {"format": sample.format_name, "tools": TOOLS, **asked}
    for number in range(CALLS):
        pieces: list[dict[str, Any]] = [{"delta": chunk} for chunk in chunks_of(call_text(sample, FILE, CALL_CHARS))]
        pieces = [{"open": opening, **pieces[0]}, *pieces[1:], {"finish_reason": "stop"}]
        for piece in pieces:
            value = msgspec.json.encode({"message_id": f"m{number}", **piece})
            records.append(InputRecord("tokens", 0, len(records), 1_760_000_000_000, b"c", value))
    return records


def _process(records: list[InputRecord], events: frozenset[str] | None) -> int:
    """Run a new partition over the records; return the number of rows for the page."""
    outputs = (OutputSpec("events"), OutputSpec(LIVE, "agent", events))
    out: list[Output] = []
    Partition(PartitionSettings(outputs=outputs), "tokens", 0).process(records, out)
    return sum(output.topic == LIVE for output in out)
