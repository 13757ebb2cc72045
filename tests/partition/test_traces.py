"""The source of every call and what was made of it, for the host's log."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.support.parsing import source_of
from tokenmill.events import AnyEvent, TextDelta
from tokenmill.formats import compile_grammar
from tokenmill.parser import MessageParser, Options
from tokenmill.parser.run.run import Span
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.partition.traces import Trace
from tokenmill.records import InputRecord, Output

GOOD = '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>'
BROKEN = '<tool_call>{"name":"f","arguments":{"a":</tool_call>'
TEXT = f"a {GOOD} b {BROKEN} c"


def process(*, traced: bool, step: int = 1000, dialect: str = "native") -> tuple[list[Output], list[Trace]]:
    """What comes out of a message, and the traces."""
    settings = PartitionSettings(outputs=(OutputSpec("events", dialect),), traced=traced)
    partition, out = Partition(settings, "tokens", 0), list[Output]()
    chunks: list[dict[str, Any]] = [{"message_id": "m", "open": {"format": "json_mix"}, "delta": ""}]
    chunks += [{"message_id": "m", "delta": TEXT[at : at + step]} for at in range(0, len(TEXT), step)]
    chunks += [{"message_id": "m", "end": True}]
    for offset, chunk in enumerate(chunks):
        partition.process([InputRecord("tokens", 0, offset, 0, b"c", msgspec.json.encode(chunk))], out)
    return out, partition.drain().traces


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_calls_are_told_with_their_source(step: int) -> None:
    """Also those that failed; wherever the text was cut."""
    _, traces = process(traced=True, step=step)
    assert [(trace.conversation, trace.message, trace.source) for trace in traces] == [
        ("c", "m", GOOD),
        ("c", "m", BROKEN),
    ]
    assert traces[0].made == "call f {'a': 1}"
    assert traces[1].made.startswith("error malformed-call: ")


@pytest.mark.parametrize("dialect", ["native", "ai_sdk_parts"])
@pytest.mark.parametrize("step", [1, 1000])
def test_what_is_published_is_the_same(step: int, dialect: str) -> None:
    """The log is for people; no reader of a topic sees that somebody debugs."""
    plain, none = process(traced=False, step=step, dialect=dialect)
    assert process(traced=True, step=step, dialect=dialect)[0] == plain
    assert none == []


@pytest.mark.parametrize("step", [1, 1000])
def test_text_that_waits_goes_on_waiting(step: int) -> None:
    """With `text_mode` smart a marker without an event divides no text, whether it is noted or not."""
    text = "one <turn|>two <turn|>three. four<channel|> five"
    options = Options(format="gemma4", text_mode="smart")
    untold, told = ([*parse_with(options, text, step, traced=noted)] for noted in (False, True))
    assert [event for event in told if not isinstance(event, Span)] == untold
    assert [event.delta for event in untold if isinstance(event, TextDelta)] == ["one two three. ", "four five"]
    assert source_of(told) == text


def parse_with(options: Options, text: str, step: int, *, traced: bool) -> Iterator[AnyEvent | Span]:
    """The events of a text in pieces of this size."""
    parser = MessageParser.of(compile_grammar(options, traced=traced), "identity")
    for at in range(0, len(text), step):
        yield from parser.feed(text[at : at + step])
    yield from parser.finish()


def test_a_replay_tells_nothing() -> None:
    """It was reported when it happened."""
    settings = PartitionSettings(traced=True)
    assert settings.fingerprint() == PartitionSettings().fingerprint()
    chunk = {"message_id": "m", "open": {"format": "json_mix"}, "delta": GOOD}
    records = [InputRecord("tokens", 0, 0, 0, b"c", msgspec.json.encode(chunk))]
    live, again = Partition(settings, "tokens", 0), Partition(settings, "tokens", 0)
    live.process(records, [])
    again.begin_replay(live.mark(), lossy=False)
    again.process(records, [])
    assert (len(live.drain().traces), again.drain().traces) == (1, [])


def test_markers_are_no_calls() -> None:
    """The last of several calls between two tags has all of their source; what stood before is not shown."""
    calls = '<tool_call>[{"name":"f"},{"name":"g"}]</tool_call>'
    partition = Partition(PartitionSettings(traced=True), "tokens", 0)
    chunk = {"message_id": "m", "open": {"format": ["think", "json_mix"]}, "delta": f"<think>x</think>{calls}"}
    partition.process([InputRecord("tokens", 0, 0, 0, b"c", msgspec.json.encode(chunk))], [])
    assert [(trace.source, trace.made) for trace in partition.drain().traces] == [
        ("", "call f {}"),
        (calls, "call g {}"),
    ]
