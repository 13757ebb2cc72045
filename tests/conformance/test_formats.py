"""Every format against its cases. Formats are found in the registry; `test_positions` cuts the same answers."""

import pytest

from tests.conformance.own_cases import check, own_cases
from tests.conformance.shared_cases import WAIVERS, difference, key_of, options_of, shared_cases
from tests.support.every import every
from tests.support.parsing import grammar, parse
from tokenmill.formats import FORMATS, compile_grammar

FORMAT_NAMES = [format_.name for format_ in FORMATS]

FEWEST = 15
"""Cases of a format's own."""


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
def test_a_format_has_cases_of_its_own(format_name: str) -> None:
    """What a format does is written down as data, good and bad answers."""
    assert len(own_cases(format_name)) >= FEWEST


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
def test_own_cases(format_name: str) -> None:
    """A whole answer comes out as the case says."""
    every(own_cases(format_name), lambda case: check(case, format_name), lambda case: case.name)


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
def test_sample(format_name: str) -> None:
    """The sample that a format shows is complete and without fault."""
    format_ = next(format_ for format_ in FORMATS if format_.name == format_name)
    events = parse(grammar(format_name), [format_.sample])
    assert [event.type for event in events if event.type in ("error", "finish")] == ["finish"]
    targets = [route.to for route in format_.channels.routes] if format_.channels else []
    calls = bool(format_.sections or format_.answer) or any(not isinstance(target, str) for target in targets)
    assert calls == any(event.type == "tool-call" for event in events)
    assert (bool(format_.regions) or "reasoning" in targets) == any(event.type == "reasoning-delta" for event in events)


@pytest.mark.parametrize("format_name", FORMAT_NAMES)
def test_cases_of_other_projects(format_name: str) -> None:
    """What other servers expect of this format comes out here too, but for what is waived; what is waived does not."""
    failures = []
    for number, case in enumerate(shared_cases(format_name)):
        wrong = difference(case, parse(compile_grammar(options_of(case)), [case["text"]] if case["text"] else []))
        if (key_of(case) in WAIVERS) != bool(wrong):
            failures.append(f"{format_name}:{number} {wrong or 'waived but passes'} [{key_of(case)}]")
    assert failures == []
