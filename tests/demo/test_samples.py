"""The conversations of the demo."""

import msgspec
import pytest

from tokenmill import Parser
from tokenmill.demo.check import check
from tokenmill.demo.samples import Sample, samples
from tokenmill.events import AnyEvent, ToolCall
from tokenmill.formats import FORMATS

NATIVE_REASONS = {"cancel": "cancelled"}


def parsed(sample: Sample) -> list[AnyEvent]:
    parser = Parser(**sample.options)
    events = [event for chunk in sample.chunks() for event in parser.feed(chunk)]
    events += parser.finish(NATIVE_REASONS.get(sample.ending, sample.ending))
    return [msgspec.structs.replace(event, seq=seq) for seq, event in enumerate(events)]


def test_every_format_has_its_conversation() -> None:
    """A format that is added to the list is in the demo."""
    assert [sample.name for sample in samples()][: len(FORMATS)] == [format_.name for format_ in FORMATS]
    assert len({sample.name for sample in samples()}) == len(samples())


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.name)
def test_the_parser_makes_of_a_sample_what_it_is_about(sample: Sample) -> None:
    """Without a broker, the demo's own check passes."""
    check(sample, parsed(sample))


def test_the_awkward_sample_is_cut_at_every_character_and_comes_out_whole() -> None:
    """Escapes, a surrogate pair and look-alikes of markers are put together again."""
    (awkward,) = (sample for sample in samples() if sample.name == "cut-everywhere")
    assert {len(chunk) for chunk in awkward.chunks()} == {1}
    calls = [event.arguments for event in parsed(awkward) if isinstance(event, ToolCall)]
    assert calls == [
        {"path": 'C:\\notes\\"a".md', "content": "café 😀 {[\n\t</tool_cal 🎉"},
        {"city": "São Paulo", "days": 3},
    ]


def test_the_difficult_ones_are_there() -> None:
    """One malformed, one cancelled, one that stops inside a call."""
    assert {(sample.error, sample.reason) for sample in samples()} >= {
        ("malformed-call", "stop"),
        ("unfinished-call", "length"),
        (None, "cancelled"),
    }
