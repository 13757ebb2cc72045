"""Templates in the way that models' own are built: each is read back by the format that it is named after."""

import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokenmill.formats import find_format
from tokenmill.templates.answers import SHAPES, answer, conversations
from tokenmill.templates.check import Report, _miss, check_template, same
from tokenmill.templates.probes import PROBES, probe
from tokenmill.templates.rendering import CannotRender, render

FOLDER = Path(__file__).parents[1] / "cases" / "templates"
TEMPLATES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.jinja"))}

CLOSINGS = {"glm_kv", "qwen3_xml"}
"""Templates of grammars without escapes, of which a text that has closings of calls may not be read back."""

BATCH = 20
"""Calls that are rendered at once: a process is started for them."""


@cache  # a process of its own renders it, which takes half a second
def report(name: str) -> Report:
    return check_template(TEMPLATES[name])


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_format_of_a_template_reads_all_that_it_renders(name: str) -> None:
    """And it is the first of those that do."""
    found = report(name)
    best = found.verdicts[0]
    missed = {miss.probe for miss in best.misses}
    assert best.format == name
    assert missed <= ({"tags of calls in text"} if name in CLOSINGS else set())
    assert found.complete == (not missed)


texts = st.text(st.sampled_from("aé東🙂 \n\t\"'\\<>/{}[]():,=|`&;#$0-"), max_size=12) | st.text(max_size=8)
names = st.text("abcxyz_", min_size=1, max_size=6)
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False).filter(math.isfinite)
leaves = texts | numbers | st.booleans()
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("name", TEMPLATES)
@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(several=st.lists(st.dictionaries(names, values, max_size=4), min_size=BATCH, max_size=BATCH))
def test_whatever_a_template_renders_is_read_back(name: str, several: list[dict[str, Any]]) -> None:
    """Arguments of any kind, nested, with characters of every grammar."""
    shape = next(shape for shape in SHAPES if shape.content == "" or name == "deepseek_v3")
    if name == "deepseek_v3":
        shape = next(one for one in SHAPES if (one.arguments, one.content) == ("text", None))
    probes = [probe(f"number {number}", arguments) for number, arguments in enumerate(several)]
    rendered = render(TEMPLATES[name], [one for each in probes for one in conversations(each, shape)])
    for number, each in enumerate(probes):
        prompt, plain, calling = (one.text for one in rendered[3 * number : 3 * number + 3])
        assert prompt is not None
        assert plain is not None
        assert calling is not None
        found = answer(each, shape, prompt, plain, calling)
        assert found is not None
        assert _miss(find_format(name), [found], None) is None, found.text


def test_what_a_template_does_not_render_is_told() -> None:
    """It counts against nobody."""
    found = report("llama3_json")
    assert found.unrendered == {"two calls": "one call at a time, please"}
    assert found.verdicts[0].of == len(PROBES) - 1


def test_a_template_may_want_arguments_as_text_and_no_content() -> None:
    """The report says the first; the second is found."""
    assert report("deepseek_v3").arguments == "text"
    assert report("hermes").arguments == "object"


def test_what_a_format_misses_is_told_with_argument_and_both_values() -> None:
    """The first argument that is not as it was put in."""
    broken = TEMPLATES["hermes"].replace("call.arguments | tojson", "(call.arguments | tojson).replace('3', '4')")
    found = check_template(broken)
    assert not found.complete
    assert found.verdicts[0].misses[0].reason == "days: 4 in place of 3"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{% for m in messages %}{{ m.content }}{% endfor %}", "renders no calls of the model: it has no tools"),
        ("{{ raise_exception('system first') }}", "it reports: system first"),
        ("{% for %}", "no template"),
    ],
)
def test_a_template_without_calls_can_not_be_checked(template: str, message: str) -> None:
    """What it says itself is told."""
    with pytest.raises(CannotRender, match=message):
        check_template(template)


def test_values_are_the_same_as_in_json() -> None:
    """1 and 1.0 are one number; true is none."""
    assert same({"a": [1, {"b": 2.0}]}, {"a": [1.0, {"b": 2}]})
    assert not same({"a": 1}, {"a": True})
    assert not same([0], [False])
    assert not same({"a": 1}, {"a": 1, "b": 2})
    assert not same([1], [1, 2])
