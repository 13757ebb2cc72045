"""Codecs `sse+NAME`: raw bytes, cut anywhere, around another codec."""

import random

import pytest

from tests.support.provided import Provided, provided
from tokenmill.codecs import Chunk, find_codec
from tokenmill.codecs.sse import EVENT_BYTES
from tokenmill.errors import UnknownCodec
from tokenmill.limits import CHOICES
from tokenmill.records import InputRecord

OPENAI = (
    b': hi\r\n\r\ndata: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"na\xc3\xafve "}}]}\r\n\r\n'
    b'data: {"id":"c1","choices":[{"index":0,"delta":{"content":"text"},"finish_reason":"stop"}]}\r\n\r\n'
    b"data: [DONE]\r\n\r\n"
)
ANTHROPIC = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"c1","model":"m"}}\n\n'
    b'event: content_block_delta\ndata: {"type":"content_block_delta",\ndata: "delta":{"type":"text_delta","text":"na'
    b'\xc3\xafve text"}}\n\nevent: message_stop\ndata: {"type":"message_stop"}'
)
GEMINI = (
    b'data: {"responseId":"c1","modelVersion":"m","candidates":[{"content":{"parts":[{"text":"na\xc3\xafve "}]}}]}\n\n'
    b'data: {"responseId":"c1","candidates":[{"content":{"parts":[{"text":"text"}]},"finishReason":"STOP"}]}\n\n'
)
OLLAMA = (
    b'{"model":"m","message":{"content":"na\xc3\xafve "},"done":false}\n'
    b'{"model":"m","message":{"content":"text"},"done":false}\n{"model":"m","done":true}'
)
STREAMS = {"openai": OPENAI, "anthropic": ANTHROPIC, "gemini": GEMINI, "ollama": OLLAMA}


def summed(done: Provided) -> tuple[object, ...]:
    """What no cut may change."""
    models = [model for _, model in done.messages]
    return (
        models,
        done.text,
        done.reasoning,
        done.calls,
        [reason for reason, _ in done.ends],
        done.errors,
        done.rejected,
    )


@pytest.mark.parametrize("name", STREAMS)
def test_bytes_may_be_cut_anywhere(name: str) -> None:
    """In two at every place, byte by byte, at random; also inside a character, a line end and a field's name."""
    data, codec = STREAMS[name], f"sse+{name}"
    expected = summed(provided(codec, data, None))
    assert expected == (["m"], "naïve text", "", [], ["stop"], [], [])
    dice = random.Random(name)
    for at in range(1, len(data)):
        assert summed(provided(codec, data[:at], data[at:], None)) == expected, at
    assert summed(provided(codec, *(data[at : at + 1] for at in range(len(data))), None)) == expected
    for _ in range(50):
        places = sorted(dice.sample(range(1, len(data)), 6))
        pieces = [data[start:stop] for start, stop in zip([0, *places], [*places, None], strict=True)]
        assert summed(provided(codec, *pieces, None)) == expected


@pytest.mark.parametrize("inner", ["anthropic", "bedrock", "gemini", "ollama", "openai", "openai_responses"])
def test_its_sample_is_that_of_the_other_as_a_stream(inner: str) -> None:
    """With the same message in it."""
    codec, chunks = find_codec(f"sse+{inner}"), list[Chunk]()
    state = b""
    for record in codec.sample:
        state, more = codec.decode(state, record)
        chunks += more
    assert codec.name == f"sse+{inner}"
    assert "".join(chunk.delta or "" for chunk in chunks) in ("Hello", "Hi")
    assert not any(chunk.error for chunk in chunks)


def test_an_event_that_cannot_be_read_is_an_error_of_its_message() -> None:
    """The stream continues after it."""
    chunk = b'data: {"id":"c1","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
    done = provided("sse+openai", chunk, b'data: {"choi', b'ces":7}\n\n' + chunk, b"data: [DONE]\n\n")
    assert (done.text, done.rejected, len(done.ends)) == ("aa", [], 1)
    ((code, message),) = done.errors
    assert code == "upstream"
    assert "can't be read" in message


def test_an_event_that_is_nested_too_deep_is_an_error_like_others() -> None:
    """It is not read to see whether the line is all of it."""
    deep = b'data: {"id":"c1","choices":' + b"[" * 5_000 + b"]" * 5_000 + b"}\n\n"
    chunk = b'data: {"id":"c1","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
    done = provided("sse+openai", chunk + deep + chunk + b"data: [DONE]\n\n")
    assert (done.text, done.rejected, len(done.ends), len(done.errors)) == ("aa", [], 1, 1)


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("opening", ["data: {first}\n\n", "{first}\n"], ids=["events", "lines"])
def test_an_unreadable_event_of_the_opening_record_is_an_error_of_its_message(opening: str, cut: bool) -> None:
    """However the bytes are cut."""
    first = '{"id":"c1","choices":[{"index":0,"delta":{"content":"a"}}]}'
    pieces = [opening.replace("{first}", first).encode(), b"data: {bad\n\n"]
    done = provided("sse+openai", *(pieces if cut else [b"".join(pieces)]), None)
    assert (done.messages, done.text, len(done.errors), len(done.ends)) == ([("c1", "")], "a", 1, 1)


def test_an_unreadable_event_behind_the_end_is_a_message_of_its_own() -> None:
    """Which ends with it; so is one before anything of a message came out."""
    said = b'data: {"id":"c1","choices":[{"index":0,"delta":%b}]}\n\n'
    behind = provided("sse+openai", said % b'{"content":"a"}' + b"data: [DONE]\n\ndata: {bad\n\n", None)
    before = provided("sse+openai", said % b'{"role":"assistant"}', b"data: {bad\n\n", said % b'{"content":"a"}', None)
    assert [message for message, _ in behind.messages] == ["c1", "o0-0"]
    assert [message for message, _ in before.messages] == ["o0-1", "c1"]
    for done in (behind, before):
        assert (done.text, len(done.errors), sorted(reason for reason, _ in done.ends)) == ("a", 1, ["error", "stop"])


def test_an_error_without_a_message_is_in_the_one_that_the_header_names() -> None:
    """Readers that wait for that message see it."""
    done = provided("sse+openai", b'{"detail":"Not Found"}\n', None, headers=[("tm-message-id", b"m7")])
    assert ([message for message, _ in done.messages], done.ends) == (["m7"], [("error", None)])


@pytest.mark.parametrize("before", [b"", b'data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n'])
def test_an_answer_that_a_header_names_goes_on_behind_an_unreadable_event(before: bytes) -> None:
    """Even if nothing of it had come: a server's progress reports are not an answer."""
    said = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n'
    pieces = [before, b'data: {"status":"processing"}\n\n', said, b"data: [DONE]\n\n"]
    done = provided("sse+openai", *pieces, None, headers=[("tm-message-id", b"m7")])
    assert [message for message, _ in done.messages] == ["m7"]
    assert (done.text, len(done.errors), done.ends) == ("a", 1, [("stop", None)])


def test_every_open_choice_hears_of_what_cannot_be_read_and_ends() -> None:
    """One that has ended hears of nothing."""
    choices = b'data: {"message_id":"m","choice":%d,"delta":"a"}\n\n'
    codec, state, chunks = find_codec("sse+native"), b"", list[Chunk]()
    ended = b'data: {"message_id":"m","choice":1,"end":true}\n\n'
    for value in (choices % 1 + choices % 2 + choices % 0 + ended, b"data: {bad\n\n", None):
        state, more = codec.decode(state, InputRecord("t", 0, 0, 0, b"c", value))
        chunks += more
    found = [(chunk.message_id, chunk.choice or 0, bool(chunk.error), chunk.end is True) for chunk in chunks[4:]]
    assert found == [("m", 2, True, False), ("m", 0, True, False), ("m", 2, False, True), ("m", 0, False, True)]
    assert state == b""


@pytest.mark.parametrize(
    ("chunk", "message"),
    [(b'{"message_id":"m","delta":"a"}', "m"), (b'{"delta":"a"}', "o0-0")],
    ids=["named", "unnamed"],
)
@pytest.mark.parametrize("cut", [False, True])
def test_a_codec_that_knows_no_end_ends_like_the_others(chunk: bytes, message: str, cut: bool) -> None:
    """Nothing follows a null: its message ends, half an event is dropped, and the record is not a dead letter."""
    pieces = [b"data: %b\n\ndata: {bad\n\n" % chunk, b"data: %b\n\ndata: {del" % chunk]
    done = provided("sse+native", *(pieces if cut else [b"".join(pieces)]), None)
    assert (done.messages, done.text, done.ends, done.rejected) == ([(message, "")], "aa", [("stop", None)], [])
    assert len(done.errors) == 2


@pytest.mark.parametrize("last", [b'"finish_reason":"length"', b'"end":true', b'"control":"cancel"'])
def test_what_has_ended_does_not_end_again(last: bytes) -> None:
    """Nor is anything remembered of it."""
    codec = find_codec("sse+native")
    state, _ = codec.decode(b"", InputRecord("t", 0, 0, 0, b"c", b'data: {"message_id":"m","delta":"a"}\n\n'))
    state, _ = codec.decode(state, InputRecord("t", 0, 1, 0, b"c", b'data: {"message_id":"m",%b}\n\n' % last))
    assert state == b""
    assert codec.decode(state, InputRecord("t", 0, 2, 0, b"c", None)) == (b"", [])


def test_without_a_message_it_is_one_of_its_own() -> None:
    """What a proxy answers in place of a stream is seen."""
    done = provided("sse+openai", b'{"detail":"Not Found"}\n', None)
    assert done.ends == [("error", None)]
    assert len(done.errors) == 1


def test_an_event_over_the_cap_is_left_out() -> None:
    """And said, in its message."""
    chunk = b'data: {"id":"c1","choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n'
    done = provided("sse+openai", chunk % b"a", chunk % (b"x" * EVENT_BYTES), chunk % b"b", b"data: [DONE]\n\n")
    assert (done.text, len(done.ends)) == ("ab", 1)
    assert [code for code, _ in done.errors] == ["upstream"]


def test_around_what_there_is_not() -> None:
    """The refusal lists the known names; `sse+` can stand before a codec only once."""
    with pytest.raises(UnknownCodec, match=r"sse\+NAME"):
        find_codec("sse+morse")
    with pytest.raises(UnknownCodec):
        find_codec("sse+sse+openai")


@pytest.mark.parametrize("begun", [True, False])
def test_a_failure_that_is_json_over_several_lines(begun: bool) -> None:
    """As Gemini writes one in mid-stream: the answer has failed, in the server's words."""
    first = b'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]},"index":0}],"responseId":"r1"}\r\n\r\n'
    failure = b'{\n  "error": {\n    "code": 503,\n    "message": "The model is overloaded"\n  }\n}\n'
    done = provided("sse+gemini", first + failure if begun else failure, None)
    assert (done.text, done.ends) == ("Hi" if begun else "", [("error", None)])
    assert ["overloaded" in message for _, message in done.errors] == [True]


def test_of_open_choices_only_so_many_are_remembered() -> None:
    """The state is part of every snapshot."""
    codec, state = find_codec("sse+native"), b""
    for choice in range(CHOICES + 50):
        chunk = b'data: {"message_id":"m","choice":%d,"delta":"x"}\n\n' % choice
        state, _ = codec.decode(state, InputRecord("tokens", 0, choice, 0, b"c", chunk))
    _, ends = codec.decode(state, InputRecord("tokens", 0, CHOICES + 50, 0, b"c", None))
    assert len(ends) == CHOICES
