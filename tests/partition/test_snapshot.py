"""What of a partition is kept outside."""

from collections.abc import Iterator

import msgspec
import pytest

from tests.partition.logs import log, partition, record, run
from tests.support.restoring import restore
from tokenmill.dialects import DIALECTS, find_dialect
from tokenmill.parser import Options
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.partition.snapshot import SCHEMA, Meta, grammar_field, kept_field, message_field


def test_fields_are_named_by_who_they_are_of() -> None:
    """Keys and ids may have any length and any character, so that no two run into each other."""
    idents = [(b"a", "b"), (b"ab", ""), (b"", "ab"), (b"a", "1:b"), (b"1:a", "b"), (b"a\0", "b"), (b"a", "\0b")]
    places = [("text", b"a", b"b"), ("text", b"ab", b""), ("tex", b"ta", b"b"), ("text", b"", b"ab")]
    names = [message_field(ident) for ident in idents] + [kept_field(place) for place in places]
    names.append(grammar_field("abc"))
    assert len(set(names)) == len(names)
    assert {name[:1] for name in names} == {b"m", b"k", b"g"}
    assert max(map(len, names)) == 13


def test_the_meta_is_of_the_partition() -> None:
    """Schema version, place, time of the last record, spans that no replay may start in."""
    state = partition(
        {"message_id": "m", "delta": "a"}, {"message_id": "m", "end": True}, {"message_id": "m", "delta": "late"}
    )
    meta = msgspec.msgpack.decode(state.changes(full=True).meta, type=Meta)
    assert (meta.schema, meta.topic, meta.partition, meta.offset, meta.time) == (SCHEMA, "tokens", 0, 3, 1_002)
    assert meta.spans == {0: 2}
    assert meta.outputs == [("events", "native")]


def test_options_are_kept_once() -> None:
    """However many messages have them."""
    options = {"format": "hermes", "tools": [{"type": "function", "function": {"name": "f" * 200}}]}
    state = partition(*({"message_id": str(number), "open": options} for number in range(5)))
    fields = state.changes(full=True).changed
    assert sorted(name[:1] for name in fields) == [b"g", *[b"m"] * 5]
    assert sum(b"f" * 200 in value for value in fields.values()) == 1


def test_what_a_codec_keeps_is_a_field() -> None:
    """Part of a character."""
    state = partition()
    run(state, [record(0, b"a\xe2\x82", tm_codec="text")])
    (value,) = [value for name, value in state.changes(full=True).changed.items() if name.startswith(b"k")]
    assert b"\xe2\x82" in value
    run(state, [record(1, b"\xac", tm_codec="text")])
    assert [name[:1] for name in state.changes(full=False).removed] == [b"k"]


NESTED = '{"a":' * 126 + "1" + "}" * 126

ODD_VALUES = {
    "an integer of more than 64 bits": "9" * 23,
    "the lowest of those": f"-{'9' * 23}",
    "a number that no float has": "1e999",
    "nested as deep as may be": NESTED,
    "nested deeper": '{"a":' * 3 + NESTED + "}" * 3,
    "half a surrogate pair": '"\\ud800"',
    "one that is a key": '{"\\udc00":1}',
}


def bodies(value: str) -> Iterator[bytes]:
    """Native chunks with a JSON value wherever one may be; those that their codec refuses do not matter here."""
    yield (
        b'{"message_id":"o","open":{"tools":[{"function":{"name":"f","parameters":{"default":%b}}}]}}' % value.encode()
    )
    arguments = msgspec.json.encode('{"path":%s,"x":%s}' % (value, value)).decode()  # noqa: UP031 -- it has braces
    for number, tool in enumerate(("f", "write_file")):
        function = f'"function":{{"name":"{tool}","arguments":{arguments}}}'
        yield f'{{"message_id":"m","tool_calls":[{{"index":{number},"id":"c{number}",{function}}}]}}'.encode()
    for kind in ("media", "refusal", "reasoning_details", "extra_content"):
        for part in (value, f'[{{"type":{value},"x":{value}}}]'):
            yield f'{{"message_id":"m","part":{{"kind":"{kind}","value":{part},"id":"c0"}}}}'.encode()
    yield f'{{"message_id":"m","usage":{{"prompt_tokens":{value}}}}}'.encode()
    yield f'{{"message_id":"m","error":"x","error_raw":{msgspec.json.encode(value).decode()}}}'.encode()
    yield msgspec.json.encode({"message_id": "n", "delta": f'<tool_call>{{"name":"f","arguments":{{"x":{value}'})
    yield msgspec.json.encode({"message_id": "n", "delta": "}}</tool_call>"})


@pytest.mark.parametrize("odd", ODD_VALUES)
def test_a_snapshot_has_room_for_any_value(odd: str) -> None:
    """Values of models and providers, after every record, in any dialect's state: nothing ends a worker."""
    find_dialect("segments")  # which makes those of systems known, too
    outputs = tuple(OutputSpec(f"events-{dialect.name}", dialect.name) for dialect in DIALECTS)
    settings = PartitionSettings(defaults=Options(format="hermes", stream_tool_input=True), outputs=outputs)
    live = restored = Partition(settings, "tokens", 0)
    for offset, value in enumerate(bodies(ODD_VALUES[odd])):
        write = restored.changes(full=True)
        restored = restore(settings, "tokens", 0, restored.mark(), (write.meta, write.changed))
        assert run(live, [record(offset, value)]) == run(restored, [record(offset, value)])


def test_a_snapshot_is_the_same_for_equal_states() -> None:
    """However the state was come by."""
    chunks = [{"message_id": "m", "delta": "a"}, {"message_id": "n", "delta": "<tool"}]
    first, second = partition(*chunks), partition(*chunks)
    second.mark()
    second.changes(full=True)
    assert first.changes(full=True) == second.changes(full=True)
    assert run(first, log({"delta": "x"}, start=2)) == run(second, log({"delta": "x"}, start=2))
