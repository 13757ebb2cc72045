"""The benchmark of the parser: that it measures what it says; how fast, only as far as any machine can tell."""

import pytest

from tokenmill.bench import memory, parser
from tokenmill.bench.parser import (
    NATIVE,
    SIZES,
    Line,
    count_calls,
    growth_of,
    native_deltas,
    reference_loop,
    run_parser,
)
from tokenmill.bench.texts import PAGES, RUNNING, TOOLS, call_text, chunks_of, samples
from tokenmill.formats import compile_grammar
from tokenmill.parser import MessageParser, read_options

MOST_LOOPS = 60
"""Four times the budget of a chunk inside a call: no noise, but something done for each chunk that need not be."""

MOST_GROWTH = 1.3
"""A cost that grows with the call is far above it: at ten times the length it would be ten times as much."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """As little as can be measured."""
    monkeypatch.setattr(parser, "LEAST_CHUNKS", 1)
    monkeypatch.setattr(memory, "MESSAGES", 2)


@pytest.mark.usefixtures("quick")
def test_every_kind_of_text_has_its_line() -> None:
    """Running text and each grammar, each with its texts, at each size."""
    said: list[str] = []
    report = run_parser(rounds=1, sizes=(1_000, 2_000), progress=said.append)
    kinds = {("none", name) for name in RUNNING}
    kinds |= {(grammar, name) for grammar in [*samples(), NATIVE] for name in PAGES}
    assert {(line.grammar, line.text) for line in report.lines} == kinds
    assert len(report.lines) == 2 * len(kinds)
    assert len(said) == len(report.lines) + 1
    assert report.growth == []
    for line in report.lines:
        assert min(line.loop_us, line.parser_us, line.ratio, line.slowest_us) > 0


@pytest.mark.usefixtures("quick")
def test_no_grammar_costs_more_with_every_character() -> None:
    """A chunk costs about the same in a call of any length, and not many times its budget."""
    report = run_parser(rounds=3, sizes=(10_000, 100_000), progress=lambda _: None)
    costly = {(line.grammar, line.text, line.ratio) for line in report.lines if line.ratio > MOST_LOOPS}
    growing = {growth for growth in report.growth if growth.exponent > MOST_GROWTH}
    assert (costly, growing) == (set(), set())


def test_growth_is_told_of_long_texts() -> None:
    """Each kind of text for itself, in loops; where the beginning and the end count it is not told."""
    costs = {1_000: 50.0, 10_000: 10.0, 100_000: 100.0}
    lines = [Line("g", "f", "t", chars, 0.1, 1.0, ratio, 1.0) for chars, ratio in costs.items()]
    (growth,) = growth_of(lines)
    assert (growth.grammar, growth.text, round(growth.exponent, 6)) == ("g", "t", 2.0)
    assert SIZES[-1] == 1_000_000


def test_the_reference_keeps_every_chunk() -> None:
    """It does the least that a parser must do."""
    assert reference_loop(iter(["a", "<b"])) == ["a", "<b"]


def test_calls_are_counted_also_at_the_end() -> None:
    """A call that only the end of the stream completes counts, too."""
    grammar = compile_grammar(read_options({"format": "hermes", "tools": TOOLS}))
    text = call_text(samples()["json_call"], "x", 10).removesuffix("</tool_call>")
    assert count_calls(grammar, chunks_of(text)) == 1


def test_calls_beside_the_text_are_counted() -> None:
    """Their arguments come in deltas."""
    grammar = compile_grammar(read_options({"format": "plain", "tools": TOOLS}))
    assert count_calls(grammar, native_deltas(chunks_of('{"city": "Paris"}')), MessageParser.tool_calls) == 1
