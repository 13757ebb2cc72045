"""Any codec in, any dialect out, in a program."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

import pytest
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDelta

import tokenmill
from tokenmill import Conversion, convert, convert_async, sse
from tokenmill.codecs import CODECS
from tokenmill.codecs.codec import Codec
from tokenmill.codecs.native import NATIVE
from tokenmill.dialects import DIALECTS
from tokenmill.dialects.dialect import Dialect
from tokenmill.errors import BadOpen, ConfigError, MessageEnded, TooLarge, Undecodable, UnknownCodec
from tokenmill.formats.hermes import HERMES
from tokenmill.limits import MIB, Limits
from tokenmill.parser.parser import UPSTREAM_CHARS
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord

CALL = '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>'

CHUNKS: list[Any] = [
    {"id": "x", "choices": [{"index": 0, "delta": {"content": text}}]} for text in (CALL[:9], CALL[9:])
]


def as_a_worker_does(codec: Codec, dialect: Dialect, values: Sequence[bytes | None]) -> list[bytes | None]:
    settings = PartitionSettings(codec=codec.name, outputs=(OutputSpec("out", dialect.name),), dlq="refused")
    partition, out = Partition(settings, "in", 0), list[Any]()
    records = (
        InputRecord("in", 0, at, 0, b"conversation", value, [("tm-message-id", b"m")])
        for at, value in enumerate(values)
    )
    partition.process(records, out)
    return [output.value for output in out]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_every_codec_becomes_every_dialect(codec: Codec, dialect: Dialect) -> None:
    """As a worker publishes it; each sample ends its message, so that the end brings nothing more."""
    values = [record.value for record in codec.sample if record.value is not None]
    ends = [None] if codec.sample[-1].value is None else []
    conversion = Conversion(codec.name, dialect.name, message_id="m")
    payloads = [payload for value in values for payload in conversion.feed(value)]
    payloads += conversion.end()
    assert payloads == as_a_worker_does(codec, dialect, [*values, *ends])
    assert payloads != []


@pytest.mark.parametrize("codec", ["native", "sse+native", "text", "sse+openai", "openai"])
def test_an_answer_that_was_cut_off_is_ended(codec: str) -> None:
    """The caller ends it: held text comes out, and the dialect's last payload."""
    begun = {
        "native": '{"message_id": "m7", "delta": "Hello <tool"}',
        "sse+native": 'data: {"message_id": "m7", "delta": "Hello <tool"}\n\n',
        "text": "Hello <tool",
        "openai": {"id": "m7", "choices": [{"delta": {"content": "Hello <tool"}}]},
        "sse+openai": 'data: {"id": "m7", "choices": [{"delta": {"content": "Hello <tool"}}]}\n\ndata: {"id"',
    }
    conversion = Conversion(codec, "native", format="hermes")
    assert json.loads(conversion.feed(begun[codec])[-1])["delta"] == "Hello "  # type: ignore[arg-type] # of the table
    held, *_, last = map(json.loads, conversion.end())
    assert (held["delta"], last["type"]) == ("<tool", "finish")
    assert conversion.end() == []


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("named", [{"message_id": "m"}, {}], ids=["named", "unnamed"])
def test_native_chunks_that_were_cut_off_are_ended_in_every_dialect(
    dialect: Dialect, named: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every choice that is open, whether anything came out of it before or not; what was held comes out."""
    monkeypatch.setattr(
        "tokenmill.conversion.UNNAMED", 1
    )  # so that the id of an unnamed message is that of partition 0
    first = {"delta": "a <tool", "open": {"format": "hermes"}} | named
    begun = [json.dumps(chunk) for chunk in (first, {"delta": "<tool", "choice": 1} | named)]
    ends = [json.dumps({"end": True, "choice": choice} | named) for choice in range(2)]
    values = [record.encode() for record in begun + ends]
    payloads = list(convert(begun, "native", dialect.name, message_id="other"))
    assert payloads == as_a_worker_does(NATIVE, dialect, values)


def test_native_chunks_of_several_messages_are_all_ended() -> None:
    """Each under its own id; what has ended is left as it is, and a record that is none opens nothing."""
    conversion = Conversion("native", "native")
    for record in ({"message_id": "a", "delta": "x"}, {"delta": "y"}, {"message_id": "b", "finish_reason": "stop"}):
        conversion.feed(record)
    with pytest.raises(Undecodable):
        conversion.feed({"message_id": 5})
    assert len({event["message_id"] for event in map(json.loads, conversion.end()) if event["type"] == "finish"}) == 2


def begun(codec: str, count: int) -> Conversion:
    """An answer of which this many records have come; the parser holds the beginning of a marker."""
    conversion = Conversion(codec, "native", format="hermes", message_id="given")
    for text in ("a ", "<tool")[:count]:
        conversion.feed(text if codec == "text" else {"id": "x", "choices": [{"index": 0, "delta": {"content": text}}]})
    return conversion


@pytest.mark.parametrize("codec", ["openai", "text"])
@pytest.mark.parametrize("count", [0, 2])
def test_an_answer_can_fail(codec: str, count: int) -> None:
    """Held text comes out, then the error and the end, under the provider's id or, before any, the given one."""
    conversion = begun(codec, count)
    first, *others, finish = map(json.loads, conversion.fail("it broke off"))
    assert first.get("delta", first["type"]) == ("<tool" if count else "message-start")
    assert [event["message"] for event in others if event["type"] == "error"] == ["it broke off"]
    assert (finish["type"], finish["reason"]) == ("finish", "error")
    assert finish["message_id"] == ("x" if codec == "openai" and count else "given")
    assert conversion.end() == conversion.fail("again") == []
    with pytest.raises(MessageEnded):
        conversion.feed("a")


@pytest.mark.parametrize("count", [0, 2])
def test_an_answer_can_be_cancelled(count: int) -> None:
    """Held text comes out; there is no error."""
    events = list(map(json.loads, begun("openai", count).cancel()))
    assert "error" not in {event["type"] for event in events}
    assert (events[-1]["type"], events[-1]["reason"]) == ("finish", "cancelled")


def test_all_choices_of_an_answer_fail() -> None:
    """Each that is open; those that are complete stay as they are."""
    conversion = Conversion("native", "native")
    for choice, reason in ((0, None), (1, "stop"), (2, None)):
        conversion.feed({"message_id": "x", "choice": choice, "delta": "a", "finish_reason": reason})
    ends = [json.loads(payload) for payload in conversion.fail("gone")]
    assert [end.get("choice", 0) for end in ends if end["type"] == "finish"] == [0, 2]


def test_a_complete_answer_does_not_fail() -> None:
    """Nothing follows its end."""
    conversion = Conversion("openai", "native")
    conversion.feed({"id": "x", "choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop"}]})
    conversion.feed("[DONE]")
    assert conversion.fail("gone") == []


@pytest.mark.parametrize("reason", ["error", "cancelled"])
@pytest.mark.parametrize("records", [[], CHUNKS[:1]], ids=["nothing came", "the other choice began"])
def test_a_choice_that_never_began_fails(records: list[Any], reason: str) -> None:
    """Its client waits for it, and can't see that the provider broke off."""
    conversion = Conversion("openai", "native", choice=1, message_id="given")
    assert [payload for record in records for payload in conversion.feed(record)] == []
    first, *_, last = map(json.loads, conversion.fail("gone") if reason == "error" else conversion.cancel())
    assert (first["type"], last["type"], last["reason"]) == ("message-start", "finish", reason)
    assert {(event["message_id"], event["choice"]) for event in (first, last)} == {("x" if records else "given", 1)}


def test_a_choice_that_is_complete_or_was_never_asked_for_does_not_fail() -> None:
    """Though the other one is cut off, or all of the answer is there."""
    cut, whole = (Conversion("native", "native", choice=1) for _ in range(2))
    whole.feed({"message_id": "x", "delta": "a", "end": True})
    cut.feed({"message_id": "x", "delta": "a"})
    cut.feed({"message_id": "x", "choice": 1, "delta": "a", "end": True})
    assert cut.fail("gone") == whole.fail("gone") == []


def test_one_choice_of_an_answer_can_be_picked_out() -> None:
    """A client of Anthropic's protocol could not tell two apart."""
    chunks = [
        {"id": "x", "choices": [{"index": index, "delta": {"content": text}} for index in range(2)]} for text in "ab"
    ]
    one = [{"id": "x", "choices": [{"index": 0, "delta": {"content": text}}]} for text in "ab"]
    assert list(convert(chunks, "openai", "anthropic", choice=0)) == list(convert(one, "openai", "anthropic"))
    (message, *_), both = convert(chunks, "openai", "anthropic", choice=1), list(convert(chunks, "openai", "native"))
    assert json.loads(message)["message"]["id"] == "x-1"
    assert len(both) == 2 * len(list(convert(chunks, "openai", "native", choice=1)))


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("why", ["cut off", "x\ud800", "y" * 2_000_000], ids=["plain", "half a pair", "long"])
def test_a_source_that_raises_fails_the_answer(why: str, *, asynchronous: bool) -> None:
    """Clients see its end, and the caller the error, whatever its text."""
    payloads: list[bytes] = []

    def records() -> Any:
        yield from CHUNKS[:1]
        raise ValueError(why)

    async def waited() -> AsyncIterator[Any]:
        for record in records():
            yield record

    async def collect() -> None:
        at_once, later = convert(records(), "openai", "anthropic"), convert_async(waited(), "openai", "anthropic")
        while True:
            payloads.append(await anext(later) if asynchronous else next(at_once))

    with pytest.raises(ValueError, match=why[:1]) as raised:
        asyncio.run(collect())
    assert str(raised.value) == why
    said = f"ValueError: {why}"[:UPSTREAM_CHARS].replace("\ud800", "\ufffd")
    assert json.loads(payloads[-1])["error"]["message"] == said


def test_all_at_once() -> None:
    """From records to payloads, and the same when they are waited for."""

    async def waited() -> AsyncIterator[Any]:
        for chunk in CHUNKS:
            yield chunk

    async def collected() -> list[bytes]:
        return [payload async for payload in convert_async(waited(), "openai", "anthropic", format="hermes")]

    payloads = list(convert(CHUNKS, "openai", "anthropic", format="hermes"))
    assert [json.loads(payload)["type"] for payload in payloads][::3] == ["message_start", "content_block_stop"]
    assert asyncio.run(collected()) == payloads
    assert json.loads(payloads[0])["message"]["id"] == "x"


def test_a_payload_is_there_as_soon_as_it_is_certain() -> None:
    """No record is looked at before the payloads of those before it were taken."""
    taken = []

    def records() -> Any:
        for chunk in CHUNKS:
            taken.append(chunk)
            yield chunk

    payloads = convert(records(), "openai", "native", format="hermes")
    next(payloads)
    assert len(taken) == 1


def test_an_answer_without_an_id_has_one_of_its_own() -> None:
    """So two of them differ; a caller that needs the same id again passes it."""
    drawn = [json.loads(next(convert(["a"], "text", "native")))["message_id"] for _ in range(2)]
    assert len(set(drawn)) == 2
    given = Conversion("text", "native", conversation_id="c", message_id="m").feed("a")
    assert [(event["conversation_id"], event["message_id"]) for event in map(json.loads, given)] == [("c", "m")] * 3


def test_native_chunks_without_a_name_are_messages_of_their_own() -> None:
    """And their calls have ids of their own: results of two turns are not mixed up."""
    record = {"delta": CALL, "open": {"format": "hermes"}}
    turns = [list(map(json.loads, convert([record], "native", "native"))) for _ in range(2)]
    calls = [event["id"] for turn in turns for event in turn if event["type"] == "tool-call"]
    assert len({turn[0]["message_id"] for turn in turns}) == len(set(calls)) == 2


HALF = json.loads('"a \\ud83d"')


@pytest.mark.parametrize(
    ("codec", "record"),
    [
        ("openai", {"id": "x", "choices": [{"delta": {"content": HALF}}]}),
        ("openai", json.dumps({"id": "x", "choices": [{"delta": {"content": HALF}}]}, ensure_ascii=False)),
        ("text", HALF),
    ],
)
def test_half_a_surrogate_pair_is_what_it_is_in_bytes(codec: str, record: Any) -> None:
    """What a model writes raises nothing."""
    events = map(json.loads, convert([record], codec, "native"))
    assert [event["delta"] for event in events if event["type"] == "text-delta"] == ["a \ufffd"]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, bytes.decode])
def test_one_record_is_a_list_of_one(kind: Any) -> None:
    """Bytes of any kind, a text or an object: nobody means its single characters."""
    whole = kind(json.dumps(CHUNKS[0]).encode())
    expected = list(convert([CHUNKS[0]], "openai", "native"))
    assert [list(convert(given, "openai", "native")) for given in (whole, [whole], CHUNKS[0])] == [expected] * 3


def test_times_are_those_that_are_given() -> None:
    """It has no clock."""
    assert json.loads(Conversion("text", "openai").feed("a", time=1_760_000_000_000)[0])["created"] == 1_760_000_000


def test_a_record_that_is_none_is_refused_and_the_answer_goes_on() -> None:
    """The error is the one that a dead letter would name."""
    conversion = Conversion("openai", "native", format="hermes")
    conversion.feed(CHUNKS[0])
    with pytest.raises(Undecodable):
        conversion.feed("nonsense")
    with pytest.raises(BadOpen, match="colour"):
        Conversion("native", "native").feed({"message_id": "m", "open": {"colour": "red"}})
    assert "tool-call" in {json.loads(payload)["type"] for payload in conversion.feed(CHUNKS[1])}


def test_tools_are_those_that_were_passed() -> None:
    """A caller that changes its list later changes neither this answer nor the next one."""

    def tool() -> dict[str, Any]:
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
        return {"function": {"name": "f", "parameters": schema}}

    passed = tool()
    first = Conversion("text", "native", format="hermes", tools=[passed])
    passed["function"]["parameters"]["properties"]["a"]["type"] = "string"
    for conversion in (first, Conversion("text", "native", format="hermes", tools=[tool()])):
        types = [json.loads(payload)["type"] for payload in conversion.feed(CALL)]
        assert ("tool-call" in types, "error" in types) == (True, False)


def test_what_a_refused_record_has_made_is_not_lost() -> None:
    """Its other chunks count, as in a worker; their payloads come with the next call."""
    good = b'data: {"message_id": "a", "delta": "x"}\n\n'
    bad = b'data: {"message_id": "b", "open": {"colour": "red"}}\n\n'
    conversion = Conversion("sse+native", "native")
    with pytest.raises(BadOpen):
        conversion.feed(good + bad)
    assert [json.loads(payload).get("delta") for payload in conversion.fail("refused")][2] == "x"


@pytest.mark.parametrize(
    ("codec", "dialect", "options", "error"),
    [
        ("nope", "native", {}, UnknownCodec),
        ("text", "nope", {}, ConfigError),
        ("text", "native", {"format": "nope"}, BadOpen),
        ("text", "native", {"colour": "red"}, BadOpen),
    ],
)
def test_what_is_unknown_is_refused_at_once(codec: str, dialect: str, options: Any, error: type[Exception]) -> None:
    """Before the first record, by name, however it is called."""
    makes: tuple[Any, ...] = (Conversion, partial(convert, []), partial(convert_async, nothing()))
    for make in makes:
        with pytest.raises(error, match=r"nope|colour"):
            make(codec, dialect, **options)


def test_a_format_without_a_name_is_refused() -> None:
    """With what to do instead."""
    with pytest.raises(TypeError, match="use a Parser"):
        Conversion("text", "native", format=HERMES)  # type: ignore[arg-type] # that is the mistake


async def nothing() -> AsyncIterator[Any]:
    for record in list[Any]():
        yield record


def test_an_object_of_an_sdk_is_a_record() -> None:
    """One, or several; as `publish_stream` takes them."""
    chunk = ChatCompletionChunk(
        id="x",
        choices=[Choice(index=0, delta=ChoiceDelta(content="a"))],
        created=1,
        model="m",
        object="chat.completion.chunk",
    )
    expected = list(convert(chunk.model_dump(exclude_unset=True), "openai", "native"))
    assert list(convert(chunk, "openai", "native")) == list(convert([chunk], "openai", "native")) == expected


def test_caps_are_those_that_are_given() -> None:
    """An answer that never was a record need not fit one."""
    answer = "x" * 2_000_000
    with pytest.raises(TooLarge):
        list(convert(answer, "text", "native"))
    events = map(json.loads, convert(answer, "text", "native", limits=Limits(record_bytes=4 * MIB)))
    assert sum(len(event["delta"]) for event in events if event["type"] == "text-delta") == len(answer)


def test_names_and_times_are_those_that_are_given() -> None:
    """In all that `convert` returns."""
    events = map(json.loads, convert(["a"], "text", "native", conversation_id="c", message_id="m", time=7))
    assert {(event["conversation_id"], event["message_id"], event["time"]) for event in events} == {("c", "m", 7)}


def test_what_comes_behind_the_end_is_refused() -> None:
    """It belongs to another answer, which needs a conversion of its own."""
    conversion = Conversion("text", "native")
    conversion.end()
    with pytest.raises(MessageEnded, match="new Conversion"):
        conversion.feed("a")


def test_a_payload_can_be_a_server_sent_event() -> None:
    """As clients of its dialect read it."""
    assert sse(b'{"type":"ping"}', "anthropic") == b'event: ping\ndata: {"type":"ping"}\n\n'


def test_the_package_says_its_version_and_nothing_that_it_has_not() -> None:
    """What is imported late is found like the rest."""
    assert tokenmill.__version__.count(".") == 2
    assert not hasattr(tokenmill, "nonsense")
