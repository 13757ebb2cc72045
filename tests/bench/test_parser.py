"""The benchmark of the parser: that it measures what it says, not how fast this machine is."""

import pytest

from tokenmill.bench import memory, parser
from tokenmill.bench.parser import count_calls, reference_loop, run_parser
from tokenmill.bench.texts import CALLS, TOOLS, call_text, chunks_of
from tokenmill.formats import compile_grammar
from tokenmill.parser import read_options


def test_every_kind_of_text_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain text once, and each format's call at each size; the growth comes from those."""
    monkeypatch.setattr(parser, "SIZES", (1_000, 2_000))
    monkeypatch.setattr(parser, "LEAST_CHUNKS", 1)
    monkeypatch.setattr(memory, "MESSAGES", 2)
    said: list[str] = []
    report = run_parser(rounds=1, long=False, progress=said.append)
    assert len(report.lines) == 1 + 2 * len(CALLS)
    assert len(said) == len(report.lines) + 1
    assert report.growth.keys() == CALLS.keys()
    for line in report.lines:
        assert line.loop_us > 0
        assert line.ratio == line.parser_us / line.loop_us
        assert line.slowest_us > 0


def test_the_reference_keeps_every_chunk() -> None:
    """It does the least that a parser must do."""
    assert reference_loop(iter(["a", "<b"])) == ["a", "<b"]


def test_calls_are_counted_also_at_the_end() -> None:
    """A call that only the end of the stream completes counts, too."""
    grammar = compile_grammar(read_options({"format": "hermes", "tools": TOOLS}))
    text = call_text("hermes", 10).removesuffix("</tool_call>")
    assert count_calls(grammar, chunks_of(text)) == 1


@pytest.mark.slow
def test_the_time_for_a_chunk_does_not_grow_with_the_call() -> None:
    """Each character is looked at once: the total is linear in the length, with room for a noisy machine."""
    growth = run_parser(rounds=3, long=False, progress=lambda _: None).growth
    assert {name: exponent for name, exponent in growth.items() if exponent > 1.25} == {}
