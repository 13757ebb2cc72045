"""The project's own cases: `tests/cases/formats/NAME.jsonl`, one JSON object a line.

`text` is a whole answer, with `tools` and `open` if need be; `calls`, `out` (visible text), `reasoning` and `errors`
(codes) are what must come of it, to the character.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from tests.support.parsing import codes_of, named, parse, reasoning_of, text_of
from tokenmill.events import ToolCall
from tokenmill.formats import compile_grammar
from tokenmill.parser import Grammar, Options, read_options

FOLDER = Path(__file__).parents[1] / "cases" / "formats"


class OwnCase(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    text: str
    calls: list[dict[str, Any]]
    out: str
    reasoning: str
    errors: list[str]
    tools: list[dict[str, Any]] = []
    open: dict[str, Any] = {}

    def options(self, format_name: str) -> Options:
        return read_options({"format": format_name, "tools": self.tools, **self.open})

    def grammar(self, format_name: str) -> Grammar:
        return compile_grammar(self.options(format_name))


def own_cases(format_name: str) -> list[OwnCase]:
    """The cases of one format; none if it has no file."""
    path = FOLDER / f"{format_name}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [msgspec.convert(json.loads(line), OwnCase) for line in lines]


def check(case: OwnCase, format_name: str) -> None:
    """Assert that a whole answer comes out as the case says."""
    events = parse(case.grammar(format_name), [case.text])
    calls = [{"name": call.name, "arguments": call.arguments} for call in named(events, ToolCall)]
    assert calls == case.calls
    assert text_of(events) == case.out
    assert reasoning_of(events) == case.reasoning
    assert codes_of(events) == case.errors
