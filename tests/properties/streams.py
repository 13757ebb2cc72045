"""Random logs of one partition: every kind of record, in orders that no sane producer makes."""

from typing import Any

import msgspec
from hypothesis import strategies as st

from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

SETTINGS = PartitionSettings(
    outputs=(
        OutputSpec("events"),
        OutputSpec("tool-calls", events=frozenset({"tool-call", "finish"}), for_runners=True),
        OutputSpec("chunks", "openai"),
        OutputSpec("completions", "openai_completion", key="choice"),
        OutputSpec("sessions", "session", key="choice"),
    ),
    ended_offsets=6,
)
"""Ended messages are forgotten soon, so that short logs see it happen."""

GIVEN = "the id that the service gave last"
"""Stands in a drawn chunk for a message id that its sender can have read from the outputs."""

_texts = st.sampled_from(
    [
        "",
        "a",
        " text",
        "<thi",
        "nk>",
        "<think>so",
        "</think>",
        "<tool_",
        "<tool_call>",
        '<tool_call>{"name": "f", "argu',
        'ments": {"a": "é"}}',
        "</tool_call>",
        "</tool_call",
        "<function=f><parameter=a>1</parameter></function>",
    ]
)
_formats = st.sampled_from(["plain", "hermes", "qwen3_xml", ["hermes", "qwen3_xml"]])
_opens: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries({"format": _formats}),
    st.just({}),
    st.just({"format": "nonsense"}),
    st.just({"format": "hermes", "start": "reasoning"}),
)
_content = st.fixed_dictionaries(
    {},
    optional={
        "delta": _texts,
        "reasoning": st.sampled_from(["", "why"]),
        "part": st.just({"kind": "signature", "value": {"s": "x"}}),
        "usage": st.just({"output_tokens": 3}),
        "tool_calls": st.just([{"index": 0, "id": "k", "function": {"name": "f", "arguments": '{"a": 1}'}}]),
        "error": st.just("overloaded"),
    },
)
_ends = st.one_of(
    st.just({}),
    st.just({}),
    st.just({}),
    st.just({"finish_reason": "stop"}),
    st.just({"finish_reason": "length", "end": False}),
    st.just({"end": True}),
    st.just({"control": "cancel"}),
    st.just({"control": "timeout"}),
    st.just({"control": "timeout"}),
)
_where = st.fixed_dictionaries(
    {},
    optional={
        "message_id": st.sampled_from(["m1", "m2", GIVEN]),
        "choice": st.sampled_from([0, 1]),
        "seq": st.integers(0, 3),
        "open": _opens,
    },
)


def _merged(*parts: dict[str, Any]) -> dict[str, Any]:
    return {key: value for part in parts for key, value in part.items()}


chunks = st.builds(_merged, _where, _content, _ends)
"""A native chunk."""

simple_chunks = st.builds(
    _merged,
    st.sampled_from([{}, {}, {"message_id": "m1"}]),
    st.fixed_dictionaries({"delta": _texts}),
    st.sampled_from([{}, {}, {}, {"end": True}]),
)
"""What a producer without `seq` sends."""

_pieces = st.sampled_from([b"a", b"\xc3", b"\xa9", b"\xe2\x82", b"\xac", b"<tool_call>", b"\xff", b""])
_keys = st.sampled_from([b"c1", b"c1", b"c2"])


_conditions = st.sampled_from(
    [("tm-last-offset", b"4"), *(("tm-opened-before", offset) for offset in (b"3", b"9", b"20"))]
)


def _native(chunk: dict[str, Any], condition: tuple[str, bytes]) -> tuple[bytes, list[tuple[str, bytes]]]:
    return msgspec.json.encode(chunk), [condition] if chunk.get("control") == "timeout" else []


_values = st.one_of(
    st.builds(_native, chunks, _conditions),
    st.builds(_native, chunks, _conditions),
    st.builds(_native, simple_chunks, _conditions),
    st.builds(_native, simple_chunks, _conditions),
    st.builds(lambda piece: (piece, [("tm-codec", b"text")]), _pieces),
    st.builds(lambda piece: (piece, [("tm-codec", b"text"), ("tm-message-id", b"m2")]), _pieces),
    st.just((b"not json", [])),
)
_steps = st.sampled_from([1, 1, 1, 1, 2, 5, 9])

_parents = [b"00-%032x-%016x-01" % (number, number) for number in (1, 2)]
_tracing = st.sampled_from(
    [
        [],
        [],
        [],
        *([("traceparent", parent)] for parent in _parents),
        [("traceparent", _parents[0]), ("tracestate", b"a=1")],
    ]
)


@st.composite
def logs(draw: st.DrawFn, max_size: int = 24) -> list[InputRecord]:
    """A log: offsets grow, with gaps; timestamps need not."""
    records: list[InputRecord] = []
    reader, offset = _Reader(), 0
    drawn_records = st.lists(st.tuples(_keys, _values, _tracing, _steps), min_size=1, max_size=max_size)
    for key, (drawn, headers), tracing, step in draw(drawn_records):
        value = drawn.replace(GIVEN.encode(), reader.last_id)
        records.append(InputRecord("tokens", 0, offset, 1_000 + offset % 7, key, value, headers + tracing))
        reader.read(records[-1])
        offset += step
    return records


class _Reader:
    """Knows which ids were given."""

    def __init__(self) -> None:
        self._partition = Partition(SETTINGS, "tokens", 0)
        self.last_id = b"m1"

    def read(self, record: InputRecord) -> None:
        out: list[Output] = []
        self._partition.process([record], out)
        for output in out:
            message_id = dict(output.headers).get("tm-message-id", b"")
            self.last_id = message_id if message_id.startswith(b"o0-") else self.last_id
