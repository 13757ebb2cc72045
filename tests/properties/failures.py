"""What is wrong with the input of a seed, for each kind of input: told with the smallest one that still is wrong."""

import random
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tests.properties import record_checks, settings_checks
from tests.properties.checks import DIALECTS_AT_ONCE, check, check_every_cut
from tests.properties.costs import cost_problem
from tests.properties.mixtures import mixture_of, mixture_setting_of
from tests.properties.record_soup import log_of
from tests.properties.settings_soup import Document, document_of
from tests.properties.shrink import shrunk, smaller_documents, smaller_logs, smaller_streams
from tests.properties.soup import Setting, Stream, setting_of, stream_of
from tests.properties.stuck import in_time
from tests.support.promises import Broken
from tokenmill.records import InputRecord


class Kind(NamedTuple):
    """One kind of input."""

    inputs: int
    """How many a whole run has."""
    failure_of: Callable[[int], str | None]
    """What is wrong with the input of a seed."""


def stream_failure(seed: int) -> str | None:
    """A model's answer, in some format."""
    return _of_stream("formats", seed, setting_of(seed), stream_of(seed))


def mixture_failure(seed: int) -> str | None:
    """One in several formats. Dialects do not know of which: most of the time goes to the parser."""
    return _of_stream("mixtures", seed, mixture_setting_of(seed), mixture_of(seed), dialects=seed % 8 == 0)


def _of_stream(kind: str, seed: int, setting: Setting, stream: Stream, dialects: int = DIALECTS_AT_ONCE) -> str | None:
    problem = raised(lambda: check(setting, stream, random.Random(f"cuts {seed}"), dialects))
    return stream_report(kind, seed, setting, stream, problem) if problem else None


def stream_report(kind: str, seed: int, setting: Setting, stream: Stream, problem: Exception) -> str:
    """What broke, under which options, and the smallest stream."""

    def again(candidate: Stream) -> Exception | None:
        return raised(lambda: check_every_cut(setting, candidate))

    least = shrunk(stream, smaller_streams, again) if again(stream) else stream
    grammar = setting.grammar
    return _told(
        kind,
        seed,
        problem,
        [
            f"options: {msgspec.to_builtins(grammar.options)}",
            f"limits: {grammar.limits}",
            f"smallest: {again(least)!r}",
            *(f"  {step.kind}({step.value!r})" for step in least.steps),
            f"  finish({least.reason!r})",
        ],
    )


def log_failure(seed: int) -> str | None:
    """Records of some codec."""
    settings = record_checks.settings_of(seed)

    def again(log: Sequence[InputRecord]) -> Exception | None:
        return raised(lambda: record_checks.check_log(settings, log, random.Random(f"cuts {seed}")))

    log = log_of(seed)
    problem = again(log)
    if problem is None:
        return None
    least = shrunk(log, smaller_logs, again)
    shown = [f"  {record.offset} {record.key!r} {record.headers} {record.value!r}" for record in least]
    return _told(
        "codecs", seed, problem, [f"format: {settings.defaults.format}", f"smallest: {again(least)!r}", *shown]
    )


def document_failure(seed: int) -> str | None:
    """A configuration."""
    with tempfile.NamedTemporaryFile(suffix=".toml") as file:

        def again(document: Document) -> Exception | None:
            return raised(lambda: settings_checks.check_document(Path(file.name), document))

        document = document_of(seed)
        problem = again(document)
        if problem is None:
            return None
        least = shrunk(document, smaller_documents, again)
        shown = [*(f"  {line}" for line in least.lines), *(f"  {name}={text!r}" for name, text in least.variables)]
        return _told("configuration", seed, problem, [f"smallest: {again(least)!r}", *shown])


def cost_failure(seed: int) -> str | None:
    """A long text of which the cost grows faster than its length."""
    try:
        with in_time():
            problem = cost_problem(seed)
    except Broken as stuck:
        problem = str(stuck)
    return _told("costs", seed, Broken(problem), ()) if problem else None


def raised(check_it: Callable[[], Any]) -> Exception | None:
    """What a check raises, whatever it is: that is what is looked for."""
    try:
        with in_time():
            check_it()
    except Exception as problem:  # noqa: BLE001 -- as said
        return problem
    return None


def _told(kind: str, seed: int, problem: Exception, lines: Iterable[str]) -> str:
    again = f"again: python -m tests.properties.fuzz --kind {kind} --first {seed} --count 1"
    return "\n  ".join([f"{kind}, seed {seed}: {type(problem).__name__}: {problem}", again, *lines])


KINDS: Mapping[str, Kind] = {
    "formats": Kind(1_000_000, stream_failure),
    "mixtures": Kind(1_000_000, mixture_failure),
    "codecs": Kind(700_000, log_failure),
    "configuration": Kind(300_000, document_failure),
    "costs": Kind(60_000, cost_failure),
}
"""In the order in which they run."""
