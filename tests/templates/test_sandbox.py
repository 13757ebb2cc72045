"""What a template finds in its process."""

import json
import signal
import subprocess
import sys

import pytest

from tokenmill.templates.rendering import render

ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% generation %}a{% endgeneration %}b", "ab"),
        ("x\n{%- generation -%}\n a \n{%- endgeneration %}", "xa"),
        ("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
        ('{{ {"ä": 1} | tojson }}', '{"ä": 1}'),
        ('{{ {"b": [1], "a": 2} | tojson(indent=1, sort_keys=true) }}', '{\n "a": 2,\n "b": [\n  1\n ]\n}'),
        ('{{ {"a": 1} | tojson(separators=(",", ":")) }}', '{"a":1}'),
        ('{{ strftime_now("%Y-%m-%d") }}', "2026-01-02"),
        ("  {% if true %}\na\n  {% endif %}\nb", "a\nb"),
    ],
)
def test_a_template_has_what_transformers_gives_it(template: str, text: str) -> None:
    """Filters, functions and tags that real templates use, and its way with white space."""
    (rendering,) = render(template, [{}])
    assert (rendering.text, rendering.problem) == (text, "")


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ('{{ raise_exception("no tools here") }}', "no tools here"),
        ("{{ messages.nothing.more }}", "'messages' is undefined"),
        ("{% if %}", "no template: Expected an expression"),
        ("{{ ''.__class__.__mro__ }}", "access to attribute '__class__' of 'str' object is unsafe"),
        ("{{ messages.append(1) }}", "'messages' is undefined"),
        ("{% for i in range(1000) %}{{ 'a' * 2000 }}{% endfor %}", "it renders more than 1,048,576 characters"),
    ],
)
def test_what_goes_wrong_is_told(template: str, problem: str) -> None:
    """And the other conversations are rendered all the same."""
    (rendering,) = render(template, [{}])
    assert rendering.text is None
    assert problem in rendering.problem


def test_what_renders_all_the_time_ends_by_itself_when_one_takes_too_long() -> None:
    """Nobody may be left who watches it. Time between two requests does not count."""
    command = [sys.executable, "-m", "tokenmill.templates.sandbox", "--serve", "1.5"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            for template in ("a", ENDLESS):
                process.stdin.write(json.dumps({"template": template, "conversations": [{}]}) + "\n")
                process.stdin.flush()
            assert json.loads(process.stdout.readline()) == [{"text": "a"}]
            assert process.wait(30) == -signal.SIGALRM
        finally:
            process.kill()
