"""Compiled options: shared, keyed by content, what they know of tools, say of the request, and take of memory.

`tests/properties/test_memory.py` compares `weight` with what options do take.
"""

import gc
from typing import Any
from weakref import ref

import msgspec
import pytest
from msgspec import UNSET

from tests.support.parsing import grammar, named, parse, reasoning_of, text_of
from tokenmill import formats as formats_module
from tokenmill.errors import BadOpen
from tokenmill.events import DeclaredTool, Error, Request, ToolCall
from tokenmill.formats import FORMATS, compile_grammar, find_format
from tokenmill.formats.glm_kv import GLM_KV
from tokenmill.formats.history import format_call
from tokenmill.limits import Limits
from tokenmill.parser import Format, Grammar, Options, Region, options_key, read_options
from tokenmill.parser.compile.grammar import (
    ALL_DESCRIBED_BYTES,
    BYTE,
    CONTAINER_BYTES,
    DESCRIBED_BYTES,
    SCALAR_BYTES,
    TOOLS_BYTES,
    weight,
    with_suffix,
    with_suffix_or_not,
)
from tokenmill.parser.markers import marker
from tokenmill.parser.run.state import JsonState, OpenCall, Source
from tokenmill.recent import Recent

TOOL = {"function": {"name": "f", "parameters": {"properties": {"a": {"type": "integer"}}}}}


def test_the_same_options_share_a_grammar() -> None:
    """Messages with equal options use one grammar; another cap or option makes another."""
    options = [Options(format="hermes", tools=[TOOL]) for _ in range(2)]
    assert compile_grammar(options[0]) is compile_grammar(options[1])
    assert compile_grammar(options[0], Limits(calls=1)) is not compile_grammar(options[0])
    assert compile_grammar(Options(format="hermes")) is not compile_grammar(options[0])


MANY = [each for each in FORMATS if each.history and not each.answer and not each.first_call_only]
"""Formats in which a model may write several calls."""


@pytest.mark.parametrize("format_", MANY, ids=lambda each: each.name)
@pytest.mark.parametrize("size", [1, 10_000])
def test_there_may_be_one_call_at_most(format_: Format, size: int) -> None:
    """In every format: another one is dropped as text behind it is, and nothing is wrong."""
    calls = [format_call(format_, name, {"a": 1}) for name in ("f", "g")]
    tools = [{"function": TOOL["function"] | {"name": name}} for name in ("f", "g")]
    text = "".join(calls)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    told = {}
    for after in ("drop", "drop-all"):
        events = parse(grammar(format_.name, tools=tools, start="text", text_after_calls=after), pieces)
        told[after] = [call.name for call in named(events, ToolCall)]
    assert told == {"drop": ["f", "g"], "drop-all": ["f"]}
    assert (named(events, Error), text_of(events).strip(), events[-1].reason) == ([], "", "tool-calls")


def test_grammars_that_nobody_uses_have_a_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is in use stays the only one of its options, so what is counted of it once is there once."""
    monkeypatch.setattr(formats_module, "_recent", Recent(2, 10**9))
    used = compile_grammar(Options(model="used"))
    unused = ref(compile_grammar(Options(model="unused")))
    for number in range(3):
        compile_grammar(Options(model=str(number)))
    gc.collect()
    assert unused() is None
    assert compile_grammar(Options(model="used")) is used


def test_a_grammar_says_what_it_takes() -> None:
    """Nearly all of it is the tools."""
    tools = [
        {"function": {"name": f"f{n}", "parameters": {"properties": {"a": {"type": "integer"}}}}} for n in range(50)
    ]
    one, many = (compile_grammar(Options(format="hermes", tools=each)) for each in ([TOOL], tools))
    assert one.memory < 20_000
    assert many.memory > 100_000


def test_patterns_of_its_own_count() -> None:
    """Markers that the options set are not those of the format's other messages."""
    own = grammar("glm_kv", markers_suffix=":7f").memory
    assert own - grammar("glm_kv").memory > 100_000


def test_key_is_a_hash_of_the_content() -> None:
    """Equal options have equal keys, and the grammar knows its own."""
    assert options_key(Options(format="hermes")) == grammar("hermes").key
    assert options_key(Options(format="plain")) != grammar("hermes").key


def test_what_the_body_of_an_open_call_keeps() -> None:
    """Each call's own reader says it; a call that the options have none of is refused."""
    compiled = grammar("hermes")
    frame = compiled.mode_names.index("section0_call0")
    assert compiled.body_type(OpenCall(Source(), frame)) is JsonState
    assert compiled.body_type(OpenCall(Source())) is JsonState
    for other in (compiled.start, len(compiled.modes)):
        with pytest.raises(msgspec.ValidationError, match=f"no call {other}"):
            compiled.body_type(OpenCall(Source(), other))


def test_formats_by_name_and_alias() -> None:
    """Other servers' names for a parser find the format; unknown ones are refused with the known ones."""
    names = ("qwen3_coder", "granite_thinking_parser", "nemotron_3", "holo2", "deepseek-v4", "kimi_k25")
    found = [find_format(name).name for name in names]
    assert found == ["qwen3_xml", "qwen3_xml", "qwen3_xml", "think", "deepseek_dsml", "kimi_k2"]
    with pytest.raises(BadOpen, match=r"unknown format 'nope'; known are plain, .*hermes"):
        compile_grammar(Options(format=["hermes", "nope"]))
    with pytest.raises(BadOpen, match="empty"):
        compile_grammar(Options(format=[]))


@pytest.mark.parametrize(
    ("provider", "name"),
    [
        ("anthropic", "autobyteus_xml"),
        ("Anthropic", "autobyteus_xml"),
        ("openai", "autobyteus_json"),
        ("", "autobyteus_json"),
    ],
)
def test_a_format_by_provider(provider: str, name: str) -> None:
    """A name may stand for the format of the provider's models."""
    assert compile_grammar(Options(format="Autobyteus", provider=provider)).format_names == [name]
    several = compile_grammar(Options(format=["hermes", "autobyteus"], provider=provider))
    assert several.format_names == ["hermes", name]


def test_names_of_formats_in_any_case() -> None:
    """Clients learn the name as it is."""
    assert compile_grammar(Options(format="HERMES")).format_names == ["hermes"]


def test_a_format_that_depends_on_options() -> None:
    """It is made anew for each set of them, before it is compiled."""

    def configured(format_: Format, options: Options) -> Format:
        tag = marker(f"<{options.model}>")
        return msgspec.structs.replace(format_, regions=(Region(tag, marker("</>")),))

    format_ = Format(name="own", summary="", sample="", configured=configured)
    for model in ("a", "b"):
        grammar_ = Grammar(Options(format="own", model=model), [format_], Limits())
        assert reasoning_of(parse(grammar_, ["<a>x</><b>y</>"])) == {"a": "x", "b": "y"}[model]


def test_what_each_chunk_asks_for_is_kept() -> None:
    """Attributes of a grammar are found in its slots: a dictionary costs each chunk a tenth more."""
    assert not hasattr(grammar("hermes"), "__dict__")


@pytest.mark.parametrize("suffix", [":7f", "7f"])
def test_every_tag_has_it(suffix: str) -> None:
    """A colon goes between, if the suffix has no character of its own."""
    format_ = with_suffix(GLM_KV, suffix)
    assert format_.regions[0].close.spellings == ("</think:7f>",)
    spellings = set(format_.sections[0].calls[0].open.spellings)
    assert {"<tool_call:7f>", "<tool_call:7f>\n"} <= spellings
    assert not {"<tool_call>", "<tool_call>\n"} & spellings


def test_signs_of_patterns_are_literal() -> None:
    """A suffix is text."""
    assert with_suffix(GLM_KV, "\\1").regions[0].close.spellings == ("</think\\1>",)


def test_a_suffix_that_may_be_left_out() -> None:
    """Every tag has both spellings, what is no tag its own."""
    (call,) = with_suffix_or_not(GLM_KV, ":7f").sections[0].calls
    assert {"<tool_call>", "<tool_call>\n", "<tool_call:7f>", "<tool_call:7f>\n"} < set(call.open.spellings)
    assert call.header is not None
    assert call.header.until.spellings == ("\n", "\\n")


@pytest.mark.parametrize("format_", FORMATS, ids=lambda format_: str(format_.name))
def test_none_changes_nothing(format_: object) -> None:
    """Without a suffix a format is itself."""
    assert with_suffix(format_, "") is format_  # type: ignore[arg-type] # -- every entry of the list is a format


def tool(name: str, schema: Any = UNSET, description: Any = UNSET) -> dict[str, Any]:
    """An entry of a tool list."""
    said = {"description": description, "parameters": schema}
    return {"function": {"name": name} | {key: value for key, value in said.items() if value is not UNSET}}


def request(limits: Limits | None = None, **options: Any) -> Request:
    """That of a message with these options."""
    start = compile_grammar(read_options(options), limits).message_start
    return start.request or Request()


def test_nothing_is_said_of_what_is_as_by_default() -> None:
    """Most messages of a parser without tools."""
    assert compile_grammar(read_options({"model": "m"})).message_start.request is UNSET


def test_options_that_dialects_ask_for() -> None:
    """Under their own names, with the room of a payload where that is another."""
    options = {"provider": "p", "id_prefix": "i", "segment_tools": {"run_bash": "sh"}, "stream_tool_input": False}
    asked = request(Limits(output_bytes=100_000), **options)
    assert asked == Request(payload_bytes=Limits(output_bytes=100_000).payload_bytes, **options)  # type: ignore[arg-type] # -- of the table


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param(UNSET, DeclaredTool(others=True), id="no schema"),
        pytest.param(
            {"properties": {"b": {"type": ["integer", "null"]}, "a": {}}},
            DeclaredTool({"a": [], "b": ["integer", "null"]}),
            id="types",
        ),
        pytest.param(
            {"properties": {"a": {"type": "string"}}, "additionalProperties": True},
            DeclaredTool({"a": ["string"]}, others=True),
            id="any others",
        ),
        pytest.param(
            {"patternProperties": {".*": {"type": "integer"}}},
            DeclaredTool(),
            id="others that a pattern names",
        ),
        pytest.param({"properties": {"a": False, "b": {}}}, DeclaredTool({"b": []}), id="a name that is refused"),
        pytest.param(False, DeclaredTool(), id="no arguments at all"),
        pytest.param("nonsense", DeclaredTool(others=True), id="no schema at all"),
    ],
)
def test_tools(schema: Any, expected: DeclaredTool) -> None:
    """The types of each parameter, and whether there may be others; nothing that is not certain."""
    assert request(tools=[tool("f", schema, "What it does.")]).tools == {"f": expected}


def test_descriptions_where_they_are_asked_for() -> None:
    """A tool whose description is too large goes without."""
    schema = {"properties": {"a": {"type": "string"}}}
    tools = [tool("f", schema, "d"), tool("large", schema, "d" * DESCRIBED_BYTES), tool("odd", schema, 7)]
    plain = DeclaredTool({"a": ["string"]})
    assert request(tools=tools, describe_tools=True).tools == {
        "f": DeclaredTool({"a": ["string"]}, description="d", parameters=schema),
        "large": plain,
        "odd": DeclaredTool({"a": ["string"]}, parameters=schema),
    }


def test_many_tools_have_a_cap() -> None:
    """Above it first descriptions go, then types, then the last names."""
    schema = {"properties": {"x" * 100: {"type": "string"}}}
    some = [tool(f"f{n}", schema, "d" * 5_000) for n in range(60)]
    assert ALL_DESCRIBED_BYTES < 60 * 5_000
    assert request(tools=some, describe_tools=True).tools["f1"] == DeclaredTool({"x" * 100: ["string"]})
    more = [tool(f"f{n}", schema) for n in range(1_000)]
    assert list(request(tools=more).tools.values()) == [DeclaredTool()] * 1_000
    most = request(tools=[tool(f"f{n:09}", schema) for n in range(9_000)]).tools
    assert 0 < len(most) < 9_000
    assert len(msgspec.json.encode(most)) <= TOOLS_BYTES


def test_types_for_which_there_is_no_room_are_not_read() -> None:
    """A list of a megabyte has as many parameters as take seconds."""
    schema = {"properties": {f"p{n:05}": {"type": "string"} for n in range(8_000)}}
    tools = [tool("f", schema), tool("g", schema)]
    compiled = compile_grammar(read_options({"tools": tools}))
    assert request(tools=tools).tools == {"f": DeclaredTool(), "g": DeclaredTool()}
    assert not compiled.tools["g"]._types


def test_each_part_counts() -> None:
    """Keys, values and what holds them, at any depth."""
    assert weight(1, 10) == 10 * BYTE + SCALAR_BYTES
    assert weight({"a": [1, "b"], "c": {}}, 0) == 4 * SCALAR_BYTES + 3 * CONTAINER_BYTES


def test_depth_has_no_end() -> None:
    """Options of a library may be as deep as a program makes them."""
    value: object = 1
    for _ in range(10_000):
        value = [value]
    assert weight(value, 0) == 10_000 * CONTAINER_BYTES + SCALAR_BYTES
