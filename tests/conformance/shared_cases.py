"""Cases from the tests of other projects, as data outside this repository: what vLLM, SGLang and llama.cpp expect.

They are read from `formats/` and `templates/` in the folder that `TOKENMILL_CASES` names, else in
`../shared/reference/cases`.
Random streams are spliced from both.
Compared are the fields that a case asserts, white space apart, and every cut must give the same. A case in
`waivers.json` contradicts a decision of the design, which the waiver names; one that passes is stale.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.parsing import named, reasoning_of, text_of
from tokenmill.events import AnyEvent, ToolCall
from tokenmill.parser import read_options

WAIVERS: dict[str, str] = json.loads((Path(__file__).parent / "waivers.json").read_text(encoding="utf-8"))

_INSIDE = ("starts_in_reasoning", "in_reasoning", "force_reasoning")
_OUTSIDE = ("enable_thinking", "thinking")


def folder() -> Path | None:
    """Where the cases are, if they are."""
    named_folder = os.environ.get("TOKENMILL_CASES")
    found = Path(named_folder) if named_folder else Path(__file__).parents[3] / "shared" / "reference" / "cases"
    return found / "formats" if (found / "formats").is_dir() else None


def needed_folder() -> Path:
    """Where the cases are. Where there are none the test says so: it is skipped at home and fails in CI."""
    found = folder()
    if found is None:
        message = "no cases of other projects: name their folder in TOKENMILL_CASES"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


def shared_cases(format_name: str) -> list[dict[str, Any]]:
    """The cases of one format."""
    path = needed_folder() / f"{format_name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def template_cases() -> dict[str, list[dict[str, Any]]]:
    """Answers that models' own chat templates rendered, by format: the arguments that were put in must come out."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((needed_folder().parent / "templates").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            found.setdefault(case["format"], []).append(case)
    return found


def known_cases(format_name: str) -> list[dict[str, Any]]:
    """The cases of one format and the rendered ones; none where the folder is not there."""
    found = folder()
    return [*shared_cases(format_name), *template_cases().get(format_name, ())] if found else []


def key_of(case: dict[str, Any]) -> str:
    """The name under which a case is waived."""
    return f"{case['source']}|{hashlib.sha256(case['text'].encode()).hexdigest()[:12]}"


def options_of(case: dict[str, Any]) -> Any:
    """The options of a message that the case's own settings stand for."""
    layer = case.get("layer") or "full"
    settings = case.get("opts") or {}
    parse = {"tools": "tools", "reasoning": "reasoning"}.get(layer, "all")
    if settings.get("reasoning_format") == "none":
        parse = "tools"
    start = _start_of(case, settings)
    values = {"format": case["format"], "parse": parse, "tools": case.get("tools") or []}
    return read_options({**values, **({"start": start} if start else {})})


def _start_of(case: dict[str, Any], settings: dict[str, Any]) -> str | None:
    state, reasoning = settings.get("initial_state"), case.get("expect_reasoning")
    if state == "reasoning" or any(settings.get(name) for name in _INSIDE):
        return "reasoning"
    if state == "message_header":
        return "header"
    if state == "content" or any(settings.get(name) is False for name in _OUTSIDE):
        return "text"
    return "reasoning" if reasoning and squeeze(case["text"]).startswith(squeeze(reasoning)) else None


def squeeze(text: str | None) -> str:
    """The text without white space, about which the projects differ."""
    return "".join((text or "").split())


def difference(case: dict[str, Any], events: list[AnyEvent]) -> str | None:
    """The first asserted field that is not as expected.

    A call without arguments in the expectation is one that was cut: it may be missing here, as it is never completed.
    """
    expected = case.get("expect_calls")
    if expected is not None:
        whole = [call for call in expected if call.get("arguments") is not None]
        calls = named(events, ToolCall)
        names = [call.name for call in calls]
        if names not in ([call["name"] for call in whole], [call["name"] for call in expected]):
            return f"calls: {names}"
        for want, got in zip(expected if len(calls) == len(expected) else whole, calls, strict=True):
            if want.get("arguments") not in (None, got.arguments):
                return f"arguments: {got.arguments}"
    was_cut = any(call.get("arguments") is None for call in expected or ())
    found = {"reasoning": reasoning_of(events), **({} if was_cut else {"content": text_of(events)})}
    for field, text in found.items():
        want = case.get(f"expect_{field}")
        if want is not None and squeeze(want) != squeeze(text):
            return f"{field}: {text!r}"
    return None
