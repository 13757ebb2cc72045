"""A parser that tells what each call did."""

import pytest

from tokenmill.formats import compile_grammar
from tokenmill.inspector import watched as watched_module
from tokenmill.inspector.watched import Step, WatchedParser
from tokenmill.parser import MessageParser, read_options

TEXT = 'a <tool_call>\n{"name":"f","arguments":{"a":1}}\n</tool_call>'


def test_its_events_are_those_of_the_parser_beside_the_spans() -> None:
    """Every way to say something to it, each a step."""
    options = read_options({"format": "hermes"})
    steps = list[Step]()
    watched = WatchedParser.of(compile_grammar(options, traced=True), "x").watch(steps.append)
    plain = MessageParser.of(compile_grammar(options), "x")
    for parser in (watched, plain):
        parser.reasoning("Hm. ")
        parser.feed(TEXT)
        parser.part("image", {"a": 1})
        parser.fail("no more")
    events = plain.finish("stop")
    assert [event for event in watched.finish("stop") if event in events] == events
    assert [step.kind for step in steps] == ["reasoning", "text", "part", "error", "finish"]
    assert "".join(step.source for step in steps) == f'Hm. {TEXT}{{"a":1}}no more'
    assert [(step.start, step.end) for step in steps][:2] == [(0, 4), (4, 4 + len(TEXT))]
    assert watched.here == steps[-1].end


def test_an_event_of_something_else_stands_where_the_parser_is() -> None:
    """It brings nothing."""
    watched = WatchedParser.of(compile_grammar(read_options({"format": "plain"}), traced=True), "x").watch(print)
    watched.feed("Hi <")
    step = watched.idle_step("record", [])
    assert (step.kind, step.start, step.end, step.source, step.made) == ("record", 4, 4, "", [])


def test_calls_of_a_provider_s_own_move_no_place_of_the_text() -> None:
    """The arguments in them are no text of the model's; what was held in front of them is."""
    steps = list[Step]()
    watched = WatchedParser.of(compile_grammar(read_options({"format": "hermes"}), traced=True), "x").watch(
        steps.append
    )
    watched.feed("Hi <tool")
    watched.tool_calls([{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}])
    watched.feed("there")
    watched.finish("stop")
    source = "".join(step.source for step in steps)
    texts = [source[made.start : made.end] for step in steps for made in step.made if made.event.type == "text-delta"]
    assert texts == ["Hi ", "<tool", "there"]
    (end,) = steps[-1].made[-1:]
    assert (end.event.type, end.start, end.end) == ("finish", len(source), len(source))


def test_what_is_shown_of_text_that_waits_has_a_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step says it again: of what has no room its length is told, and what is as short is shown."""
    monkeypatch.setattr(watched_module, "HELD_CHARS", 1_000)
    steps = list[Step]()
    watched = WatchedParser.of(compile_grammar(read_options({"format": "llama3_json"}), traced=True), "x")
    watched.watch(steps.append)
    for piece in ["{", *" " * 200, '"name"', *" " * 200, ":"]:
        watched.feed(piece)
    waiting = [step.held + step.pending for step in steps]
    assert waiting[40] == "{" + " " * 40
    assert waiting[-1] == "(408 characters, too many to be shown at each step)"
    assert sum(map(len, waiting)) < 1_000 + 64 * len(steps)
