"""The page that shows how to add a format is short, and what it shows works."""

import json
from collections.abc import Sequence

import msgspec

from tests.conformance.own_cases import OwnCase
from tests.structure.pages import Block, blocks
from tests.structure.tree import DOCS
from tests.support.parsing import all_cuts, codes_of, merged, named, parse, reasoning_of, text_of
from tokenmill.events import AnyEvent, ToolCall
from tokenmill.formats.models import suggest_format
from tokenmill.limits import Limits
from tokenmill.parser import Format, Grammar, Options

PAGE = DOCS / "howto" / "add-a-format.md"
FEWER_LINES = 41


def block(language: str) -> Block:
    """The page's only block of a language."""
    (found,) = (block for block in blocks(language) if block.page == PAGE)
    return found


def described() -> Format:
    """The format that the page's program makes."""
    namespace: dict[str, object] = {}
    exec(compile(block("python").text, PAGE, "exec"), namespace)  # noqa: S102 -- a program of this checkout's own docs
    (found,) = (value for value in namespace.values() if isinstance(value, Format))
    return found


def events_of(chunks: Sequence[str]) -> list[AnyEvent]:
    """What the described format makes of a stream."""
    format_ = described()
    return parse(Grammar(Options(format=format_.name), [format_], Limits()), chunks)


def test_the_page_is_short() -> None:
    """All of it, with the format and its case."""
    assert len(PAGE.read_text().splitlines()) < FEWER_LINES


def test_the_case_of_the_page_comes_out_as_it_says() -> None:
    """Whole, and at every cut."""
    case = msgspec.convert(json.loads(block("json").text), OwnCase)
    events = events_of([case.text])
    assert [{"name": call.name, "arguments": call.arguments} for call in named(events, ToolCall)] == case.calls
    assert (text_of(events), reasoning_of(events), codes_of(events)) == (case.out, case.reasoning, case.errors)
    for chunks in all_cuts(case.text):
        assert merged(events_of(chunks)) == merged(events)


def test_the_sample_of_the_page_has_all_that_the_format_has() -> None:
    """Text, reasoning and a call, without a fault."""
    events = events_of([described().sample])
    assert (reasoning_of(events), text_of(events)) == ("I need the forecast.", "I'll look it up.\n")
    assert [call.arguments for call in named(events, ToolCall)] == [{"city": "Paris"}]
    assert codes_of(events) == []


def test_the_models_of_the_page_are_found() -> None:
    """As `formats --model` would."""
    assert suggest_format("acme/Acme-2.1-8B-Instruct", [described()]) is not None
