"""How a choice opens."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.partition.logs import SETTINGS, events, log, partition, record, run
from tokenmill.codecs import CODECS, Chunk, find_codec
from tokenmill.errors import BadKey, BadOpen, Undecodable
from tokenmill.events import AnyEvent, MessageStart, ToolCall
from tokenmill.limits import KEY_BYTES
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.partition import opening as opening_module
from tokenmill.partition.low_water import LowWater
from tokenmill.partition.opening import OPEN, Opened, Opener
from tokenmill.recent import Recent
from tokenmill.records import InputRecord, header


def opened(chunk: Chunk, source: InputRecord, low_water: LowWater | None = None) -> Opened:
    """What a chunk without a message opens."""
    opener = Opener(SETTINGS, 0, low_water or LowWater(), lambda _key: None)
    return opener.choice(None, opener.grammar(chunk, None, source), chunk, source, None)


def test_a_message_is_named_by_its_producer_or_by_its_first_record() -> None:
    """The generated id has the partition and the offset."""
    message, choice = opened(Chunk(message_id="m", delta="a"), record(7))
    assert (message.id, message.named, choice.envelope.message_id) == ("m", True, "m")
    message, choice = opened(Chunk(delta="a", choice=2), record(7))
    assert (message.id, message.named, choice.envelope.message_id, choice.index) == ("o0-7", False, "o0-7", 2)
    assert choice.envelope.created == 1_007


@pytest.mark.parametrize(
    ("message_id", "reserved"),
    [
        ("o0-7", True),
        ("o0-7-1", True),
        ("o0-7-1-1", False),
        ("o0-", False),
        ("o0-x", False),
        ("o1-7", False),
        ("m", False),
    ],
)
def test_generated_ids_are_known_by_their_form(message_id: str, *, reserved: bool) -> None:
    """Only those of this partition: it gives no others."""
    assert Opener(SETTINGS, 0, LowWater(), lambda _key: None).reserved(message_id) is reserved


@pytest.mark.parametrize(
    ("chunk", "key", "error"),
    [
        (Chunk(delta="a"), b"\xff", BadKey),
        (Chunk(delta="a", message_id="m" * (KEY_BYTES + 1)), b"c", Undecodable),
        (Chunk(open={"colour": 1, "format": 5}), b"c", BadOpen),
    ],
)
def test_what_cannot_open_is_refused(chunk: Chunk, key: bytes, error: type[Exception]) -> None:
    """The id and the key come back in every output, so they are capped."""
    with pytest.raises(error):
        opened(chunk, record(7, key=key))


def test_a_second_choice_depends_on_the_log_from_where_its_options_are() -> None:
    """Replayed from its own first record, it would have the defaults, and another id if the message is unnamed."""
    for who in ({"message_id": "m"}, {}):
        state = partition(
            {**who, "choice": 0, "open": {"format": "hermes"}, "delta": "a"},
            {**who, "choice": 1, "delta": "A"},
            {**who, "choice": 0, "end": True},
        )
        run(state, log({"message_id": "x", "usage": {}}, start=500))
        assert state.mark().low_water == 0


def test_a_choice_with_options_of_its_own_does_not() -> None:
    """It can be replayed without the others."""
    state = partition(
        {"message_id": "m", "choice": 0, "delta": "a"},
        {"message_id": "m", "choice": 1, "open": {}, "delta": "A"},
        {"message_id": "m", "choice": 0, "end": True},
    )
    run(state, log({"message_id": "x", "usage": {}}, start=500))
    assert state.mark().low_water == 1


def test_a_message_depends_on_what_its_codec_kept() -> None:
    """Half of its first character stands in the record before."""
    state = partition()
    run(state, [record(3, b"\xe2\x82", tm_codec="text"), record(4, b"\xac", tm_codec="text")])
    assert (state.open_messages, state.mark().low_water) == (1, 3)


def test_a_message_comes_to_depend_on_what_its_codec_kept() -> None:
    """Where a later record of it is read with state from before it opened: another stream of the conversation."""
    state = partition()
    run(
        state,
        [record(3, b"\xe2\x82", tm_codec="text", tm_message_id="m"), record(4, {"message_id": "m", "delta": "a"})],
    )
    run(state, [record(5, b"\xac", tm_codec="text", tm_message_id="m")])
    assert (state.open_messages, state.mark().low_water) == (1, 3)


def test_a_record_that_opens_several_unnamed_messages_gives_each_an_id() -> None:
    """Or readers would take the second for a repeat of the first."""
    line = b'{"message":{"content":"a"},"done":true,"done_reason":"stop"}\n'
    state = partition()
    out = events(run(state, [record(3, line * 3, tm_codec="ollama")]))
    assert list(dict.fromkeys(event.message_id for event in out)) == ["o0-3", "o0-3-1", "o0-3-2"]
    run(state, [record(200, {"usage": {}})])
    assert (state.mark().low_water, len(state.changes(full=True).changed)) == (201, 0)


def test_a_message_depends_on_every_open_stream_of_its_conversation() -> None:
    """A replay that began in the middle of a stream would not know whose its events are, and might give them to it."""
    start = {"type": "message_start", "message": {"id": "msg_1"}}
    said = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "theirs"}}
    ends = {"type": "message_stop"}
    anthropic = [record(offset, chunk, tm_codec="anthropic") for offset, chunk in ((3, start), (5, said), (6, ends))]
    state = partition()
    run(state, [anthropic[0], record(4, {"delta": "mine"}), *anthropic[1:]])
    run(state, [record(7, {"delta": "a"}, key=b"d"), record(200, {"delta": "more"}, key=b"d")])
    assert (state.open_messages, state.mark().low_water) == (2, 3)
    other = partition()
    run(other, [anthropic[0], record(4, {"delta": "mine"}, key=b"d"), *anthropic[1:], record(200, {"usage": {}})])
    assert other.mark().low_water == 4


def test_an_id_in_use_again_goes_on_counting_its_events() -> None:
    """Readers that drop repeats by `seq` must not drop the second use; its calls have ids of their own."""
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    use = {"message_id": "m", "open": {"format": "hermes"}, "delta": call, "end": True}
    out = events(run(partition(), log(use, use, use)))
    assert [event.seq for event in out] == list(range(len(out)))
    assert len({event.id for event in out if isinstance(event, ToolCall)}) == 3


def test_it_depends_on_the_log_of_the_uses_before() -> None:
    """Only that holds the count; once forgotten, the id is new again."""
    use = {"message_id": "m", "open": {}, "end": True}
    state = partition(use, use, {"message_id": "m", "open": {}})
    run(state, [record(90, {"message_id": "x", "usage": {}})])
    assert state.mark().low_water == 0
    run(state, [record(91, {"message_id": "m", "end": True}), record(250, use)])
    assert state.mark().low_water == 250


def said(codec: str, records: Sequence[InputRecord], *headers: tuple[str, bytes]) -> list[AnyEvent]:
    """What comes of records in a codec, all with these headers."""
    settings = PartitionSettings(codec=codec, outputs=(OutputSpec("events"),), dlq="dlq")
    given = [msgspec.structs.replace(each, headers=[*each.headers, *headers]) for each in records]
    return events(run(Partition(settings, "tokens", 0), given))


@pytest.mark.parametrize("codec", [*(codec.name for codec in CODECS), "sse+anthropic", "sse+openai"])
def test_options_may_come_in_a_header(codec: str) -> None:
    """For codecs without a place for them; also where the protocol opens a message before its content comes."""
    sample = find_codec(codec).sample
    plain, given = said(codec, sample), said(codec, sample, (OPEN, b'{"model": "given"}'))
    assert {start.model for start in given if isinstance(start, MessageStart)} == {"given"}
    assert [event.type for event in given] == [event.type for event in plain]


def test_what_the_chunk_says_goes_before_the_header() -> None:
    """The header fills in the rest."""
    options = '{"format": "hermes", "model": "header"}'
    chunk = {"message_id": "m", "open": {"model": "chunk"}, "delta": "a"}
    start, *_ = events(run(partition(), [record(0, chunk, tm_open=options)]))
    assert isinstance(start, MessageStart)
    assert (start.model, start.format) == ("chunk", "hermes")


def test_of_a_model_s_name_as_much_counts_as_dialects_may_repeat() -> None:
    """A producer's name for its model is no reason to refuse its answer; an option has to fit."""
    named, opened = {"message_id": "m", "model": "m" * 300, "delta": "a"}, {"open": {"model": "m" * 300}}
    start, *_ = events(run(partition(), [record(0, named)]))
    assert isinstance(start, MessageStart)
    assert start.model == "m" * 256
    (refused,) = run(partition(), [record(0, named | opened)])
    assert b"option 'model': longer than 256 characters" in (header(refused.headers, "tm-error") or b"")


def test_the_header_opens_nothing_by_itself() -> None:
    """It may be on every record, even on those that come late, after a cancel."""
    late = {"message_id": "m", "delta": "late"}
    records = [record(0, late, tm_open="{}"), record(1, {"message_id": "m", "control": "cancel"})]
    records += [record(2, late, tm_open="{}"), record(3, {"message_id": "m", "seq": 3, "delta": "a"}, tm_open="{}")]
    names = [event.type for event in events(run(partition(), records))]
    assert (names.count("message-start"), names.count("finish")) == (1, 1)


@pytest.mark.parametrize("header", ["", "{", "[1]", '{"a": 100000000000000000000000000}', '{"colour": 1}'])
def test_options_in_a_header_are_judged(header: str) -> None:
    """As those in a chunk: the record goes to the dead letters, and opens nothing."""
    out = run(partition(), [record(0, {"delta": "a"}, tm_open=header)])
    assert [(output.topic, dict(output.headers)["tm-error-code"]) for output in out] == [("dlq", b"bad-open")]


def test_options_in_a_header_open_a_message_once() -> None:
    """They may be on every record; after the end of the message they open no other."""
    delta = b'data: {"choices":[{"delta":{"content":"a<think>"}}]}\n'
    values = (b": ping\n", delta[:20], delta[20:] + delta, b"data: [DONE]\n", b"data: [DONE]\n", None)
    records = [record(offset, value) for offset, value in enumerate(values)]
    names = [event.type for event in said("qwen_sse", records, (OPEN, b'{"format": "think"}'))]
    assert names.count("message-start") == names.count("finish") == 1
    assert "reasoning-delta" in names


def test_headers_that_are_kept_have_a_cap_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted as what they take when they are read, which is many times what they take as bytes."""
    recent: Recent[bytes, dict[str, Any]] = Recent(100, 100_000)
    monkeypatch.setattr(opening_module, "_recent", recent)
    tools = [{"function": {"name": f"f{number}"}} for number in range(50)]
    for number in range(20):
        options = msgspec.json.encode({"tools": tools, "model": str(number)})
        run(partition(), [record(0, b'{"message_id": "m", "delta": "x"}', tm_open=options.decode())])
    assert 0 < len(recent) < 10
    assert recent.bytes <= 100_000
