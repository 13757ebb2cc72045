"""Every format against its cases, wherever the text is cut. Formats are found in the registry."""

import zlib

import pytest

from tests.conformance.own_cases import OwnCase, check, own_cases
from tests.conformance.shared_cases import WAIVERS, difference, key_of, options_of, shared_cases
from tests.support.parsing import all_cuts, grammar, merged, parse, random_cuts
from tokenmill.formats import FORMATS, compile_grammar
from tokenmill.parser import Parser

FORMAT_NAMES = [format_.name for format_ in FORMATS]
OWN = [pytest.param(name, case, id=f"{name}: {case.name}") for name in FORMAT_NAMES for case in own_cases(name)]


@pytest.mark.parametrize(("format_name", "case"), OWN)
def test_own_case(format_name: str, case: OwnCase) -> None:
    """A whole answer comes out as the case says, and every cut of it gives the same."""
    check(case, format_name)
    compiled = case.grammar(format_name)
    whole = merged(parse(compiled, [case.text]))
    for chunks in all_cuts(case.text):
        assert merged(parse(compiled, chunks)) == whole, chunks


@pytest.mark.parametrize(("format_name", "case"), OWN)
def test_own_case_with_a_snapshot_at_every_boundary(format_name: str, case: OwnCase) -> None:
    """A parser that is encoded and decoded after every chunk makes the very same events."""
    compiled = case.grammar(format_name)
    for chunks in (list(case.text), *random_cuts(case.text, zlib.crc32(case.name.encode()))):
        parser, events = Parser.of(compiled, "identity"), []
        for chunk in chunks:
            events += parser.feed(chunk)
            parser = Parser.of_state(compiled, parser.encode_state())
        assert events + parser.finish() == parse(compiled, chunks)


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
    """What other servers expect of this format comes out here too, at every cut, but for what is waived by decision."""
    failures = []
    for number, case in enumerate(shared_cases(format_name)):
        compiled = compile_grammar(options_of(case))
        events = parse(compiled, [case["text"]] if case["text"] else [])
        whole, wrong = merged(events), difference(case, events)
        failures += [
            f"{format_name}:{number} depends on the cut {chunks}"
            for chunks in all_cuts(case["text"], number)
            if merged(parse(compiled, chunks)) != whole
        ]
        if (key_of(case) in WAIVERS) != bool(wrong):
            failures.append(f"{format_name}:{number} {wrong or 'waived but passes'} [{key_of(case)}]")
    assert failures == []


def test_every_waiver_is_of_a_case() -> None:
    """A waiver whose case is gone goes, too."""
    known = {key_of(case) for name in FORMAT_NAMES for case in shared_cases(name)}
    assert sorted(WAIVERS.keys() - known) == []
