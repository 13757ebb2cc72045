"""Every known answer of every format, at every position: cut there, saved there, ended there, capped there.

Formats are found in the registry. The promises that are checked are those of `tests.support.promises`, and P9: what
came out, put together again, is what went in.
"""

import re
import zlib
from typing import Any

import msgspec
import pytest

from tests.conformance.answers import Answer, all_answers, capped, own_answers
from tests.conformance.own_cases import own_cases
from tests.support.parsing import codes_of, grammar, merged, named, parse, random_cuts, source_of
from tests.support.promises import Answer as Events
from tests.support.promises import check_events
from tokenmill.events import ArgumentDelta, ToolCall, ToolInputStart
from tokenmill.formats import FORMATS
from tokenmill.limits import Limits
from tokenmill.parser import MessageParser

FORMAT_NAMES = [format_.name for format_ in FORMATS]
DELTA_CHARS = Limits().delta_chars

CUTS = 8
"""Of so many caps, one is tried with the text cut at random, too. `make fuzz` cuts under caps a million times."""

OTHERWISE = re.compile(r"repeated param|repeated key|comes twice|quotes inside a string are not escaped")
"""Names of cases in which a value is read otherwise than it began, or said again."""


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
def test_cut_and_saved_at_every_position(format_name: str) -> None:
    """P2 and P3: in two pieces, at random, and for each character alone, saved in between, the same events come out."""
    for answer in all_answers(format_name):
        text = answer.text
        whole = parse(answer.grammar, [text])
        check_events(whole, delta_chars=DELTA_CHARS)
        expected = merged(whole)
        two = ([text[:at], text[at:]] for at in answer.positions)
        for chunks in (list(text), *random_cuts(text, zlib.crc32(answer.name.encode())), *two):
            assert merged(saved_in_between(answer, chunks)) == expected, (answer.name, chunks)


def saved_in_between(answer: Answer, chunks: list[str]) -> list[Any]:
    """All events of a parser that is encoded and decoded between any two chunks. Its end is saved where it is tried."""
    parser, events = MessageParser.of(answer.grammar, "identity"), []
    for chunk in chunks[:-1]:
        events += parser.feed(chunk)
        parser = MessageParser.of_state(answer.grammar, parser.encode_state())
    return events + parser.feed(chunks[-1] if chunks else "") + parser.finish()


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
def test_saved_or_not_the_same_events_come_in_the_same_order(format_name: str) -> None:
    """P3: also where each chunk is source and value at once. Their numbers are by what readers tell a repeat."""
    for case in own_cases(format_name):
        options = {**case.open, "content_arguments": ["*"], "stream_tool_input": True}
        compiled = msgspec.structs.replace(case, open=options).grammar(format_name)
        chunks = [case.text[at : at + 3] for at in range(0, len(case.text), 3)]
        live = saved = MessageParser.of(compiled, "identity")
        for chunk in chunks:
            saved = MessageParser.of_state(compiled, saved.encode_state())
            assert live.feed(chunk) == saved.feed(chunk), (case.name, chunk)


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
def test_ended_at_every_position(format_name: str) -> None:
    """P7 and P9: a stream that stops anywhere ends well, gives all of itself back and keeps the calls that it had."""
    for answer in all_answers(format_name):
        calls = named(parse(answer.grammar, [answer.text]), ToolCall)
        parser, events, source, had = MessageParser.of(answer.grammar, "identity"), Events(DELTA_CHARS), "", []
        told: list[Any] = []  # with text that waits, a span says how much of it stands in front of it
        ends = set(answer.positions)
        for at, character in enumerate(answer.text, 1):
            more = parser.feed(character)
            events.read(more)
            told += more
            if not answer.grammar.boundary_chars:
                source, told = source + source_of(told), []
            had += named(more, ToolCall)
            assert had == calls[: len(had)], (answer.name, at)
            if at in ends:
                rest = MessageParser.of_state(answer.grammar, parser.encode_state()).finish()
                ended = events.copy()
                ended.read(rest)
                ended.end()
                assert source + source_of([*told, *rest]) == answer.source[: len(answer.grammar.prompt) + at], (
                    answer.name,
                    at,
                )


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
def test_values_that_grow_at_every_position(format_name: str) -> None:
    """What is sent of a value while it arrives is, put together, the value of the call."""
    for case in own_cases(format_name):
        if OTHERWISE.search(case.name):
            continue
        growing = msgspec.structs.replace(case, open={**case.open, "content_arguments": ["*"]}).grammar(format_name)
        for chunks in ([case.text], list(case.text)):
            events, grown = parse(growing, chunks), dict[tuple[str, str], str]()
            for delta in named(events, ArgumentDelta):
                grown[delta.id, delta.argument] = grown.get((delta.id, delta.argument), "") + delta.delta
            complete = {call.id: call.arguments for call in named(events, ToolCall)}
            for (call_id, argument), text in grown.items():
                if call_id in complete:
                    assert complete[call_id].get(argument) == text, (case.name, argument, chunks)


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
def test_a_message_capped_at_every_size(format_name: str) -> None:
    """P8: a message that is longer than its cap is one `limit`; behind it nothing is parsed and nothing is lost."""
    for answer in own_answers(format_name):
        for size in range(1, len(answer.source)):
            events = under(answer, Limits(message_chars=size), cut=size % CUTS == 0)
            over = answer.grammar.first_call_only and named(events, ToolCall)  # nothing was parsed any more
            assert codes_of(events).count("limit") == (0 if over else 1), (answer.name, size)


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
def test_calls_capped_at_every_size(format_name: str) -> None:
    """P8: a call that is longer than its cap is one `limit`, or one broken call, up to the cap that holds it."""
    for answer in own_answers(format_name):
        size, uncapped = 1, parse(answer.grammar, [answer.text])
        while (events := under(answer, Limits(call_chars=size), cut=size % CUTS == 0)) != uncapped:
            assert codes_of(events).count("limit") <= 1, (answer.name, size)
            assert size <= len(answer.source), answer.name
            size += 1


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
def test_calls_capped_at_every_number(format_name: str) -> None:
    """P8: one call more than the cap is one `limit`; the calls before it stand."""
    for answer in own_answers(format_name):
        begun = len(named(parse(answer.grammar, [answer.text]), ToolInputStart))
        for count in range(begun):
            events = under(answer, Limits(calls=count), cut=True)
            assert codes_of(events).count("limit") == 1, (answer.name, count)
            assert len(named(events, ToolCall)) <= count


def under(answer: Answer, limits: Limits, *, cut: bool) -> list[Any]:
    """The events under these caps: well-formed, and all of the text, however it is cut."""
    compiled = capped(answer.grammar, limits)
    whole = parse(compiled, [answer.text])
    check_events(whole, delta_chars=limits.delta_chars)
    assert source_of(whole) == answer.source, (answer.name, limits)
    if cut:
        (chunks,) = random_cuts(answer.text, limits.message_chars + limits.call_chars + limits.calls, rounds=1)
        assert merged(parse(compiled, chunks)) == merged(whole), (answer.name, limits, chunks)
    return whole


def test_caps_are_those_of_a_grammar_that_is_compiled_with_them() -> None:
    """The grammars with other caps that these tests make are what the parser would have."""
    text = '<tool_call>{"name": "f", "arguments": {"a": "bcdefghij"}}</tool_call> and more text'
    for limits in (Limits(message_chars=30), Limits(call_chars=40), Limits(calls=0)):
        whole = parse(grammar("hermes", limits), [text])
        assert parse(capped(grammar("hermes"), limits), [text]) == whole
        assert codes_of(whole) == ["limit"]
