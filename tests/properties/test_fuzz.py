"""Some thousand random inputs of every kind against the promises; `make fuzz` checks those of `KINDS`."""

import random
from pathlib import Path

import pytest

from tests.conformance.shared_cases import known_cases
from tests.properties.checks import check_every_cut
from tests.properties.failures import document_failure, log_failure, stream_report
from tests.properties.fuzz import BATCH, run_seeds
from tests.properties.mixtures import BLOCK as MIXTURES_BLOCK
from tests.properties.mixtures import WIDER, drawn, mixture_of, where_from
from tests.properties.record_soup import BLOCK as CODECS_BLOCK
from tests.properties.record_soup import log_of
from tests.properties.settings_soup import KEYS, SECRET, document_of
from tests.properties.shrink import shrunk, smaller_streams
from tests.properties.soup import BESIDE, BLOCK, LIMITS, OPTIONS, Setting, Step, Stream, setting_of, stream_of
from tests.support.promises import Broken
from tokenmill.codecs import CODECS
from tokenmill.codecs.sse_stream import PREFIX
from tokenmill.config.read import _Reader
from tokenmill.formats import FORMATS
from tokenmill.parser import MessageParser
from tokenmill.parser.values.repair import single_halves
from tokenmill.partition.intake import Intake


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 4 * BATCH, BATCH))
def test_random_streams_break_no_promise(first: int) -> None:
    """P2, P3, P7, P8 and P9 hold for marker soup and spoiled answers under random options, however they are cut."""
    assert run_seeds("formats", first, BATCH) == (BATCH, None)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 2 * BATCH, BATCH))
def test_random_mixtures_break_no_promise(first: int) -> None:
    """The same for several formats that live at once, all options at random, with halves of surrogate pairs."""
    assert run_seeds("mixtures", first, BATCH) == (BATCH, None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["codecs", "configuration"])
def test_random_records_and_settings_break_no_promise(kind: str) -> None:
    """P1, P3, P7 and P8 hold for records of every codec; a configuration is taken, or refused by name."""
    assert run_seeds(kind, 0, BATCH // 2) == (BATCH // 2, None)


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


def test_mixtures_are_of_all_formats_and_options() -> None:
    """Each format lives beside others, each option and cap is set, and streams have halves of surrogate pairs."""
    settings = [drawn(block) for block in range(3 * len(FORMATS))]
    together = [setting.formats for setting in settings if len(setting.formats) > 1]
    assert {format_.name for formats in together for format_ in formats} == {format_.name for format_ in FORMATS}
    assert set(OPTIONS) <= {name for setting in settings for name in setting.options}
    assert all(any(setting.limits.get(cap) in WIDER[cap] for setting in settings) for cap in LIMITS)
    texts = [mixture_of(seed).text for seed in range(MIXTURES_BLOCK)]
    assert sum(single_halves(text) != text for text in texts) > len(texts) // 4


def test_mixtures_are_spliced_from_the_cases_that_are_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Those of other projects and the rendered ones, where they are; else own cases, and it is said."""
    folder = tmp_path / "formats"
    monkeypatch.setenv("TOKENMILL_CASES", str(tmp_path))
    assert where_from().startswith("own cases alone")
    assert known_cases("hermes") == []
    folder.mkdir()
    (tmp_path / "templates").mkdir()
    (folder / "hermes.jsonl").write_text('{"format": "hermes", "text": "a"}\n')
    (tmp_path / "templates" / "some.jsonl").write_text('{"format": "hermes", "text": "b"}\n')
    assert [case["text"] for case in known_cases("hermes")] == ["a", "b"]
    assert str(tmp_path) in where_from()


def test_streams_are_of_every_kind() -> None:
    """Calls are completed, broken and cut off, limits are hit, reasoning and native calls come between."""
    wanted = "feed reasoning part fail tool_calls limit malformed-call unfinished-call unknown-tool schema-mismatch"
    missing = set(f"{wanted} tool-call argument-delta reasoning-delta".split())
    for seed in range(0, 200 * BLOCK, BLOCK // 2):
        if not missing:
            break
        stream, parser = stream_of(seed), MessageParser.of(setting_of(seed).grammar, "identity")
        missing -= {step.kind for step in stream.steps}
        for event in [*parser.feed(stream.text), *parser.finish(stream.reason)]:
            missing.discard(str(getattr(event, "code", getattr(event, "type", "span"))))
    assert not missing


def test_a_failure_is_told_with_a_small_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """The report names the seed, how to run it again, and the smallest stream that fails."""
    monkeypatch.setattr(MessageParser, "encode_state", lambda _parser: b"\x90")
    setting, stream = setting_of(0), Stream((Step("feed", "some text"), Step("reasoning", BESIDE)), "stop")
    told = stream_report("formats", 0, setting, stream, Broken("P3"))
    again = "again: python -m tests.properties.fuzz --kind formats --first 0 --count 1"
    assert told.startswith(f"formats, seed 0: Broken: P3\n  {again}\n")
    assert "feed('some text')" not in told
    with pytest.raises(Exception, match="state"):
        check_every_cut(setting, stream)


def test_shrinking_keeps_what_fails() -> None:
    """Nothing can be left out of what is left, and it still fails."""

    def fails(stream: Stream) -> bool:
        return "a" in stream.text and any(step.kind == "fail" for step in stream.steps)

    stream = Stream((Step("feed", "xxaxx"), Step("reasoning", "r"), Step("fail", "f"), Step("feed", "yy")), None)
    assert shrunk(stream, smaller_streams, fails).steps == (Step("feed", "a"), Step("fail", "f"))


def test_settings_are_kept_for_a_block() -> None:
    """Compiling a grammar costs more than parsing an answer, so neighbours share one."""
    setting = setting_of(0)
    assert isinstance(setting, Setting)
    assert setting_of(BLOCK - 1) is setting
    assert setting_of(BLOCK) is not setting


def test_every_codec_is_among_the_first_logs() -> None:
    """Bare and inside of SSE, and most of them as they were meant."""
    seen = {value for seed in range(4 * CODECS_BLOCK) for record in log_of(seed) for _, value in record.headers}
    assert {name.encode() for codec in CODECS for name in (codec.name, PREFIX + codec.name)} <= seen


def test_every_key_is_among_the_first_configurations() -> None:
    """In files and in variables, and secrets are given."""
    documents = [document_of(seed) for seed in range(2_000)]
    lines = {line.partition(" =")[0].strip('"') for document in documents for line in document.lines}
    names = {name for document in documents for name, _ in document.variables}
    assert {key for keys in KEYS.values() for key in keys} <= lines
    assert {f"TOKENMILL_{section}__{key}".upper() for section, keys in KEYS.items() for key in keys} <= names
    assert sum(SECRET in str(document) for document in documents) > 200


def test_a_codec_that_loses_its_state_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the seed, and a log from which nothing can be left out."""
    monkeypatch.setattr(Intake, "__iter__", lambda _intake: iter(()))
    told = next(filter(None, map(log_failure, range(CODECS_BLOCK, 4 * CODECS_BLOCK))))
    assert "P3: record" in told
    assert "\n  again: python -m tests.properties.fuzz --kind codecs --first " in told


def test_a_secret_that_is_told_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the seed, and the lines that it takes."""
    monkeypatch.setattr(_Reader, "_problem", lambda reader, key, _: reader.problems.append(f"{key}: {SECRET}"))
    told = next(filter(None, map(document_failure, range(100))))
    assert "a secret is told: " in told
    assert "\n  again: python -m tests.properties.fuzz --kind configuration --first " in told
