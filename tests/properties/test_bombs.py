"""Records and texts that are made to hurt: each is thrown at a partition, which takes it in bounded time and memory.

What hurts elsewhere: readers that recurse into nesting, expand entities, read a number's digits one by one, look back
over all that they hold, or believe the length that a record claims. Nothing here may raise (promise P7).
"""

import json
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import pytest

from tokenmill.formats import FORMATS
from tokenmill.limits import KIB, MIB
from tokenmill.parser import Format
from tokenmill.parser.options import REPEATED_CHARS
from tokenmill.partition import Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

SETTINGS = PartitionSettings()

SMALL, LARGE = 32 * KIB, 128 * KIB
"""Two sizes of a bomb, to see how the cost grows."""

GROWTH = 2 * 4
"""At most, of the time from one size to the other: four times as much text, and two for a noisy machine. What looks
back over all it holds takes sixteen times as long."""

FLOOR_S = 0.05
"""Below it a time says nothing."""

RUNS = 3
"""Of a bomb at each size: the shortest counts."""

COMPILED_S = 0.8
"""Seconds for the options of one message: five times what they take."""

MEMORY = 60
"""Bytes at the peak for each byte of a bomb."""

BASE_BYTES = 12 * MIB
"""A thousand calls, the most that a message may have, make some thousand output records, whatever their text."""

Headers = Sequence[tuple[str, bytes]]


class Bomb(NamedTuple):
    """One record of about so many bytes."""

    value: Callable[[int], bytes | None]
    headers: Callable[[int], Headers] = lambda _size: ()
    key: Callable[[int], bytes | None] = lambda _size: b"c"


def _chunk(text: str, format_: str = "hermes", **options: Any) -> bytes:
    opening = {"format": format_, **options}
    return json.dumps({"message_id": "m", "open": opening, "delta": text, "end": True}).encode()


def _text(text: Callable[[int], str], format_: str = "hermes", **options: Any) -> Bomb:
    return Bomb(lambda size: _chunk(text(size), format_, **options))


def _codec(name: str, value: Callable[[int], bytes]) -> Bomb:
    return Bomb(value, lambda _size: [("tm-codec", name.encode())])


def _flood(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit))


def _call(arguments: Callable[[int], str]) -> Callable[[int], str]:
    return lambda size: f'<tool_call>{{"name": "f", "arguments": {arguments(size)}}}</tool_call>'


def _laughs(size: int) -> str:
    """Entities that would become 10 ** 9 times as much text, and then some."""
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    head = f'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY l0 "lol">{entities}]>'
    return f"{head}<write_file><path>&l9;</path><content>{_flood('&l9;&#x41;&#xFFFFFFFF;&amp;amp;')(size)}</content>"


def _levels(size: int) -> int:
    """Of what doubles with each: 10 in a small bomb, 16 in a large one."""
    return 8 + size // (16 * KIB)


def _tool(schema: Callable[[int], Any], format_: str = "hermes", text: Callable[[int], str] | None = None) -> Bomb:
    """A call of a tool with this schema; its arguments are objects in objects beside a long text."""

    def nested(size: int) -> str:
        levels = _levels(size)
        return '{"l": ' + '{"l": ' * levels + "5" + "}" * levels + ', "text": "' + "x" * size + '"}'

    def value(size: int) -> bytes:
        tools = [{"type": "function", "function": {"name": "f", "parameters": schema(size)}}]
        return _chunk((text or _call(nested))(size), format_, tools=tools)

    return Bomb(value)


def _asked(size: int) -> dict[str, Any]:
    """Schemas inside of each other that all ask what the inner ones have seen."""
    schema: dict[str, Any] = {"properties": {"l": {}, "text": {}}}
    for _ in range(_levels(size)):
        schema = {"allOf": [schema], "unevaluatedProperties": False}
    return schema


def _combined(size: int) -> dict[str, Any]:
    """Definitions of which each leads twice to the next."""
    levels = _levels(size)
    steps = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    elements = {"type": "array", "items": {"type": "object", "allOf": [{"$ref": "#/$defs/d0"}]}}
    return {"properties": {"l": elements}, "$defs": steps | {f"d{levels}": {"type": "object"}}}


def _each_with_one(size: int) -> dict[str, Any]:
    """Alternatives with a name each."""
    return {"anyOf": [{"properties": {f"a{n}": {}}} for n in range(size // 32)]}


def _names_and_nothing(size: int) -> dict[str, Any]:
    """As many alternatives as names, that say nothing."""
    names: dict[str, Any] = {f"a{n}": {} for n in range(size // 16)}
    return {"properties": names, "anyOf": [{} for _ in names]}


def _all_to_all(size: int) -> dict[str, Any]:
    """Names that all lead to the same alternatives."""
    names = {f"a{n}": {"$ref": "#/$defs/d"} for n in range(size // 64)}
    return {"properties": names, "$defs": {"d": {"anyOf": [{"type": "string"} for _ in range(size // 40)]}}}


def _names_and_patterns(size: int) -> dict[str, Any]:
    """As many patterns as names."""
    numbers = range(size // 32)
    return {"properties": {f"a{n}": {} for n in numbers}, "patternProperties": {f"b{n}": {} for n in numbers}}


_BRANCH = {"properties": {"l": {"anyOf": [{"$ref": f"#/anyOf/{n}"} for n in (0, 1)]}}, "required": ["l"]}

_BARE_CALL = {
    "open_pattern": r"<c:(?P<name>[\s\w]+)[\s]*",
    "close": "</c>",
    "content": "json",
    "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
    "content_args": {"string_delims": [["|", "|"]], "unquoted_keys": True},
}
"""A client's declaration whose parts all match white space."""

BOMBS: dict[str, Bomb] = {
    "nested JSON in a record": Bomb(lambda size: b'{"part":' + b"[" * size),
    "nested JSON objects in a record": Bomb(lambda size: b'{"a":' * (size // 5)),
    "nested JSON, closed": Bomb(
        lambda size: b'{"part":{"kind":"k","value":' + b"[" * (size // 2) + b"]" * (size // 2) + b"}}"
    ),
    "nested MessagePack": Bomb(
        lambda size: b"\x81\xa1a" * (size // 3), lambda _: [("content-type", b"application/msgpack")]
    ),
    "MessagePack that claims to be long": Bomb(
        lambda size: b"\xdd\xff\xff\xff\xff" + b"\x90" * size, lambda _: [("content-type", b"application/msgpack")]
    ),
    "nested JSON in a provider's chunk": _codec("openai", lambda size: b'data: {"choices":' + b"[" * size + b"\n\n"),
    "a line that does not end": _codec("openai", lambda size: b"data: " + b"x" * size),
    "many empty lines": _codec("openai", lambda size: b"\n" * size),
    "many small lines": _codec("openai", lambda size: b"data: {}\n\n" * (size // 10)),
    "many digits": Bomb(lambda size: b'{"seq":' + b"9" * size + b"}"),
    "many keys": Bomb(lambda size: b"{" + b",".join(b'"%d":0' % n for n in range(size // 8)) + b"}"),
    "nothing but bytes": Bomb(lambda size: b"\xff" * size),
    "zeros": Bomb(lambda size: b"\x00" * size),
    "half a character": _codec("text", lambda size: b"\xe2\x82" * (size // 2)),
    "lone surrogates": Bomb(lambda size: b'{"message_id":"m","delta":"' + b"\\ud800" * (size // 6) + b'","end":true}'),
    "a long key": Bomb(lambda _: b"{}", key=lambda size: b"k" * size),
    "a key that is no text": Bomb(lambda _: b"{}", key=lambda size: b"\xff" * size),
    "a long message id": Bomb(lambda size: json.dumps({"message_id": "m" * size, "delta": "x"}).encode()),
    "a long name of a codec": Bomb(lambda _: b"{}", lambda size: [("tm-codec", b"c" * size)]),
    "many headers": Bomb(lambda _: b"{}", lambda size: [("tm-codec", b"native")] * (size // 10)),
    "nested options in a header": Bomb(
        lambda _: b'{"delta":"x"}', lambda size: [("tm-open", b'{"tools":' + b"[" * size)]
    ),
    "a long name of a stream": Bomb(
        lambda _: b"{}", lambda size: [("tm-codec", b"openai"), ("tm-stream", b"s" * size)]
    ),
    "nested JSON in arguments": _text(_call(lambda size: "[" * size)),
    "nested JSON in arguments, closed": _text(_call(lambda size: '{"a":' * (size // 6) + "1" + "}" * (size // 6))),
    "digits in arguments": _text(_call(lambda size: '{"a": ' + "9" * size + "}")),
    "an exponent in arguments": _text(_call(lambda size: '{"a": [' + "1e999999999," * (size // 12) + "1]}")),
    "backslashes in arguments": _text(_call(lambda size: '{"a": "' + "\\" * size + '"}')),
    "keys in arguments": _text(_call(lambda size: "{" + ",".join(f'"{n}":{n}' for n in range(size // 14)) + "}")),
    "quotes in arguments": _text(_call(lambda size: '{"a": ' + "\"'" * (size // 2) + "}")),
    "nested Python": _text(lambda size: "[f(a=" + "(" * size, "pythonic"),
    "a sum in Python": _text(lambda size: "[f(a=1" + "+1" * (size // 2) + ")]", "pythonic"),
    "openings": _text(_flood("<tool_call>")),
    "closings": _text(_flood("</tool_call></think>")),
    "half an opening": _text(_flood("<tool_cal")),
    "the beginning of an opening": _text(_flood("<")),
    "reasoning in reasoning": _text(_flood("<think>"), "think"),
    "short calls": _text(_flood('<tool_call>{"name":"f","arguments":{}}</tool_call>')),
    "several formats at once": Bomb(
        lambda size: json.dumps(
            {"open": {"format": ["hermes", "qwen3_xml", "pythonic"]}, "delta": _flood("<tool_call><function=[f(")(size)}
        ).encode()
    ),
    "entities in autobyteus_xml": _text(_laughs, "autobyteus_xml"),
    "entities in morph_xml": _text(
        _laughs, "morph_xml", tools=[{"type": "function", "function": {"name": "write_file"}}]
    ),
    "references into lists in a schema": _tool(lambda _: {"anyOf": [{"type": "object", **_BRANCH}] * 2}),
    "unevaluated properties in a schema": _tool(_asked),
    "combined definitions in a schema": _tool(
        _combined, "morph_xml", lambda size: f"<f><l><k>1</k></l><text>{'x' * size}</text></f>"
    ),
    "names in alternatives of a schema": _tool(_each_with_one),
    "names beside alternatives of a schema": _tool(_names_and_nothing),
    "names that lead to alternatives of a schema": _tool(_all_to_all),
    "names beside patterns of a schema": _tool(_names_and_patterns),
    "white space in the header of a declared call": _text(
        lambda size: "<c:" + " " * (size // 384) + "!{}</c>",
        "hf",
        response_template={"fields": {"tool_calls": _BARE_CALL}},
    ),
    "nested tags": _text(_flood("<a><b c='d'>"), "autobyteus_xml"),
}


def _records(bomb: Bomb, size: int) -> list[InputRecord]:
    return [InputRecord("tokens", 0, 0, 1, bomb.key(size), bomb.value(size), list(bomb.headers(size)))]


def _seconds(records: Sequence[InputRecord]) -> float:
    partition, out = Partition(SETTINGS, "tokens", 0), list[Output]()
    begun = time.process_time()
    partition.process(records, out)
    return time.process_time() - begun


def _check_growth(bomb: Bomb) -> None:
    """The best of some runs counts, so the large bomb is run again only while none was quick enough."""
    large = _records(bomb, LARGE)
    took = _seconds(large)
    if took <= FLOOR_S:
        return
    small = _records(bomb, SMALL)
    most = max(GROWTH * min(_seconds(small) for _ in range(RUNS)), FLOOR_S)
    assert took <= most or any(_seconds(large) <= most for _ in range(1, RUNS))


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_its_time_and_no_more(name: str) -> None:
    """In proportion to its size, however it is built."""
    _check_growth(BOMBS[name])


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_its_memory_and_no_more(name: str) -> None:
    """At the peak; and afterwards the partition goes on as if nothing had been."""
    records = _records(BOMBS[name], LARGE)
    partition, out = Partition(SETTINGS, "tokens", 0), list[Output]()
    tracemalloc.start()
    try:
        partition.process(records, out)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= BASE_BYTES + MEMORY * LARGE
    assert max((len(output.value or b"") for output in out), default=0) <= SETTINGS.limits.output_bytes
    after = list[Output]()
    value = b'{"message_id":"next","seq":0,"delta":"sound","end":true}'
    partition.process([InputRecord("tokens", 0, 1, 2, b"other", value)], after)
    partition.mark()
    partition.changes(full=True)
    assert [msgspec.json.decode(each.value or b"")["type"] for each in after] == [
        "message-start",
        "text-start",
        "text-delta",
        "text-end",
        "finish",
    ]


def _followed(spellings: int) -> dict[str, Any]:
    """A declaration of calls in which any of several texts may follow any of several others, again and again."""

    def one_of(sign: str) -> str:
        return "(?:" + "|".join(sign + chr(ord("a") + number) * 19 for number in range(spellings)) + ")"

    tag = f"{one_of('<')}(?P<key>\\w+){one_of('=')}(?P<value>.*?){one_of('!')}"
    opening = f"{one_of('<')}(?P<name>\\w+){one_of('>')}"
    closings = [f"</{'x' * number}>" for number in range(spellings)]
    arguments = {"content_args": {"tag_pattern": tag}, "content": "xml-inline"}
    call = {"open_pattern": opening, "close": closings, "transform": _BARE_CALL["transform"], **arguments}
    return {"format": "hf", "response_template": {"fields": {"tool_calls": call}}}


@pytest.mark.parametrize(
    "options",
    [
        {"format": "hunyuan_kv", "markers_suffix": "q" * 64},
        {"format": "hunyuan_kv", "markers_suffix": "q" * 16},
        {"format": "json_mix", "start_tag": "<" * 10_000},
        {"format": "autobyteus_json", "json_patterns": ["{" * 10_000]},
        _followed(8),
    ],
    ids=["a long suffix", "the longest suffix", "a long tag", "a long pattern", "what follows each other"],
)
def test_markers_of_a_clients_own_are_soon_compiled(options: dict[str, Any]) -> None:
    """Or refused, with the record: none costs what a thousand others do."""
    begun = time.process_time()
    Partition(SETTINGS, "tokens", 0).process([InputRecord("tokens", 0, 0, 1, b"c", _chunk("x", **options))], [])
    assert time.process_time() - begun < COMPILED_S


def _output_bytes(**options: str) -> int:
    """The bytes of all output of a record with the shortest of calls."""
    value = _chunk("[" + "f()," * 500 + "f()]", "pythonic", text_mode="placeholder", **options)
    partition, out = Partition(SETTINGS, "tokens", 0), list[Output]()
    partition.process([InputRecord("tokens", 0, 0, 1, b"c", value)], out)
    return sum(len(output.value or b"") for output in out)


@pytest.mark.parametrize("chars", [None, 16_000])
@pytest.mark.parametrize("option", REPEATED_CHARS)
def test_what_each_call_repeats_is_short(option: str, chars: int | None) -> None:
    """No option multiplies the output: it is as long as it may be, or refused."""
    assert _output_bytes(**{option: "x" * (chars or REPEATED_CHARS[option])}) < 2 * _output_bytes()


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: format_.name)
def test_a_flood_of_a_formats_own_marks_is_read_in_its_time(format_: Format) -> None:
    """Half of its sample again and again, so that nothing closes: no mark makes the reader look back over all of it."""
    _check_growth(_text(_flood(format_.sample[: len(format_.sample) // 2 + 1]), format_.name))
