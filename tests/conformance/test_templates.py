"""What models' own chat templates write, with arguments of all kinds, comes out as it was put in, however it is cut."""

import zlib

from tests.conformance.shared_cases import difference, key_of, options_of, template_cases
from tests.support.parsing import merged, parse, random_cuts
from tokenmill.formats import compile_grammar

FEWEST = 250
"""Cases that there are at least: fewer are a folder that was not read."""


def test_what_a_models_template_renders_is_read_back() -> None:
    """Names, arguments to the character, and the text around; nothing here is waived."""
    cases = [case for found in template_cases().values() for case in found]
    assert len(cases) >= FEWEST
    failures = []
    for case in cases:
        grammar = compile_grammar(options_of(case))
        events = parse(grammar, [case["text"]])
        if wrong := difference(case, events):
            failures.append(f"{case['format']}: {wrong} [{key_of(case)}]")
        for chunks in (list(case["text"]), *random_cuts(case["text"], zlib.crc32(case["text"].encode()))):
            assert merged(parse(grammar, chunks)) == merged(events), (key_of(case), chunks)
    assert failures == []
