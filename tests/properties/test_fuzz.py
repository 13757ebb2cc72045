"""A few thousand random streams of every format against the promises; `make fuzz` checks a million."""

import random

import pytest

from tests.properties.checks import check_every_cut
from tests.properties.fuzz import BATCH, report, run_seeds
from tests.properties.shrink import shrunk
from tests.properties.soup import BESIDE, BLOCK, Setting, Step, Stream, setting_of, stream_of
from tests.support.promises import Broken
from tokenmill.formats import FORMATS
from tokenmill.parser import Parser


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 10 * BATCH, BATCH))
def test_random_streams_break_no_promise(first: int) -> None:
    """P2, P3, P7, P8 and P9 hold for marker soup and spoiled answers under random options, however they are cut."""
    assert run_seeds(first, BATCH) == (BATCH, None)


def test_every_format_is_among_the_first_streams() -> None:
    """A format is fuzzed as soon as it is in the list."""
    names = {setting_of(block * BLOCK).grammar.format_names[0] for block in range(len(FORMATS))}
    assert names == {format_.name for format_ in FORMATS}


def test_a_seed_is_the_same_stream_every_time() -> None:
    """What failed once can be looked at again."""
    first = [(stream_of(seed), setting_of(seed).grammar.key) for seed in (5, 5 + BLOCK)]
    random.random()
    again = [(stream_of(seed), setting_of(seed).grammar.key) for seed in (5 + BLOCK, 5)]
    assert first == again[::-1]


def test_streams_are_of_every_kind() -> None:
    """Calls are completed, broken and cut off, limits are hit, reasoning and native calls come between."""
    seen: set[str] = set()
    for seed in range(0, 200 * BLOCK, BLOCK // 2):
        stream, parser = stream_of(seed), Parser.of(setting_of(seed).grammar, "identity")
        seen.update(step.kind for step in stream.steps)
        for event in [*parser.feed(stream.text), *parser.finish(stream.reason)]:
            seen.add(str(getattr(event, "code", getattr(event, "type", "span"))))
    wanted = "feed reasoning part fail tool_calls limit malformed-call unfinished-call unknown-tool schema-mismatch"
    assert set(f"{wanted} tool-call argument-delta reasoning-delta".split()) <= seen


def test_a_failure_is_told_with_a_small_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report names the seed, how to run it again, and the smallest stream that fails."""
    monkeypatch.setattr(Parser, "encode_state", lambda _parser: b"\x90")
    setting, stream = setting_of(0), Stream((Step("feed", "some text"), Step("reasoning", BESIDE)), "stop")
    told = report(0, setting, stream, Broken("P3"))
    assert told.startswith("seed 0: Broken: P3\n  again: python -m tests.properties.fuzz --first 0 --streams 1\n")
    assert "feed('some text')" not in told
    with pytest.raises(Exception, match="state"):
        check_every_cut(setting, stream)


def test_shrinking_keeps_what_fails() -> None:
    """Nothing can be left out of what is left, and it still fails."""

    def fails(stream: Stream) -> bool:
        return "a" in stream.text and any(step.kind == "fail" for step in stream.steps)

    stream = Stream((Step("feed", "xxaxx"), Step("reasoning", "r"), Step("fail", "f"), Step("feed", "yy")), None)
    assert shrunk(stream, fails).steps == (Step("feed", "a"), Step("fail", "f"))


def test_settings_are_kept_for_a_block() -> None:
    """Compiling a grammar costs more than parsing an answer, so neighbours share one."""
    setting = setting_of(0)
    assert isinstance(setting, Setting)
    assert setting_of(BLOCK - 1) is setting
    assert setting_of(BLOCK) is not setting
