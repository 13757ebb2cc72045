"""Events folded into what a screen shows."""

from typing import TypeVar

import msgspec
import pytest

from tokenmill import events
from tokenmill.terminal.answers import (
    ANSWERS,
    BLOCKS,
    CARD_CHARS,
    TEXT_CHARS,
    WORDS_CHARS,
    Answer,
    Card,
    Conversation,
    Line,
    Words,
)

Block = TypeVar("Block", Words, Card, Line)


def folded(*shown: events.AnyEvent, every_ms: int = 10) -> Conversation:
    conversation = Conversation()
    for number, event in enumerate(shown):
        conversation.add(event, 1_000 + number * every_ms)
    return conversation


def answer(*shown: events.AnyEvent) -> Answer:
    [only] = folded(*shown).answers
    return only


def block(kind: type[Block], *shown: events.AnyEvent) -> Block:
    [only] = answer(*shown).blocks
    assert isinstance(only, kind)
    return only


START = events.ToolInputStart("c1", "f", "json")
SOURCE = events.ToolInputDelta("c1", '{"a": 1}')
END = events.ToolInputEnd("c1")


def test_a_text_grows() -> None:
    """Delta by delta, in a block of its own."""
    words = block(Words, events.TextStart("t0"), events.TextDelta("t0", "Hel"), events.TextDelta("t0", "lo"))
    assert (words.kind, words.ending.text, words.ending.chars, words.ending.cut) == ("text", "Hello", 5, False)


def test_blocks_stand_in_the_order_of_their_beginnings() -> None:
    """The newest comes first, as screens are filled from below; an empty block is none."""
    shown = (events.ReasoningDelta("r0", "hm"), events.TextStart("t0"), START, events.TextDelta("t1", "then"))
    assert [type(each) for each in answer(*shown).blocks] == [Words, Card, Words]


@pytest.mark.parametrize(
    ("behind", "state", "problem"),
    [
        ([], "growing", ""),
        ([SOURCE], "growing", ""),
        ([SOURCE, END], "read", ""),
        ([SOURCE, END, events.ToolCall("c1", "f", {"a": 1})], "complete", ""),
        ([SOURCE, END, events.ToolCall("c1", "f", {"a": 1}, repaired=True)], "repaired", ""),
        ([END, events.Error("malformed-call", "no JSON", id="c1")], "failed", "malformed-call: no JSON"),
        (
            [
                END,
                events.Error("unknown-tool", "no tool is called f", id="c1"),
                events.ToolCall("c1", "f", {}, repaired=True, problem="unknown-tool"),
            ],
            "failed",
            "unknown-tool: no tool is called f",
        ),
        ([END, events.ToolCall("c1", "f", {}, problem="schema-mismatch")], "failed", "schema-mismatch"),
    ],
)
def test_a_card_says_what_became_of_its_call(behind: list[events.AnyEvent], state: str, problem: str) -> None:
    """From the first sight of the call to its end, whatever that is."""
    card = block(Card, START, *behind)
    assert (card.name, card.state, card.problem) == ("f", state, problem)


def test_a_card_has_the_source_and_then_the_arguments() -> None:
    """As read, one a line."""
    card = block(Card, START, SOURCE, END)
    assert (card.source.text, card.arguments) == ('{"a": 1}', None)
    card = block(Card, START, SOURCE, END, events.ToolCall("c1", "f", {"a": 1, "b": "x\ny"}))
    assert card.arguments == 'a = 1\nb = "x\\ny"'


def test_a_call_whose_beginning_was_not_seen_has_a_card() -> None:
    """Somebody may come late, or its input may never have been streamed."""
    assert block(Card, events.ToolCall("c1", "f", {})).name == "f"
    assert block(Card, events.Error("unfinished-call", "cut", id="c1", name="f")).name == "f"


def test_the_text_of_a_failed_call_is_told_from_the_model_s() -> None:
    """Its block says so before its text comes."""
    words = block(Words, events.TextStart("t0", call="c1"), events.TextDelta("t0", "<tool_call>"))
    assert (words.kind, words.ending.text) == ("source", "<tool_call>")


def test_other_events_are_lines() -> None:
    """Problems of the message, parts, results of tools; and the finish, which is its own."""
    shown = (events.Error("gap", "2 missing"), events.Part("refusal", 1), events.Finish("stop", usage={"total": 3}))
    found = answer(*shown)
    assert [msgspec.structs.astuple(each)[::2] for each in found.blocks if isinstance(each, Line)] == [
        ("part", "refusal 1"),
        ("error", "gap: 2 missing"),
    ]
    assert found.finish == Line("finish", "green", 'stop  {"total":3}')


def test_what_is_kept_is_bounded() -> None:
    """Texts, arguments, sentences, blocks and answers; it is counted what is gone."""
    words = block(Words, *[events.TextDelta("t0", "ab" * TEXT_CHARS), events.TextDelta("t0", "end")])
    assert (len(words.ending.text), words.ending.chars) == (TEXT_CHARS, 2 * TEXT_CHARS + 3)
    assert words.ending.cut
    assert words.ending.text.endswith("abend")
    card = block(Card, events.ToolInputStart("c1", "f" * 5_000, "json"), events.ToolInputDelta("c1", "x" * 5_000))
    assert (len(card.name), len(card.source.text)) == (WORDS_CHARS, CARD_CHARS)
    arguments = block(Card, events.ToolCall("c1", "f", dict.fromkeys(map(str, range(500)), "x" * 5_000))).arguments
    assert arguments is not None
    assert len(arguments) == CARD_CHARS
    assert len(block(Line, events.Error("gap", "x" * 5_000)).said) == WORDS_CHARS
    many = answer(*(events.TextDelta(f"t{number}", "x") for number in range(BLOCKS + 3)))
    assert (len(list(many.blocks)), many.gone) == (BLOCKS, 3)
    crowd = folded(*(events.Finish("stop", message_id=f"m{number}") for number in range(ANSWERS + 2)))
    assert [each.message_id for each in crowd.answers] == [f"m{number}" for number in range(ANSWERS + 1, 1, -1)]
    assert crowd.gone == 2


def test_an_answer_that_is_open_is_kept_longer_than_one_that_is_over() -> None:
    """It will go on."""
    first = events.TextDelta("t0", "a", message_id="open")
    crowd = folded(first, *(events.Finish("stop", message_id=f"m{number}") for number in range(ANSWERS)))
    assert [each.message_id for each in crowd.answers][-2:] == ["m1", "open"]


def test_choices_are_answers_of_their_own() -> None:
    """So are messages."""
    shown = [events.TextDelta("t0", "a", message_id="m1", choice=choice) for choice in (0, 1, 0)]
    assert [(each.choice, each.pace.events) for each in folded(*shown).answers] == [(1, 1), (0, 2)]


def test_an_id_that_is_used_again_begins_anew() -> None:
    """And is the newest answer."""
    start = events.MessageStart("gpt", "hermes", message_id="m1")
    other = events.TextDelta("t0", "b", message_id="m2")
    conversation = folded(start, events.TextDelta("t0", "a", message_id="m1"), other, start)
    again, _ = conversation.answers
    assert (again.message_id, again.opened, list(again.blocks)) == ("m1", "hermes gpt", [])
    assert (conversation.events, again.pace.events) == (4, 1)


def test_the_pace_is_that_of_the_model() -> None:
    """By the times of the events, where they have one; decoded copies of what came count as no delta."""
    shown = [events.TextDelta("t0", "a", time=5_000 + at) for at in (0, 100, 900, 700, 1_000)]
    pace = answer(*shown, events.ArgumentDelta("c1", "a", "x", time=6_000)).pace
    assert (pace.events, pace.deltas, pace.longest_gap_ms, pace.last) == (6, 5, 800, 6_000)
    assert pace.deltas_per_s == 5.0
    assert answer(events.Finish("stop")).pace.deltas_per_s is None
    assert answer(events.TextDelta("t0", "a"), events.Finish("stop")).pace.last == 1_010
