"""The parser as a library."""

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.support.parsing import merged
from tokenmill import Conversion, Parser, options_for, render
from tokenmill.dialects import DIALECTS
from tokenmill.dialects.dialect import Dialect
from tokenmill.errors import BadOpen, ConfigError, MessageEnded, SnapshotError
from tokenmill.events import ToolCall
from tokenmill.formats.hermes import HERMES
from tokenmill.library import SNAPSHOT_VERSION
from tokenmill.limits import Limits
from tokenmill.parser import Format

CALL = '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>'


def test_by_name() -> None:
    """A name, tools and options; text in, events out."""
    parser = Parser("hermes", [{"function": {"name": "f"}}], start="text", identity="m1")
    events = parser.feed("a") + parser.feed(CALL) + parser.finish("stop")
    assert [event.type for event in events][-2:] == ["tool-call", "finish"]


def test_by_object() -> None:
    """A format of one's own needs no registration."""
    events = Parser(HERMES).feed(CALL)
    assert [event.type for event in events if event.type == "tool-call"] == ["tool-call"]


@pytest.mark.parametrize("own_format", [None, HERMES])
def test_snapshot_in_the_middle_of_a_call(own_format: object) -> None:
    """A restored parser continues as the first would have, with the same options and caps."""
    begin, rest = CALL[:30], CALL[30:] + CALL
    parser = Parser(own_format or "hermes", limits=Limits(calls=1), identity="m1")  # type: ignore[arg-type] # of the table
    parser.feed(begin)
    restored = Parser.restore(parser.snapshot(), own_format)  # type: ignore[arg-type] # of the table
    assert restored.feed(rest) + restored.finish() == parser.feed(rest) + parser.finish()


def pickled(parser: Parser) -> Parser:
    """The parser that comes out of its pickle."""
    loaded: Parser = pickle.loads(pickle.dumps(parser))  # noqa: S301 -- it was made here
    return loaded


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_is_a_parser_of_its_own(copied: Callable[[Parser], Parser]) -> None:
    """Both continue from the same place, neither affects the other."""
    tool = {"function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}}
    parser = Parser("hermes", [tool])
    parser.feed(CALL + CALL[:30])
    other = copied(parser)
    expected = parser.feed(CALL[30:]) + parser.finish()
    assert other.feed(CALL[30:]) + other.finish() == expected


class Own(Parser):
    """A parser with something of its user's."""


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_is_of_the_same_class(copied: Callable[[Parser], Parser]) -> None:
    """Also where it is a user's own."""
    assert type(copied(Own("hermes"))) is Own


def test_a_parser_of_an_own_format_can_be_copied_but_not_pickled() -> None:
    """A pickle can't find the format again; the error says what can."""
    parser = Parser(HERMES)
    assert copy.deepcopy(parser).feed("a") == parser.feed("a")
    for mine in (parser, Parser.restore(parser.snapshot(), HERMES)):
        with pytest.raises(TypeError, match="snapshot"):
            pickle.dumps(mine)


def test_an_own_format_is_compiled_once() -> None:
    """For the same options and caps; another format of the same name is another one."""
    other = msgspec.structs.replace(HERMES, summary="another")
    parsers = [
        Parser(format_, limits=limits) for format_ in (HERMES, HERMES, other) for limits in (None, Limits(calls=1))
    ]
    assert len({parser.grammar for parser in parsers}) == 4
    assert parsers[0].grammar is parsers[2].grammar


def ids_of(parser: Parser) -> list[str]:
    """The id of each call that it reads."""
    return [event.id for event in parser.feed(CALL + CALL) if isinstance(event, ToolCall)]


def test_ids_of_two_parsers_differ() -> None:
    """Nobody has to think of an identity for calls not to be mixed up."""
    ids = ids_of(Parser("hermes")) + ids_of(Parser("hermes"))
    assert len(set(ids)) == 4


def test_ids_are_the_same_for_the_same_identity() -> None:
    """What is parsed again can be compared; an empty identity is one, too."""
    for identity in ("m1", ""):
        assert ids_of(Parser("hermes", identity=identity)) == ids_of(Parser("hermes", identity=identity))
    assert ids_of(Parser("hermes", identity="m1")) != ids_of(Parser("hermes", identity="m2"))


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("feed", ("more",)),
        ("feed", ("",)),
        ("reasoning", ("more",)),
        ("tool_calls", ([],)),
        ("part", ("kind", {})),
        ("fail", ("overloaded",)),
    ],
)
def test_what_comes_behind_the_end_raises(method: str, arguments: tuple[Any, ...]) -> None:
    """It would be lost silently; the error says what to do. Finishing again is not a mistake."""
    parser = Parser("hermes")
    parser.finish()
    with pytest.raises(MessageEnded, match="make a new Parser for the next one"):
        getattr(parser, method)(*arguments)
    assert parser.finish() == []


BROKEN = '<|action_start|><|plugin|>{"name": "f", "parameters": {"a": "\\n\ud800\udc00\udc00\ud800'


def test_halves_of_surrogate_pairs_are_replaced_wherever_the_text_is_cut() -> None:
    """Each becomes U+FFFD, in visible text as in strings that are decoded; two that meet make no character."""
    texts = ("\udc00\ud800", BROKEN, BROKEN + '"}}<|action_end|>\ud83d\ude00', '\udc00[[SEG_START {"a": "\ud800')
    for text in texts:
        whole, pieces = (
            Parser(
                ["internlm", "autobyteus_sentinel"],
                text_mode="smart",
                max_buffer_chars=10,
                content_arguments=["*"],
                identity="m1",
            )
            for _ in range(2)
        )
        events = whole.feed(text) + whole.finish()
        assert "\ufffd" in msgspec.json.encode(events).decode()
        cut = [event for character in text for event in pieces.feed(character)]
        assert merged(cut + pieces.finish()) == merged(events)


def test_halves_of_surrogate_pairs_beside_the_text_are_replaced() -> None:
    """In a provider's own reasoning, calls, parts and errors, too."""
    parser = Parser("plain", identity="m1")
    events = parser.reasoning("\ud800") + parser.part("kind", {"a\udc00": ["\ud800"]}) + parser.fail("\udc00")
    events += parser.tool_calls([{"index": 0, "function": {"name": "f", "arguments": '{"a": "\ud800"}'}}])
    told = msgspec.json.encode(events + parser.finish()).decode()
    assert told.count("\ufffd") >= 5


def _nested(deep: int) -> object:
    """A value nested in this many lists."""
    value: object = 1
    for _ in range(deep):
        value = [value]
    return value


def test_wrong_options_are_refused() -> None:
    """Unknown formats and options raise, by name."""
    with pytest.raises(BadOpen, match="unknown format 'nope'"):
        Parser("nope")
    with pytest.raises(BadOpen, match="unknown option 'colour'"):
        Parser("hermes", colour="red")  # type: ignore[call-arg] # that is the mistake


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (2**128, "64 bits"),
        (-(2**64), "64 bits"),
        ("\ud800", "surrogate"),
        (object(), "JSON"),
        (_nested(5_000), "nested"),
    ],
    ids=["large", "small", "half a pair", "an object", "bottomless"],
)
def test_a_tool_that_can_not_be_kept_is_refused(value: object, problem: str) -> None:
    """With what to change in it: a snapshot holds the options."""
    schema = {"type": "object", "properties": {"n": {"type": "integer", "maximum": value}}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    formats: tuple[str | Format, ...] = ("hermes", HERMES)
    for format_ in formats:
        with pytest.raises(BadOpen, match=problem):
            Parser(format_, tools=tools)


@pytest.mark.parametrize("own_format", [None, HERMES], ids=["by name", "by object"])
def test_tools_are_those_that_were_passed(own_format: Format | None) -> None:
    """A caller that changes its list later changes neither this parser nor the next one."""

    def tool() -> dict[str, Any]:
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
        return {"function": {"name": "changed", "parameters": schema}}

    passed = tool()
    parser = Parser(own_format or "hermes", [passed])
    passed["function"]["parameters"]["properties"]["a"]["type"] = "string"
    call = CALL.replace('"f"', '"changed"')
    for each in (parser, Parser(own_format or "hermes", [tool()])):
        assert [event.type for event in each.feed(call) if event.type in ("error", "tool-call")] == ["tool-call"]


FIRST_USES = """
import msgspec._utils
from tokenmill import Parser, convert
from tokenmill.codecs import CODECS
from tokenmill.formats import FORMATS
from tokenmill.plugins import load_plugins

load_plugins()
seen = []


def noted(kind, look=msgspec._utils._get_class_mro_and_typevar_mappings):
    seen.append(kind)
    return look(kind)


msgspec._utils._get_class_mro_and_typevar_mappings = noted
for codec in CODECS:
    list(convert([record.value for record in codec.sample if record.value is not None], codec.name, "native"))
for name in "qwen3_xml functiongemma lfm2 minimax_m3 json_mix morph_xml autobyteus_json autobyteus_xml".split():
    parser, sample = Parser(name), FORMATS.find(name).sample
    for at in range(0, len(sample), 8):
        parser.feed(sample[at : at + 8])
        parser = Parser.restore(parser.snapshot())
Parser("hf", response_template={"fields": {"thinking": {"open": "<think>", "close": "</think>"}}})
print(seen)
"""
"""Uses each kind of body, all codecs and a template, and shows the types that msgspec looks at only then."""


@pytest.mark.integration
def test_types_are_looked_at_on_import() -> None:
    """Two threads that use one for the first time crash msgspec 0.22."""
    run = subprocess.run([sys.executable, "-c", FIRST_USES], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "[]\n", "")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\x81\xa7version\x01",
        b"\x81\xa1x" + b"\x91" * 5_000 + b"\xc0",
        Parser("hermes").snapshot().replace(b"\xa6hermes", b"\xa6\xffermes"),
    ],
    ids=["nothing", "no data", "another shape", "bottomless", "no text"],
)
def test_wrong_snapshots_are_refused(data: bytes) -> None:
    """Bytes that are not a snapshot raise `SnapshotError`."""
    with pytest.raises(SnapshotError):
        Parser.restore(data)


def test_a_snapshot_of_another_version_is_refused() -> None:
    """A snapshot holds the version that wrote it."""
    data = Parser("hermes").snapshot().replace(b"\xa7version%c" % SNAPSHOT_VERSION, b"\xa7version\x01")
    with pytest.raises(SnapshotError, match="version 1"):
        Parser.restore(data)


def test_caps_that_lose_text_are_refused() -> None:
    """All of them, by name, wherever they are passed."""
    wrong = Limits(delta_chars=-1, calls=0)
    makes: tuple[Callable[[], object], ...] = (
        lambda: Parser("hermes", limits=wrong),
        lambda: Conversion("text", "native", limits=wrong),
    )
    for make in makes:
        with pytest.raises(ConfigError, match=r"limits\.calls: must be at least 1\nlimits\.delta_chars"):
            make()


def test_events_in_a_dialect() -> None:
    """The payloads are those that a worker publishes of the message."""
    parser = Parser("hermes", model="m")
    events = [*parser.feed("Hi"), *parser.finish("stop")]
    payloads = list(render(events, "openai", "c", "chatcmpl-1", time=1_760_000_000_000))
    assert payloads[-1] == b"[DONE]"
    first = json.loads(payloads[0])
    assert (first["id"], first["created"], first["model"]) == ("chatcmpl-1", 1_760_000_000, "m")
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": "Hi"}
    with pytest.raises(ConfigError, match="unknown dialect 'morse'"):
        render(events, "morse", "c", "m")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_events_become_what_a_worker_publishes(dialect: Dialect) -> None:
    """In every dialect: a worker streams arguments and describes tools where the dialect shows them."""
    tool = {"function": {"name": "f", "description": "d", "parameters": {"properties": {"a": {"type": "string"}}}}}
    call = "<tool_call>\n<function=f>\n<parameter=a>\nlong text\n</parameter>\n</function>\n</tool_call>"
    texts = ["<think>Hm.</think>Hi", *call]
    options = options_for(dialect.name, model="m")
    parser = Parser("qwen3_xml", [tool], identity="c\nm\n0", **options)
    events = [event for text in texts for event in parser.feed(text)] + parser.finish(None)
    worker = Conversion(
        "text", dialect.name, format="qwen3_xml", tools=[tool], conversation_id="c", message_id="m", model="m"
    )
    payloads = [payload for text in texts for payload in worker.feed(text)] + worker.end()
    assert list(render(events, dialect.name, "c", "m")) == payloads


def test_a_stream_of_several_choices_ends_with_the_last() -> None:
    """The caller knows how many others are still open."""
    ends = []
    for choice, left in ((0, 1), (1, 0)):
        parser = Parser()
        events = [*parser.feed("a"), *parser.finish()]
        ends.append(list(render(events, "openai", "c", "m", choice, choices_left=left))[-1])
    assert (b"finish_reason" in ends[0], ends[1]) == (True, b"[DONE]")
