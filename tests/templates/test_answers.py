"""The model's part of what a template renders."""

import pytest

from tokenmill.templates.answers import MARK, SHAPES, WORDS, Shape, answer, conversations
from tokenmill.templates.probes import probe

CALL = probe("one", {"a": 1}, tool="f")
SHAPE = Shape("object", nested=True, content="")


@pytest.mark.parametrize(
    ("prompt", "plain", "calling", "text", "prompted"),
    [
        ("<u>q<a>", f"<u>q<a>{MARK}<e>", "<u>q<a>[f(a=1)]<e>", "[f(a=1)]", True),
        ("<u>q<a><think>\n", f"<u>q<a>{MARK}<e>", "<u>q<a><tool>f</tool><e>", "<tool>f</tool>", False),
        ("<u>q<a><think>", f"<u>q<a>{MARK}<e>", "<u>q<a><think></think><tool>f<e>", "</think><tool>f", True),
        ("\uffff", f"<u>q<a><TEXT>{MARK}<e>", "<u>q<a><TOOL>f</TOOL><e>", "<TOOL>f</TOOL>", False),
        ("\uffff", f"[I]q[/I] {MARK}</s>", "[I]q[/I] [T]f{}</s>", "[T]f{}", False),
        ("q:", f"q:{MARK}<end>", "q:f()<call>", "f()<call>", True),
    ],
)
def test_the_answer_is_what_only_the_calls_add(
    prompt: str, plain: str, calling: str, text: str, prompted: bool
) -> None:
    """Behind the prompt, or where it begins to differ from plain words; without what ends a turn in both."""
    found = answer(CALL, SHAPE, prompt, plain, calling)
    assert found is not None
    assert (found.text, found.prompted) == (text, prompted)


def test_a_rendering_without_the_call_is_no_answer() -> None:
    """Templates without tools leave calls out."""
    assert answer(CALL, SHAPE, "q:", f"q:{MARK}", "q:") is None


def test_words_in_front_of_the_calls_are_noticed() -> None:
    """Some templates leave them out."""
    shape = Shape("object", nested=True, content=WORDS)
    for calling, has in ((f"q:{WORDS}[f]", True), ("q:[f]", False)):
        found = answer(CALL, shape, "q:", f"q:{MARK}", calling)
        assert found is not None
        assert found.has_words is has


def test_calls_are_handed_over_in_every_shape_that_templates_read() -> None:
    """Arguments as an object and as text, under `function` or beside the name, with content, without, and null."""
    seen = set()
    for shape in SHAPES:
        message = conversations(CALL, shape)[2]["messages"][-1]
        (call,) = message["tool_calls"]
        function = call.get("function", call)
        seen.add((type(function["arguments"]), "function" in call, message["content"]))
        assert function["name"] == "f"
        assert len(call["id"]) == 9
    assert len(seen) == len(SHAPES) == 12
