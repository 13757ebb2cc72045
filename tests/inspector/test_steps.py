"""What the parser makes of a text or a captured stream, piece by piece."""

import msgspec
import pytest
from msgspec import UNSET

from tokenmill.errors import BadOpen, ConfigError, UnknownCodec
from tokenmill.events import (
    AnyEvent,
    Error,
    Finish,
    MessageStart,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    decode_event,
)
from tokenmill.inspector import steps as module
from tokenmill.inspector.steps import ParsedSteps, ParseRequest, parse_in_steps
from tokenmill.inspector.watched import Step
from tokenmill.library import Parser
from tokenmill.partition import OutputSpec, Partition, PartitionSettings
from tokenmill.records import InputRecord, Output

CALL = '<tool_call>\n{"name":"f","arguments":{"a":1}}\n</tool_call>'
TEXT = f"a {CALL} b"

RECORDS = (
    '{"id":"c","choices":[{"index":0,"delta":{"reasoning_content":"Hm. "}}]}',
    '{"id":"c","choices":[{"index":1,"delta":{"content":"other"}}]}',
    "no JSON",
    '{"id":"c","choices":[{"index":0,"delta":{"content":"Hi <"}}]}',
    (
        '{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f",'
        '"arguments":"{\\"a\\":1}"}}]}}]}'
    ),
    '{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"total_tokens":3}}',
)

STREAM = "\n".join(RECORDS)


def said(found: ParsedSteps, step: Step) -> str:
    return found.source[step.start : step.end]


def of_a_worker(records: list[bytes]) -> dict[str, list[AnyEvent]]:
    """The events of each message, without what says which it is, and where in it."""
    out, settings = list[Output](), PartitionSettings(outputs=(OutputSpec("events"),), dlq="dlq")
    partition = Partition(settings, "tokens", 0)
    for offset, value in enumerate(records):
        partition.process([InputRecord("tokens", 0, offset, 0, b"c", value)], out)
    made = dict[str, list[AnyEvent]]()
    for event in (decode_event(output.value or b"") for output in out if output.topic == "events"):
        bare = msgspec.structs.replace(event, conversation_id="", message_id="", seq=UNSET, time=UNSET)
        made.setdefault(event.message_id, []).append(bare)
    return made


def test_each_piece_says_where_the_parser_is_behind_it() -> None:
    """What is held, in which mode, and what it takes to save it."""
    found = parse_in_steps(ParseRequest(text=TEXT, format="hermes", cuts=[9, 4, 20, 4, 0, 999]))
    assert [said(found, step) for step in found.steps] == [TEXT[:4], TEXT[4:9], TEXT[9:20], TEXT[20:], ""]
    assert [(step.held, step.mode) for step in found.steps[:3]] == [
        ("<t", "text"),
        ("<tool_c", "text"),
        ("", "section0_call0"),
    ]
    assert all(step.bytes > 0 for step in found.steps)
    assert found.source == TEXT


def test_the_events_are_those_of_the_library() -> None:
    """Ids of calls aside: looking changes nothing."""
    found = parse_in_steps(ParseRequest(text=TEXT, format="hermes", chunk=3))
    parser = Parser("hermes", identity="inspect")
    expected = [event for at in range(0, len(TEXT), 3) for event in parser.feed(TEXT[at : at + 3])] + parser.finish()
    assert [made.event for step in found.steps for made in step.made] == expected


def test_a_captured_stream_is_read_by_its_codec() -> None:
    """One choice of it; what the provider separated is source, too, and a record that can't be read is told."""
    found = parse_in_steps(ParseRequest(records=STREAM, codec="openai", format="hermes"))
    assert [step.kind for step in found.steps] == ["reasoning", "text", "tool_calls", "finish"]
    assert found.source.startswith("Hm. Hi <[{")
    assert [problem.partition(":")[0] for problem in found.rejected] == ["record 3"]
    made = [made for step in found.steps for made in step.made]
    marked = {type(each.event): found.source[each.start : each.end] for each in made}
    assert marked[ReasoningDelta] == "Hm. "
    assert [found.source[m.start : m.end] for m in made if isinstance(m.event, TextDelta)] == ["Hi ", "<"]
    assert marked[ToolCall].startswith('[{"index":0')
    assert [m.event.usage for m in made if isinstance(m.event, Finish)] == [{"total_tokens": 3}]


def test_the_text_at_which_a_model_stopped_is_shown_with_its_end() -> None:
    """It comes with the reason, which another chunk than the end may say."""
    stopped = '{"delta":"a","finish_reason":"stop","stop_sequence":"END","end":false}'
    for records in (stopped, stopped + '\n{"end":true}'):
        found = parse_in_steps(ParseRequest(records=records))
        made = [made.event for step in found.steps for made in step.made]
        assert [event.stop_sequence for event in made if isinstance(event, Finish)] == ["END"]


def test_raw_bytes_of_a_stream_may_be_pasted() -> None:
    """Blank lines count there."""
    raw = "".join(f"data: {line}\n\n" for line in RECORDS if line.startswith("{"))
    found = parse_in_steps(ParseRequest(records=raw, codec="sse+openai", format="hermes", choice=1))
    assert found.source == "other"


def test_a_message_s_own_options_go_before_those_that_are_asked_for() -> None:
    """As a worker has it; a captured stream shows what became of it."""
    records = "\n".join(['{"open": {"format": "hermes"}}', msgspec.json.encode({"delta": CALL}).decode()])
    found = parse_in_steps(ParseRequest(records=records, format="plain"))
    assert any(isinstance(made.event, ToolCall) for step in found.steps for made in step.made)


def test_the_prompt_s_end_is_part_of_the_source() -> None:
    """It is read in front of the model's first text, and said to be none of it."""
    found = parse_in_steps(ParseRequest(text="x</think>y", format="minimax_m2"))
    assert found.source[found.prompt :] == "x</think>y"


def test_a_dialect_s_payloads_stand_beside_the_events() -> None:
    """As a worker would publish them."""
    found = parse_in_steps(ParseRequest(text="Hi", format="plain", dialect="openai"))
    payloads = [payload for step in found.steps for made in step.made for payload in made.payloads]
    assert msgspec.json.decode(payloads[0])["choices"][0]["delta"]["content"] == "Hi"
    assert payloads[-1] == "[DONE]"


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (ParseRequest(format="herms"), BadOpen),
        (ParseRequest(open={"formt": "hermes"}), BadOpen),
        (ParseRequest(dialect="opnai"), ConfigError),
        (ParseRequest(records="x", codec="opnai"), UnknownCodec),
    ],
)
def test_what_can_t_be_had_is_said(asked: ParseRequest, problem: type[Exception]) -> None:
    """With words for whoever asked."""
    with pytest.raises(problem, match="unknown"):
        parse_in_steps(asked)


def test_what_is_too_long_to_be_shown_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text and pieces are capped."""
    monkeypatch.setattr(module, "SOURCE_CHARS", 10)
    monkeypatch.setattr(module, "STEPS", 3)
    with pytest.raises(BadOpen, match="11 characters"):
        parse_in_steps(ParseRequest(text="x" * 11))
    with pytest.raises(BadOpen, match="5 pieces"):
        parse_in_steps(ParseRequest(text="x" * 5, chunk=1))


def test_half_a_pair_of_surrogates_has_no_bytes() -> None:
    """It becomes U+FFFD, as a worker would have it."""
    assert parse_in_steps(ParseRequest(text="a\ud800b")).source == "a\ufffdb"


def test_a_line_ends_where_a_record_does() -> None:
    """What Unicode calls the end of a line or of a paragraph may stand in JSON as it is."""
    found = parse_in_steps(ParseRequest(records='{"delta": "a\u2028b\x85"}\r\n\n{"delta": "c"}', codec="native"))
    assert ("".join(step.source for step in found.steps), found.rejected) == ("a\u2028b\x85c", [])


def test_a_stream_that_is_cut_off_is_read_to_its_end() -> None:
    """Its codec hears that nothing follows: an event without the blank line behind it is one, half a one an error."""
    event = 'data: {"choices":[{"delta":{"content":"Hi"}}]}'
    assert [step.source for step in parse_in_steps(ParseRequest(records=event, codec="sse+openai")).steps] == ["Hi", ""]
    (failed, _) = parse_in_steps(ParseRequest(records=event[:-1], codec="sse+openai")).steps
    assert [type(made.event) for made in failed.made] == [MessageStart, Error]


OPENING: dict[str, object] = {"message_id": "m", "open": {"format": "hermes"}, "delta": "Hi <tool"}


@pytest.mark.parametrize(
    ("chunks", "rejected"),
    [
        ([{"control": "cancel"}, {"delta": "late"}], ["record 3: the message had ended"]),
        ([{"control": "timeout"}], []),
        ([{"delta": "!", "control": "cancel"}], []),
        ([{"error": "boom", "error_status": 503, "error_raw": "{busy}", "finish_reason": "error"}], []),
        ([{"error": "boom"}, {"end": True}], []),
        ([{"finish_reason": "length", "end": False}, {"usage": {"total_tokens": 3}}, {"end": True}], []),
        ([{"message_id": "n", "open": {}, "delta": "no"}, {"end": True}], ["record 2: it is of another message, 'n'"]),
        ([{"message_id": None, "delta": "no"}, {"end": True}], ["record 2: it is of another message, an unnamed one"]),
    ],
)
def test_a_message_ends_where_a_worker_ends_it(chunks: list[dict[str, object]], rejected: list[str]) -> None:
    """With its events; what is of another one, or comes behind the end, is told beside it."""
    records = [msgspec.json.encode({"message_id": "m", **chunk}) for chunk in (OPENING, *chunks)]
    found = parse_in_steps(ParseRequest(records=b"\n".join(records).decode(), finish="length"))
    assert [made.event for step in found.steps for made in step.made] == of_a_worker(records)["m"]
    assert found.rejected == rejected


def test_a_control_of_all_choices_is_one_of_the_choice_that_is_shown() -> None:
    """As one that says no choice means all; what ends a message that has not begun does nothing."""
    chunks = [{"control": "cancel"}, {"choice": 1, "delta": "Hi"}, {"choice": 0, "control": "cancel"}]
    records = "\n".join(msgspec.json.encode(each).decode() for each in (*chunks, {"control": "timeout"}))
    found = parse_in_steps(ParseRequest(records=records, choice=1))
    assert [m.event.reason for step in found.steps for m in step.made if isinstance(m.event, Finish)] == ["timeout"]
    assert found.rejected == []
