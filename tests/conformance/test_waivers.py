"""Waivers of other projects' cases: few, each for a reason, and never more than there are."""

import re
from collections import Counter

from tests.conformance.shared_cases import WAIVERS, key_of, shared_cases
from tokenmill.formats import FORMATS

CEILINGS = {
    "apertus": 2,
    "apriel": 1,
    "cohere_action": 1,
    "deepseek_dsml": 5,
    "deepseek_v31": 1,
    "dots": 2,
    "gemma4": 5,
    "glm_kv": 1,
    "harmony": 3,
    "hunyuan_a13b": 1,
    "inkling": 5,
    "k2_horizon": 4,
    "kimi_k2": 2,
    "minicpm5_xml": 4,
    "minimax_m3": 1,
    "mistral_args": 4,
    "mistral_json": 1,
    "muse": 6,
    "plamo3": 17,
    "pythonic": 1,
    "qwen3_xml": 4,
    "think": 8,
}
"""Waived cases by format. May only get smaller."""

SHARE = 0.10
"""Of all cases: more would be another contract."""

REASON = re.compile(r"\bdesign \d\.\d|\bP\d\b|\bconflict\b|\bvLLM\b|\bSGLang\b|\bllama\.cpp\b|\bthe test\b")
"""A reason names the decision that it rests on, or who contradicts whom."""


def test_there_are_no_more_waivers_than_there_were() -> None:
    """The table of ceilings is the record: a waiver that goes lowers it, one that comes shows there."""
    waived = Counter(
        format_.name for format_ in FORMATS for case in shared_cases(format_.name) if key_of(case) in WAIVERS
    )
    assert dict(waived) == CEILINGS


def test_waivers_are_few() -> None:
    """At most a tenth of all cases is waived."""
    cases = [case for format_ in FORMATS for case in shared_cases(format_.name)]
    assert sum(key_of(case) in WAIVERS for case in cases) <= SHARE * len(cases)


def test_every_waiver_has_a_reason() -> None:
    """It names a decision of the design, a promise, or the conflict between the projects."""
    assert [key for key, reason in WAIVERS.items() if not REASON.search(reason)] == []


def test_every_waiver_is_of_a_case() -> None:
    """A waiver whose case is gone goes, too."""
    known = {key_of(case) for format_ in FORMATS for case in shared_cases(format_.name)}
    assert sorted(WAIVERS.keys() - known) == []
