"""`tokenmill parse --explain`."""

from io import StringIO

import pytest

from tokenmill.commands.explain import Explained, explain, print_explained
from tokenmill.parser import Options
from tokenmill.terminal.console import Terminal

GOOD = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
BROKEN = '<tool_call>\n{"name": f}\n</tool_call>'
OPTIONS = Options(format="hermes")


@pytest.mark.parametrize("step", [1, 1000])
def test_every_call_is_shown_with_its_source(step: int) -> None:
    """However the text is cut; what is plain text needs no explanation."""
    text = f"Hello.{GOOD}{GOOD}"
    pieces = list(explain(OPTIONS, [text[at : at + step] for at in range(0, len(text), step)], "stop"))
    assert pieces == [Explained(GOOD.removesuffix("\n</tool_call>"), ["call f", "  a = 1"])] * 2


def test_a_broken_call_says_what_is_wrong() -> None:
    """Beside the source up to where it went wrong; all of it came out as text."""
    (piece,) = explain(OPTIONS, [BROKEN], "stop")
    assert piece.source.startswith('<tool_call>\n{"name": ')
    assert piece.made[0].startswith("error malformed-call: ")


def test_an_unknown_tool_is_a_call_with_a_note() -> None:
    """The problem stands above the call."""
    options = Options(format="hermes", tools=[{"type": "function", "function": {"name": "g"}}])
    (piece,) = explain(options, [GOOD], "stop")
    assert piece.made[0].startswith("error unknown-tool: ")
    assert piece.made[1:] == ["call f", "  a = 1"]


def test_several_calls_of_one_source_are_shown_beside_it() -> None:
    """A list of calls between two tags is read as a whole."""
    text = '<tool_call>[{"name": "f", "arguments": {"a": 1}}, {"name": "g"}]</tool_call>'
    (piece,) = explain(Options(format="json_mix"), [text], "stop")
    assert piece == Explained(text, ["call f", "  a = 1", "call g"])


def test_text_that_was_dropped_is_shown() -> None:
    """An option says so; the reader sees what is gone."""
    options = Options(format="hermes", text_after_calls="drop")
    assert Explained(" More.", ["dropped"]) in list(explain(options, [f"{GOOD} More."], "stop"))


def test_a_program_gets_plain_lines() -> None:
    """Source, then what was made of it."""
    page = StringIO()
    print_explained(Terminal(file=page, width=20), [Explained("[b]x", ["call f", "  a = 1"])])
    assert page.getvalue().splitlines() == ["#1 source", "[b]x", "#1 made", "call f", "  a = 1"]


def test_a_message_without_calls() -> None:
    """Is said to have none: silence would look like a failure."""
    page = StringIO()
    print_explained(Terminal(file=page, width=20), [])
    assert page.getvalue().startswith("no call")


def test_a_person_gets_both_side_by_side() -> None:
    """In two columns."""
    page = StringIO()
    print_explained(Terminal(file=page, width=60, force_terminal=True), [Explained("[b]x", ["call f"])])
    assert any("[b]x" in line and "call f" in line for line in page.getvalue().splitlines())


def test_what_a_terminal_would_obey_is_named_on_it() -> None:
    """Programs get the text as it is."""
    pieces = [Explained("\x1b[2J", ["\x9b"])]
    person, program = StringIO(), StringIO()
    print_explained(Terminal(file=person, width=60, force_terminal=True, color_system=None), pieces)
    print_explained(Terminal(file=program), pieces)
    assert ["<U+001B>[2J", "<U+009B>"] in [line.split() for line in person.getvalue().splitlines()]
    assert program.getvalue() == "#1 source\n\x1b[2J\n#1 made\n\x9b\n"
