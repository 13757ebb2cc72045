"""Calls in Python: where strings end, what is sent as it grows, what breaks a call."""

import re
from typing import Any

import pytest

from tests.support.parsing import all_cuts, codes_of, grammar, merged, named, parse, text_of
from tokenmill.events import ArgumentDelta, ToolCall, ToolInputDelta
from tokenmill.limits import JSON_DEPTH, NAME_CHARS
from tokenmill.parser import MessageParser
from tokenmill.parser.bodies.pycalls import TEXT_CHARS, follow
from tokenmill.parser.markers import TOKEN_CHARS


def call(arguments: str) -> str:
    """A call of `f`."""
    return f"<|tool_call_start|>[f({arguments})]<|tool_call_end|>"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("a='x'", {"a": "x"}),
        (r"a='\u00e9\x41\ud83d\ude00\n'", {"a": "éA😀\n"}),
        (r"a='\ud83d\ud83d\ude00\ude00'", {"a": "\ufffd😀\ufffd"}),
        (r"a='\1012\7\U0001F600\U00110000'", {"a": "A2\7😀\ufffd"}),
        (r"a=r'\n\'", {"a": r"\n\'"}),
        ("a = u'x'", {"a": "x"}),
        ("a='it's', b='x'", {"a": "it's", "b": "x"}),
        ("a='''it's'''", {"a": "it's"}),
        ("a=''", {"a": ""}),
        ("a=('x')", {"a": "x"}),
    ],
)
def test_strings_grow(arguments: str, expected: dict[str, Any]) -> None:
    """The deltas of a string argument are its final value, wherever it is cut."""
    if arguments.endswith(r"\'"):
        arguments += "'"
    text = call(arguments)
    compiled = grammar("lfm2", content_arguments=["*"])
    whole = merged(parse(compiled, [text]))
    assert [event.arguments for event in whole if isinstance(event, ToolCall)] == [expected]
    deltas = {item[0][1]: item[1] for item in whole if isinstance(item, tuple) and item[0][0] == "argument"}
    assert deltas == {key: value for key, value in expected.items() if value}
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == whole


@pytest.mark.parametrize(
    "calls",
    [
        '[f(a="x), g(b="y")]',
        '[f(a="x, b="y")]',
        "[f(a='x, b = 'y', c='z')]",
        '[f(a=["x"], b="x, c="y")]',
        r'[f(a="\"x, b="y")]',
        '[f(a="x)]<|tool_call_end|>\n<|tool_call_start|>[g(b="y")]',
    ],
)
def test_a_string_without_its_closing_quote_breaks_its_call(calls: str) -> None:
    """It would hold the next argument, or the next call, up to the quote that opens a string there."""
    text = f"<|tool_call_start|>{calls}<|tool_call_end|>"
    compiled = grammar("lfm2")
    whole = merged(parse(compiled, [text]))
    assert (named(whole, ToolCall), codes_of(whole), text_of(whole)) == ([], ["malformed-call"], text)
    for chunks in all_cuts(text):
        assert merged(parse(compiled, chunks)) == whole


@pytest.mark.parametrize("code", ['foo(a="b")', 'it"s', 'say c="x', 'a, b="c" "d'])
def test_bare_quotes_that_open_no_argument_stay_in_their_string(code: str) -> None:
    """Pairs of quotes are content, and so is a single one elsewhere than at the beginning of an argument's string."""
    assert [call.arguments for call in named(parse(grammar("lfm2"), [call(f'a="{code}"')]), ToolCall)] == [{"a": code}]


def test_what_is_certain_is_sent_at_once() -> None:
    """Only half an escape, and a quote that may end the string, wait."""
    parser = MessageParser.of(grammar("lfm2", content_arguments=["*"]), "identity")
    parser.feed("<|tool_call_start|>[f(a='")
    chunks = ("x", "\\u00", "e9y", "'", " z", "', ", "b=")
    sent = ["".join(event.delta for event in named(parser.feed(chunk), ArgumentDelta)) for chunk in chunks]
    assert sent == ["x", "", "éy", "", "' z", "", ""]


def test_source_is_the_region_between_the_brackets() -> None:
    """Verbatim, without the brackets of the call."""
    events = parse(grammar("lfm2"), list(call(" a = [1] , b='x' ")))
    assert "".join(event.delta for event in named(events, ToolInputDelta)) == " a = [1] , b='x' "


@pytest.mark.parametrize(
    "bad",
    [
        *("1", "a", "a b=1", "*a", "a=1 b=2", "a==1", "a=x", "a=b'x'", "a=f'x'", "a=1+1", "a=g()", "a=", "a=,b=1"),
        *("a={1: 2, 3}", "a={[]: 1}", "a=[1 2]", "a=[1}", "a]", "a='''x''' 'y'", "k" * (NAME_CHARS + 1) + "=1"),
        *("a=" + "[" * JSON_DEPTH, "=1", ",", "a=-", "a=1j"),
    ],
)
def test_what_is_no_call(bad: str) -> None:
    """Only keywords with literals are; otherwise the source comes out as text."""
    whole = parse(grammar("lfm2"), [call(bad)])
    assert codes_of(whole)[:1] == ["malformed-call"]
    assert text_of(whole) == call(bad)
    assert merged(parse(grammar("lfm2"), list(call(bad)))) == merged(whole)


def test_numbers_too_long_for_python_stay_text() -> None:
    """Nobody counts that far."""
    digits = "9" * 5000
    (found,) = named(parse(grammar("lfm2"), [call(f"a={digits}, b=[0x{digits[:10]}]")]), ToolCall)
    assert found.arguments == {"a": digits, "b": [0x9999999999]}


def test_nesting_on_the_short_path() -> None:
    """A chunk that leaves a list and enters another is not skipped."""
    events = parse(grammar("lfm2"), ["<|tool_call_start|>[f(a=[[1", "], [", "2]], b=[", "3", "], c", "=[4])]"])
    assert named(events, ToolCall)[0].arguments == {"a": [[1], [2]], "b": [3], "c": [4]}


def test_text_that_looks_like_a_call_is_not_held_for_ever() -> None:
    """A call of no tool waits for its bracket, and so long only; a quote that never ends does not hold the answer."""
    compiled = grammar("pythonic", tools=[{"function": {"name": "f"}}])
    text = "[g(a='" + "x" * 2 * TEXT_CHARS
    parser = MessageParser.of(compiled, "identity")
    sent = [text_of(parser.feed(chunk)) for chunk in (text[:TEXT_CHARS], text[TEXT_CHARS:], "[f()]")]
    assert sent == ["", text, ""]
    assert codes_of(parser.finish()) == []


@pytest.mark.parametrize(("name", "codes"), [("f", ["unfinished-call"]), ("g", [])])
def test_a_call_that_is_cut(name: str, codes: list[str]) -> None:
    """Only that of a tool was one."""
    events = parse(grammar("pythonic", tools=[{"function": {"name": "f"}}]), [f"[{name}(a='x"])
    assert codes_of(events) == codes
    assert text_of(events) == f"[{name}(a='x"


@pytest.mark.parametrize(
    ("format_name", "text"),
    [
        ("pythonic", '[run(code="print("hi")'),
        ("llama4_pythonic", '[run(code="print("hi")'),
        ("olmo3", '<function_calls>run(code="print("hi")'),
        ("lfm2", '<|tool_call_start|>[run(code="print("hi")'),
    ],
)
def test_a_call_that_ends_in_a_string_with_bare_quotes(format_name: str, text: str) -> None:
    """Whoever ended it, what would have followed may be more of the string: half a command is never run."""
    compiled = grammar(format_name, tools=[{"function": {"name": "run"}}])
    for chunks in ([text], list(text)):
        for reason in ("stop", "length"):
            events = parse(compiled, chunks, reason)
            assert not named(events, ToolCall)
            assert codes_of(events) == ["unfinished-call"]
            assert text_of(events) == text


@pytest.mark.parametrize(
    ("format_name", "text"),
    [
        ("pythonic", '[run(code="print("hi")")]'),
        ("llama4_pythonic", '[run(code="print("hi")")]'),
        ("olmo3", '<function_calls>run(code="print("hi")")</function_calls>'),
        ("olmo3", '<function_calls>run(code="print("hi")")\n'),
        ("lfm2", '<|tool_call_start|>[run(code="print("hi")")]<|tool_call_end|>'),
    ],
)
def test_a_call_with_bare_quotes_that_ends(format_name: str, text: str) -> None:
    """What must stand behind a call ends its string, too."""
    compiled = grammar(format_name, tools=[{"function": {"name": "run"}}])
    for chunks in ([text], list(text)):
        assert [call.arguments for call in named(parse(compiled, chunks), ToolCall)] == [{"code": 'print("hi")'}]


def test_strings_that_python_would_join_break_their_call() -> None:
    """Their siblings stay."""
    compiled = grammar("pythonic", tools=[{"function": {"name": "f"}}])
    for chunks in (['[f(a="x" "y"), f(a="z")]'], list('[f(a="x" "y"), f(a="z")]')):
        events = parse(compiled, chunks)
        assert [call.arguments for call in named(events, ToolCall)] == [{"a": "z"}]
        assert codes_of(events) == ["malformed-call"]


def test_a_call_that_is_cut_behind_a_plain_string() -> None:
    """A string without bare quotes ends at its only one, whatever would have followed."""
    (found,) = named(parse(grammar("pythonic", tools=[{"function": {"name": "f"}}]), ["[f(a='x')"], "length"), ToolCall)
    assert found.arguments == {"a": "x"}


def test_source_waits_only_for_a_quote() -> None:
    """Half an escape is source for certain; a quote is not, while it may open with three or end its string."""
    parser = MessageParser.of(grammar("lfm2"), "identity")
    parser.feed("<|tool_call_start|>[f(a='")
    chunks = ("x\\", "'y", "'", ", b", "=['z", "'", ", 'w']", ")")
    sent = ["".join(event.delta for event in named(parser.feed(chunk), ToolInputDelta)) for chunk in chunks]
    assert sent == ["'x\\", "'y", "", "", "', b=['z", "", "', 'w']", ""]


SIGNS = re.compile(r"[\"'()\[\]{}<]")


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("1, 2", ("", False, "["), ("", False, "[", 4)),
        ("], {", ("", False, "[["), ("", False, "[{", 4)),
        ("'x': \"y", ("", False, "{"), ('"', False, "{", 7)),
        ("y', z", ("'", False, "["), ("", False, "[", 5)),
        ("it's z", ("'", False, "["), ("'", False, "[", 6)),
        ("x\\", ("'", False, "["), ("'", True, "[", 2)),
        ("', '", ("'", True, "["), ("'", False, "[", 3)),
        ("x' ", ("'", False, "["), ("'", False, "[", 1)),
        ("1, '", ("", False, "["), ("", False, "[", 3)),
        ("'''a' '''", ("", False, "["), ("", False, "[", 9)),
    ],
)
def test_what_is_open(text: str, before: tuple[str, bool, str], after: tuple[str, bool, str, int]) -> None:
    """Brackets nest outside of strings; a quote waits while it can still be three, or end its string."""
    quote, escaped, stack = before
    assert follow(SIGNS, text, quote, stack, escaped=escaped) == after


@pytest.mark.parametrize("text", ["]", "}", "<", "1]<"])
def test_what_must_be_read_with_care(text: str) -> None:
    """The end of the outermost bracket, one that does not match, and what can begin a marker."""
    assert follow(SIGNS, text, "", "[", escaped=False) is None


def test_cut_anywhere() -> None:
    """The same is open wherever the text is cut, whether the chunks are short enough to be remembered or not."""
    text = r"""{'a': ["it's", "x\"y\\", 'q', '''p'p''', ""]}, [(1, "2")], {"b": {'c': "d"}}, """ + "1, " * TOKEN_CHARS
    whole = follow(SIGNS, text, "", "[", escaped=False)
    assert whole is not None
    assert whole[:3] == ("", False, "[")
    for cut in range(1, len(text)):
        first = follow(SIGNS, text[:cut], "", "[", escaped=False)
        assert first is not None
        second = follow(SIGNS, text[first.read :], first.quote, first.stack, escaped=first.escaped)
        assert second is not None
        assert second[:3] == whole[:3]
        assert first.read + second.read == whole.read
