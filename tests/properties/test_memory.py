"""P8: what a partition says of its size is what it takes, or `worker.state_mib` would cap something else."""

import gc
import re
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec
import pytest

from tokenmill import formats as formats_module
from tokenmill.parser import Options, markers
from tokenmill.partition import OutputSpec, Partition, PartitionSettings, size_of
from tokenmill.recent import Recent
from tokenmill.records import InputRecord

MESSAGES = 20
"""Of some kilobytes each: what is made once for all of them is a small part of it."""

LISTS = 8
"""Messages with a list of tools of their own, each of which takes as much as many messages."""

LEAST, MOST = 0.75, 2.2
"""Of the memory that is really taken. Characters that are not ASCII take two or four bytes, and are counted as four."""

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": "'
FILE = '<tool_call>\n{"name": "write_file", "arguments": {"content": "'

NATIVE = PartitionSettings()
WHOLE = PartitionSettings(outputs=(OutputSpec("events"), OutputSpec("completions", "openai_completion", key="choice")))

WORDS = ["a word " * 8] * 200


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grammars and patterns are kept by messages alone, and go with them."""
    monkeypatch.setattr(formats_module, "_recent", Recent(0, 0))
    monkeypatch.setattr(markers, "_made", Recent(0, 0))


def _with(dialect: str, **options: Any) -> PartitionSettings:
    """Settings with one more output."""
    outputs = (OutputSpec("events"), OutputSpec("more", dialect))
    return PartitionSettings(outputs=outputs, defaults=Options(**options))


MADE_OF = {
    "idle messages": (NATIVE, ["hello world"]),
    "an open call in English": (NATIVE, [CALL] + ["word"] * 200),
    "an open call in Chinese": (NATIVE, [CALL] + ["漢字漢字"] * 200),
    "an open call of symbols": (NATIVE, [CALL] + ["😀😀😀😀"] * 200),
    "answers that are kept whole": (WHOLE, ["word"] * 200),
    "answers that a response says again": (_with("openai_responses"), WORDS),
    "answers in Chinese that a response says again": (_with("openai_responses"), ["漢字漢字" * 8] * 200),
    "answers that an agent's rows say again": (_with("agent"), WORDS),
    "calls that grow on a page": (_with("ai_sdk_ui"), [CALL, *WORDS]),
    "calls that grow in events of AG-UI": (_with("ag_ui"), [CALL, *WORDS]),
    "texts of calls that a chat hides": (_with("interceptor"), [CALL, *WORDS]),
    "calls that grow in events of Anthropic": (_with("anthropic", stream_tool_input=True), [CALL, *WORDS]),
    "files that wait for their path": (_with("segments"), [FILE, *WORDS]),
    "files in Chinese that wait for their path": (_with("segments"), [FILE] + ["漢字漢字" * 8] * 200),
}

PARAMETERS: dict[str, Callable[[int], dict[str, Any]]] = {
    "with long descriptions": lambda n: {f"p{j}": {"type": "string", "description": f"{n}{j}" * 80} for j in range(8)},
    "with many parameters": lambda n: {f"p{n}_{j}": {"type": ["string", "null"]} for j in range(40)},
    "with words to choose from": lambda n: {f"p{j}": {"enum": [f"v{n}_{j}_{k}" for k in range(30)]} for j in range(8)},
    "with numbers to choose from": lambda n: {"a": {"enum": list(range(1000 * n, 1000 * n + 400))}},
    "with deep objects": lambda n: {"a": _deep(n, 20)},
}


def _deep(number: int, deep: int) -> dict[str, Any]:
    inner = _deep(number, deep - 1) if deep else {"type": "string"}
    return {"type": "object", "properties": {f"k{number}": inner}, "required": [f"k{number}"]}


def _tools(message: int, parameters: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
    """A list that no other message has."""
    return [
        {"type": "function", "function": {"name": f"f{message}_{n}", "parameters": {"properties": parameters(n)}}}
        for n in range(message * 20, message * 20 + 20)
    ]


def _records(message: int, deltas: Sequence[str], **options: Any) -> Iterator[InputRecord]:
    """A message of its own conversation, which is open at their end."""
    for seq, delta in enumerate(deltas):
        chunk = {"message_id": f"message-{message}", "seq": seq, "delta": delta}
        value = msgspec.json.encode(chunk | ({} if seq else {"open": {"format": "hermes", **options}}))
        yield InputRecord("tokens", 0, 0, 1, b"conversation-%d" % message, value)


def _half_an_event(message: int, size: int) -> Iterator[InputRecord]:
    """Raw bytes of a stream, cut in the middle of an event."""
    begin = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"' + b"w" * size
    headers = [("tm-codec", b"sse+openai")]
    for at in range(0, len(begin), 20_000):
        yield InputRecord("tokens", 0, 0, 1, b"conversation-%d" % message, begin[at : at + 20_000], headers)


def _partition(settings: PartitionSettings, messages: Iterable[Iterable[InputRecord]]) -> Partition:
    """A partition that has read these messages."""
    partition, offset = Partition(settings, "tokens", 0), 0
    for records in messages:
        for record in records:
            partition.process([msgspec.structs.replace(record, offset=offset)], [])
            offset += 1
    partition.mark()
    partition.drain()
    return partition


def _taken(settings: PartitionSettings, messages: Iterable[Iterable[InputRecord]]) -> tuple[int, int]:
    """The size of a partition that has read these messages, and the bytes that are free when it is gone.

    What is taken while it reads would not do: tables that all partitions share grow now and then, by more than that.
    """
    tracemalloc.start()
    try:
        partition = _partition(settings, messages)
        size = partition.size
        re.purge()
        for remembered in (markers._remembered, markers._remembered_find):
            remembered.cache_clear()
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        del partition
        gc.collect()
        return size, before - tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def _check(settings: PartitionSettings, made: Callable[[int], Iterable[InputRecord]], messages: int = MESSAGES) -> None:
    """Between the bounds, without what is made once for all, such as compiled grammars: another partition has it."""
    other = _partition(settings, map(made, range(3)))
    size, taken = _taken(settings, map(made, range(3, 3 + messages)))
    assert other.size > 0  # it is still there
    assert LEAST <= size / taken <= MOST, (size, taken)


@pytest.mark.parametrize("name", MADE_OF)
def test_the_size_is_what_is_taken(name: str) -> None:
    """Within a factor of two, rather too much than too little, whatever is kept."""
    settings, deltas = MADE_OF[name]
    _check(settings, lambda message: _records(message, deltas))


@pytest.mark.parametrize("name", PARAMETERS)
def test_tools_of_a_message_s_own_are_counted(name: str) -> None:
    """A small message with a list of its own takes what its list does, many times as long as it is written."""
    _check(NATIVE, lambda message: _records(message, ["hello"], tools=_tools(message, PARAMETERS[name])), LISTS)


def test_markers_of_a_message_s_own_are_counted() -> None:
    """Their patterns take far more than they are written."""
    _check(
        NATIVE,
        lambda message: _records(message, ["hello"], format="json_mix", start_tag=f"<a tool's call number {message}>"),
        messages=4,
    )


@pytest.mark.parametrize("size", [0, 200_000])
def test_what_codecs_remember_is_counted(size: int) -> None:
    """Half an event of a stream, of which there is no message yet."""
    _check(NATIVE, lambda message: _half_an_event(message, size))


def test_a_list_of_tools_takes_little_once_its_messages_have_ended() -> None:
    """It is there as long as they are remembered; no end of another message makes that go."""
    opened = _partition(NATIVE, map(_own_list, range(3, 23)))
    messages = [[*_own_list(message), _end(message)] for message in range(3, 23)]
    size, taken = _taken(NATIVE, messages)
    assert LEAST <= size / taken <= MOST, (size, taken)
    assert size < opened.size / 10
    assert size_of([_partition(NATIVE, messages)]) == 0


def _own_list(message: int) -> Iterator[InputRecord]:
    return _records(message, ["hello"], tools=_tools(message, PARAMETERS["with many parameters"]))


def _end(message: int) -> InputRecord:
    value = msgspec.json.encode({"message_id": f"message-{message}", "end": True})
    return InputRecord("tokens", 0, 0, 1, b"conversation-%d" % message, value)


def test_a_list_of_tools_counts_once() -> None:
    """However many messages, and partitions, have it."""
    tools = _tools(0, PARAMETERS["with many parameters"])
    one = _partition(NATIVE, [_records(0, ["hello"], tools=tools)])
    many = _partition(NATIVE, [_records(message, ["hello"], tools=tools) for message in range(MESSAGES)])
    assert many.size - one.size < MESSAGES * 4_000
    assert size_of([many, one]) - many.size < 4_000
    assert one.size > 100_000
