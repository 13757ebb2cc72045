"""The five systems that tokenmill joins: what each of their cases expects comes out, wherever the text is cut.

A case in `seed_waivers.json` holds a fault of the original, or contradicts a decision of the design; the waiver says
which. One that passes is stale, and of each system few are waived.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.seed_cases import FUNCTIONS, SYSTEMS, Case, lines_of, seed_cases
from tests.conformance.seed_forms import FORMS, calls_of, errors_of, message_calls
from tokenmill.replay import parse_batch

WAIVERS: dict[str, str] = json.loads((Path(__file__).parent / "seed_waivers.json").read_text(encoding="utf-8"))
MOST_WAIVED = 0.08

TEXT_FIELDS = {"text-delta": "delta", "assistant_streaming_message": "content"}


@pytest.mark.parametrize("system", SYSTEMS)
def test_cases_of_a_source_system(system: str) -> None:
    """Every case passes at every cut, or is waived; nothing that is waived passes."""
    failures = []
    for case in seed_cases(system):
        wrong = next(iter(_problems(system, case)), None)
        if wrong and case["name"] not in WAIVERS:
            failures.append(f"{case['name']}: {wrong}")
        if not wrong and case["name"] in WAIVERS:
            failures.append(f"{case['name']}: waived but passes")
    assert failures == []


@pytest.mark.parametrize("system", SYSTEMS)
def test_few_cases_are_waived(system: str) -> None:
    """A system that is mostly waived would not be there."""
    names = [case["name"] for case in seed_cases(system)]
    assert sum(name in WAIVERS for name in names) <= MOST_WAIVED * len(names)


def test_every_waiver_is_of_a_case() -> None:
    """A waiver whose case is gone goes, too."""
    names = {case["name"] for system in SYSTEMS for case in seed_cases(system)}
    assert sorted(WAIVERS.keys() - names) == []


def _problems(system: str, case: Case) -> Iterator[str]:
    """What is wrong with the answers to a case."""
    answers = {tag: parse_batch({"name": tag, **line}) for tag, line in lines_of(case).items()}
    if refused := [answer["error"] for answer in answers.values() if "error" in answer]:
        yield refused[0]
        return
    if case["kind"] == "function":
        yield from _function(case, answers["function"])
        return
    form = FORMS[system]
    own = form(case, answers["own"]["events"])
    yield from _differ("the stream", form(case, case["expect_events"]), own)
    for tag, answer in answers.items():
        if tag not in ("completion", "native"):
            yield from _differ(f"cut {tag}", own, form(case, answer["events"]))
            yield from _differ(f"errors, cut {tag}", errors_of(answers["own"]["events"]), errors_of(answer["events"]))
    yield from _more(case, answers)


def _differ(what: str, expected: Any, found: Any) -> Iterator[str]:
    if expected != found:
        yield f"{what}: expected {expected} found {found}"


def _function(case: Case, answer: dict[str, Any]) -> Iterator[str]:
    expected = case["expect"]
    name = case["config"]["function"]
    if name in FUNCTIONS:
        yield from _differ(name, expected, answer["result"])
        return
    expected = {"name": "t", "arguments": expected} if name == "xml_arguments" else expected
    wanted = expected if isinstance(expected, list) else [expected] if expected else []
    yield from _differ(name, calls_of(wanted)[:1], calls_of(answer["events"])[:1])


def _more(case: Case, answers: dict[str, Any]) -> Iterator[str]:
    """What a case expects besides its events."""
    events = answers["own"]["events"]
    if "expect_errors" in case or "expect_error_count" in case:
        expected = case.get("expect_error_count", len(case.get("expect_errors", ())))
        yield from _differ("errors", expected, errors_of(events) - errors_of(case["expect_events"]))
    if "text_after_chunk" in case:
        yield from _held_back(case, answers["own"]["events_per_chunk"])
    if "completion" in answers:
        found = [event for event in answers["completion"]["events"] if isinstance(event, dict) and "object" in event]
        yield from _differ("completion", _completion(case["expect_complete_response"]), _completion(found[-1]))
    if "native" in answers:
        wanted = case["expect_invocations" if "expect_invocations" in case else "expect_tools"]
        yield from _differ("calls to run", calls_of(wanted), calls_of(answers["native"]["events"]))
    finals = [event for event in events if "expect_final" in case and event["type"] == "assistant_message"]
    if finals:
        yield from _differ("final message", _final(case["expect_final"]), _final(finals[-1]))


def _held_back(case: Case, per_chunk: list[list[Any]]) -> Iterator[str]:
    """Text must be out at the latest after the chunk that the case says; counted in UTF-16 units."""
    counted = [at for at, chunk in enumerate(case["chunks"]) if isinstance(chunk, str) or chunk.get("type") != "finish"]
    for at, least in zip(counted, case["text_after_chunk"], strict=False):
        sent = [event for events in per_chunk[: at + 1] for event in events if event["type"] in TEXT_FIELDS]
        text = "".join(event[TEXT_FIELDS[event["type"]]] for event in sent)
        units = len(text.encode("utf-16-le", "surrogatepass")) // 2
        if units < least:
            yield f"after chunk {at} {units} characters of text are out, expected {least}"


def _completion(response: dict[str, Any]) -> list[Any]:
    choice = response["choices"][0]
    message, usage = choice["message"], response.get("usage")
    calls = message_calls(message.get("tool_calls"))
    return [message.get("content"), calls, choice["finish_reason"], usage, response["model"]]


def _final(message: dict[str, Any]) -> list[Any]:
    return [message["content"], message_calls(message.get("toolCalls")), message["finishReason"]]
