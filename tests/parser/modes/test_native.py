"""Calls of a provider's own tool stream."""

from typing import Any

import pytest
from msgspec import UNSET

from tests.support.parsing import codes_of, grammar, named, reasoning_of, text_of
from tokenmill.events import AnyEvent, Error, ToolCall, ToolInputDelta, ToolInputEnd, ToolInputStart
from tokenmill.limits import Limits
from tokenmill.parser import MessageParser


def delta(index: int | None = 0, id_: str | None = None, name: str | None = None, arguments: str | None = None) -> Any:
    """An OpenAI tool-call delta with only what is given."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    outer = {key: value for key, value in (("index", index), ("id", id_)) if value is not None}
    return {**outer, "function": function}


def run(*deltas: Any, limits: Limits | None = None, **options: Any) -> list[AnyEvent]:
    """Events of a message with one delta a chunk."""
    parser = MessageParser.of(grammar("plain", limits, **options), "identity")
    events: list[AnyEvent] = []
    for item in deltas:
        events += parser.tool_calls([item])
        parser = MessageParser.of_state(parser.grammar, parser.encode_state())
    return events + parser.finish("tool_calls")


def calls(events: list[AnyEvent]) -> list[tuple[str, str, dict[str, Any]]]:
    """Id, name and arguments of the calls."""
    return [(call.id, call.name, call.arguments) for call in named(events, ToolCall)]


def test_a_call_in_pieces() -> None:
    """Name first, arguments as they come; source verbatim; complete with its last brace."""
    events = run(delta(id_="c1", name="f", arguments=""), delta(arguments='{"a"'), delta(arguments=": 1}"))
    assert calls(events) == [("c1", "f", {"a": 1})]
    assert [event.delta for event in named(events, ToolInputDelta)] == ['{"a"', ": 1}"]
    assert [event.type for event in events][-3:] == ["tool-input-end", "tool-call", "finish"]


def test_calls_side_by_side() -> None:
    """Deltas of several indexes may alternate."""
    events = run(
        delta(0, "c1", "f"),
        delta(1, "c2", "g"),
        delta(0, arguments='{"a":'),
        delta(1, arguments="{}"),
        delta(0, arguments="1}"),
    )
    assert calls(events) == [("c2", "g", {}), ("c1", "f", {"a": 1})]


def test_no_arguments() -> None:
    """A call that never got arguments is complete at the end of the message."""
    assert calls(run(delta(id_="c1", name="f"))) == [("c1", "f", {})]


@pytest.mark.parametrize("reason", ["length", "content_filter", "error", "cancelled", "timeout"])
@pytest.mark.parametrize("arguments", [None, "", " ", "{}"])
def test_no_arguments_where_the_answer_was_cut_off(reason: str, arguments: str | None) -> None:
    """They may have been to come, and an incomplete call is never executed; one that has them is complete."""
    parser = MessageParser.of(grammar("plain"), "identity")
    events = parser.tool_calls([delta(0, "c1", "f", "{}"), delta(1, "c2", "g", arguments)])
    events += parser.finish(reason)
    assert calls(events) == [("c1", "f", {})]
    assert codes_of(events) == ["unfinished-call"]


@pytest.mark.parametrize(
    ("arguments", "expected"), [({"a": [1, "é"]}, {"a": [1, "é"]}), ({}, {}), ([1], None), (7, None), (True, None)]
)
def test_arguments_that_are_no_text(arguments: Any, expected: dict[str, Any] | None) -> None:
    """An object is what its JSON would be; a call with anything else is broken, and not one without arguments."""
    events = run({"index": 0, "id": "c1", "function": {"name": "f", "arguments": arguments}})
    assert calls(events) == ([] if expected is None else [("c1", "f", expected)])
    assert codes_of(events) == (["malformed-call"] if expected is None else [])


def test_an_index_that_comes_back_with_another_id() -> None:
    """Another id is another call; the one before is ended."""
    events = run(delta(0, "c1", "f", "{}"), delta(0, "c2", "f", '{"b":2}'))
    assert calls(events) == [("c1", "f", {}), ("c2", "f", {"b": 2})]


def test_a_repeated_id_continues_the_call() -> None:
    """Servers that repeat id and name on every delta do not begin anew."""
    events = run(delta(0, "c1", "f", '{"a":'), delta(0, "c1", "f", "1}"))
    assert calls(events) == [("c1", "f", {"a": 1})]


def test_a_missing_index() -> None:
    """Without an index an id or a name begins the next call, and nothing continues the last."""
    events = run(delta(None, "c1", "f", '{"a":'), delta(None, arguments="1}"), delta(None, "c2", "g", "{}"))
    assert calls(events) == [("c1", "f", {"a": 1}), ("c2", "g", {})]


@pytest.mark.parametrize("index", [False, True, 10**30, -(10**30), 1.5, "0"])
def test_an_index_that_is_no_number_of_a_call(index: Any) -> None:
    """The call is read as if it had another one, and its state is one that a snapshot can hold."""
    events = run(delta(index, "c1", "f", '{"a":'), delta(index, arguments=" 1}"))
    assert calls(events) == [("c1", "f", {"a": 1})]


def test_whole_calls_that_all_have_the_same_index() -> None:
    """Without ids a name with arguments behind a complete call is another one; a name alone is a repetition."""
    events = run(delta(0, "", "f", "{}"), delta(0, "", "f", '{"b":2}'), delta(0, "", "f", ""), delta(0, "", "f"))
    assert [(name, arguments) for _, name, arguments in calls(events)] == [("f", {}), ("f", {"b": 2})]


def test_names_and_ids_that_are_repeated_without_an_index() -> None:
    """They go on with the call that is open."""
    events = run(delta(None, "c1", "f", '{"a"'), delta(None, "c1", "f", ":1}"), delta(None, "c2", "f", "{}"))
    assert calls(events) == [("c1", "f", {"a": 1}), ("c2", "f", {})]
    events = run(delta(None, "", "f", '{"a"'), delta(None, "", "f", ":1}"), delta(None, "", "f", "{}"))
    assert [arguments for _, _, arguments in calls(events)] == [{"a": 1}, {}]


def test_an_id_used_twice_is_one_calls_only() -> None:
    """The second call with the same id gets one of its own."""
    events = run(delta(0, "c1", "f", "{}"), delta(1, "c1", "g", "{}"))
    ids = [call.id for call in named(events, ToolCall)]
    assert ids[0] == "c1"
    assert ids[1].startswith("call_")


def test_a_missing_id_is_made() -> None:
    """A call without an id gets one, the same in all its events."""
    events = run(delta(name="f", arguments="{}"))
    ids = {event.id for event in named(events, ToolInputStart) + named(events, ToolInputEnd) + named(events, ToolCall)}
    assert len(ids) == 1
    assert ids.pop().startswith("call_")


def test_a_cut_call_is_never_completed() -> None:
    """Arguments that do not end are an error, and no text: the model wrote none."""
    events = run(delta(id_="c1", name="f", arguments='{"a":'))
    assert codes_of(events) == ["unfinished-call"]
    assert [event.type for event in events] == [
        "message-start",
        "tool-input-start",
        "tool-input-delta",
        "tool-input-end",
        "error",
        "finish",
    ]


def test_arguments_that_are_no_object() -> None:
    """Broken arguments are an error of that call alone."""
    events = run(delta(0, "c1", "f", "[1]"), delta(1, "c2", "g", "{}"))
    assert codes_of(events) == ["malformed-call"]
    assert calls(events) == [("c2", "g", {})]


def test_a_call_over_its_cap() -> None:
    """The cap falls on the same character however the arguments are cut; what follows is not read."""
    limits = Limits(call_chars=10)
    text = '{"a": "xxxxxxxxxxxx"}'
    whole = run(delta(0, "c1", "f", text), delta(1, "c2", "g", "{}"), limits=limits)
    cut = run(delta(0, "c1", "f"), *(delta(0, arguments=character) for character in text), limits=limits)
    assert codes_of(whole) == codes_of(cut) == ["limit"]
    sent = ["".join(event.delta for event in named(events, ToolInputDelta)) for events in (whole, cut)]
    assert sent == [text[:10], text[:10]]
    assert calls(whole) == []


def test_too_many_calls() -> None:
    """One call over the cap stops reading."""
    events = run(*(delta(n, f"c{n}", "f", "{}") for n in range(4)), limits=Limits(calls=2))
    assert len(calls(events)) == 2
    assert codes_of(events) == ["limit"]


def test_nonsense_is_passed_over() -> None:
    """Deltas without a function, or with values of other types, raise nothing."""
    events = run({}, {"index": "x", "function": 7}, {"index": 0, "function": {"name": 5, "arguments": " "}})
    assert [event.type for event in events] == ["message-start", "finish"]


def test_a_name_that_is_text_makes_no_call() -> None:
    """Where an unknown tool is no call, its deltas leave one error and nothing else."""
    tools = [{"function": {"name": "g"}}]
    events = run(delta(0, "c1", "f", '{"a":'), delta(0, arguments="1}"), tools=tools, unknown_tool="text")
    assert [event.type for event in events] == ["message-start", "error", "finish"]
    assert codes_of(events) == ["unknown-tool"]


def test_a_limit_of_the_text_completes_no_call() -> None:
    """A call whose arguments would come behind the limit never had them: it is unfinished, not empty."""
    parser = MessageParser.of(grammar("plain", Limits(message_chars=3)), "identity")
    events = parser.tool_calls([delta(0, "c1", "f")]) + parser.feed("long text")
    events += parser.tool_calls([delta(0, arguments='{"a": 1}')]) + parser.finish()
    assert codes_of(events) == ["limit", "unfinished-call"]
    assert calls(events) == []


def test_a_limit_ends_what_is_open_in_the_text() -> None:
    """The text beside a call that is too long: its own open call fails, too, and all of it comes out."""
    parser = MessageParser.of(grammar("hermes", Limits(call_chars=40)), "identity")
    source = '<tool_call>{"name": "g", "argu'
    events = parser.feed(source) + parser.tool_calls([delta(0, "c1", "f", '{"a": "' + "x" * 40)])
    events += parser.feed('ments": {}}</tool_call>') + parser.finish()
    assert codes_of(events) == ["limit", "unfinished-call"]
    assert [event.type for event in events].count("tool-input-end") == 2
    assert text_of(events) == source + 'ments": {}}</tool_call>'


def test_a_limit_gives_back_the_opening_of_a_section() -> None:
    """Framing that waits for its call is text when parsing stops."""
    parser = MessageParser.of(grammar("hermes", Limits(call_chars=40)), "identity")
    events = parser.feed("<tool_call>") + parser.tool_calls([delta(0, "c1", "f", '{"a": "' + "x" * 40)])
    events += parser.feed("\n") + parser.finish()
    assert text_of(events) == "<tool_call>\n"


@pytest.mark.parametrize(
    ("name", "options"), [("plain", {"text_after_calls": "drop"}), ("qwen_web_xml", {})], ids=["asked for", "format's"]
)
def test_text_after_calls_is_dropped_from_an_open_block(name: str, options: dict[str, Any]) -> None:
    """A block that began while the call was open gets no more text once the call is complete."""
    parser = MessageParser.of(grammar(name, **options), "identity")
    events = parser.tool_calls([delta(0, "c1", "f")]) + parser.feed("before")
    events += parser.tool_calls([delta(0, arguments="{}")]) + parser.feed("after") + parser.feed("wards")
    assert text_of(events + parser.finish()) == "before"


def test_the_prompt_is_read_behind_a_call() -> None:
    """The first text has the prompt's end in front of it, also where a placeholder has opened a block before."""
    parser = MessageParser.of(grammar("think_append", text_mode="placeholder", placeholder_text="[call]"), "identity")
    events = parser.tool_calls([delta(0, "c1", "f", '{"a": 1}')]) + parser.feed("why</think>so") + parser.finish()
    assert (text_of(events), reasoning_of(events)) == ("[call]<think>why</think>so", "")


def test_nothing_is_kept_of_a_call_that_ended() -> None:
    """Memory is for open calls: a complete one leaves its id, so that a repeat of it is known."""
    parser = MessageParser.of(grammar("plain"), "identity")
    parser.tool_calls([delta(0, "c1", "f", '{"a": "' + "x" * 1000)])
    assert parser.memory > 1000
    assert named(parser.tool_calls([delta(0, "c1", arguments='"}')]), ToolCall)
    assert parser.memory == 0
    assert parser.tool_calls([delta(0, "c1", "f", '{"a": "' + "x" * 1000 + '"}')]) == []


@pytest.mark.parametrize(
    "deltas",
    [
        [delta(arguments='{"a": 1}'), delta(id_="c1", name="f")],
        [delta(arguments='{"a"'), delta(arguments=": 1"), delta(id_="c1", name="f", arguments="}")],
        [delta(id_="c1", arguments='{"a":'), delta(name="f"), delta(arguments="1}")],
        [delta(None, arguments='{"a": 1}'), delta(None, "c1", "f")],
        [delta(None, "c1", arguments='{"a": '), delta(None, name="f", arguments="1}")],
        [delta(None, "c1", arguments='{"a": '), delta(None, "c1", "f", arguments="1}")],
        [delta(arguments="{}"), delta(id_="c1", name="f", arguments='{"a": 1}')],
        [
            delta(arguments="{"),
            delta(arguments=" }\n"),
            delta(id_="c1", name="f", arguments='{"a":'),
            delta(arguments="1}"),
        ],
    ],
)
def test_arguments_in_front_of_the_name(deltas: list[Any]) -> None:
    """They wait for it: the call is one with them, whatever it is that tells whose they are."""
    events = run(*deltas)
    assert calls(events) == [("c1", "f", {"a": 1})]
    assert "".join(event.delta for event in named(events, ToolInputDelta)).replace(" ", "") == '{"a":1}'
    assert codes_of(events) == []


@pytest.mark.parametrize(("reason", "code"), [("tool_calls", "malformed-call"), ("length", "unfinished-call")])
def test_arguments_without_a_name(reason: str, code: str) -> None:
    """They make no call, and are told; where the answer was cut off the name may have been to come."""
    parser = MessageParser.of(grammar("plain"), "identity")
    events = parser.tool_calls([delta(0, "c1", arguments='{"a": 1}'), delta(1, "c2", "g", '{"b": 2}')])
    events += parser.finish(reason)
    assert calls(events) == [("c2", "g", {"b": 2})]
    assert codes_of(events) == [code]
    assert named(events, Error)[0].raw == '{"a": 1}'


def test_arguments_without_a_name_have_a_cap() -> None:
    """The same as those of a call; nothing is read behind it."""
    events = run(*[delta(arguments="x" * 6)] * 3, delta(name="f"), limits=Limits(call_chars=10))
    assert codes_of(events) == ["limit"]
    assert calls(events) == []


@pytest.mark.parametrize("behind", ['{"a": 1}', "}", "</tool_call>", "{}x", " {} 1"])
def test_what_comes_with_the_end_of_the_arguments_breaks_the_call(behind: str) -> None:
    """Which of them were meant is not clear; its siblings stay."""
    events = run(delta(0, "c1", "f", "{}" + behind), delta(1, "c2", "g", "{}"))
    assert calls(events) == [("c2", "g", {})]
    assert codes_of(events) == ["malformed-call"]
    assert named(events, Error)[0].id == "c1"


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("behind", [" \n", '{"a": 1}', ' {"a": 1} '])
def test_arguments_that_are_repeated(behind: str, whole: bool) -> None:
    """Servers that send them again with their end, or all at once in a last delta, mean one call."""
    first = '{"a": 1}'
    deltas = (
        [delta(0, "c1", "f", first + behind * 2)] if whole else [delta(0, "c1", "f", first), delta(arguments=behind)]
    )
    events = run(*deltas)
    assert calls(events) == [("c1", "f", {"a": 1})]
    assert codes_of(events) == []


@pytest.mark.parametrize("empty", ["{}", "{ }\n", {}])
@pytest.mark.parametrize("id_", [None, "c1"])
def test_an_empty_object_beside_the_name_holds_the_place_of_arguments(id_: str | None, empty: Any) -> None:
    """Some servers send it first: what follows are the arguments, and nothing of it is their source."""
    first = {"index": 0, "id": "c1", "function": {"name": "f", "arguments": empty}}
    events = run(first, delta(0, id_, arguments=" "), delta(0, id_, arguments='{"a":'), delta(0, id_, arguments="1}"))
    assert calls(events) == [("c1", "f", {"a": 1})]
    assert "".join(event.delta for event in named(events, ToolInputDelta)) == '{"a":1}'
    assert codes_of(events) == []


def test_an_empty_object_that_nothing_follows_is_the_arguments() -> None:
    """Which is known when another call begins or the message ends; or when it comes again."""
    for index in (1, None):
        parser = MessageParser.of(grammar("plain"), "identity")
        assert calls(parser.tool_calls([delta(0, "c1", "f", "{}")])) == []
        assert calls(parser.tool_calls([delta(index, "c2", "g", "{}")])) == [("c1", "f", {})]
        assert calls(parser.tool_calls([delta(index, "c2", arguments="{}")])) == [("c2", "g", {})]
        assert calls(events := parser.tool_calls([delta(2, "c3", "h", "{}")]) + parser.finish()) == [("c3", "h", {})]
        assert "".join(event.delta for event in named(events, ToolInputDelta)) == "{}"


@pytest.mark.parametrize("id_", [None, "c1"])
def test_what_comes_behind_a_call_that_was_told(id_: str | None) -> None:
    """The call stands, and what comes is told once, without its id: an `error` with it would be a second outcome."""
    events = run(delta(0, "c1", "f", '{"b": 2}'), delta(0, id_, arguments='{"a":'), delta(0, id_, arguments="1}"))
    assert calls(events) == [("c1", "f", {"b": 2})]
    assert [(error.code, error.id, error.name, error.raw) for error in named(events, Error)] == [
        ("malformed-call", UNSET, "f", '{"a":')
    ]


def test_what_comes_behind_a_call_that_failed() -> None:
    """It has been told already that it did."""
    events = run(delta(0, "c1", "f", "[1]"), delta(0, arguments="{}"), delta(0, "c1", arguments="{}"))
    assert codes_of(events) == ["malformed-call"]


def test_calls_without_a_name_are_counted() -> None:
    """Indexes that never get a name take memory, too: more than the cap of calls stops reading."""
    events = run(*(delta(n, arguments="{") for n in range(20)), limits=Limits(calls=3))
    assert codes_of(events) == ["limit"]
