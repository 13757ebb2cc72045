"""Declarations of checkpoints as formats."""

from typing import Any

import pytest

from tokenmill.errors import BadOpen
from tokenmill.formats.hf import HF
from tokenmill.formats.response_template import compile_template
from tokenmill.parser.bodies import JsonArguments, JsonCall, Literals, Params

CALL = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
TAG = r"<p=(?P<key>\w+)>(?P<value>.*?)</p>"


def body(**field: Any) -> Any:
    """That of a declared call."""
    (section,) = compile_template(HF, {"fields": {"tool_calls": {"close": "</c>", **field}}}).sections
    return section.calls[0].body


def test_contents_become_bodies() -> None:
    """JSON with name and arguments, arguments alone, bare keys, and tags."""
    assert body(open="<c>", content="json") == JsonCall()
    keys = {"function": {"name": "{content.n}", "arguments": "{content.a}"}}
    assert body(open="<c>", content="json", transform=keys) == JsonCall(name=("n",), arguments=("a",))
    each = {"function": {"name": "{n}", "arguments": "{a}"}}
    assert body(open="<c>", content="json", transform=each, transform_each=True) == JsonCall(("n",), ("a",))
    named = {"open_pattern": r"<c:(?P<name>\w+)>", "transform": CALL}
    assert isinstance(body(**named, content="json"), JsonArguments)
    assert isinstance(body(**named, content="xml-inline", content_args={"tag_pattern": TAG}), Params)
    bare = {"open_pattern": r"<c:(?P<name>\w+)", "transform": CALL}
    delimiters = {"string_delims": [["|", "|"]], "unquoted_keys": True}
    assert isinstance(body(**bare, content="json", content_args=delimiters), Literals)


@pytest.mark.parametrize(
    ("tag", "parser", "trim", "untyped"),
    [
        (r"<p=(?P<key>\w+)>(?P<value>.*?)</p>", None, "none", "text"),
        (r"<p=(?P<key>\w+)>\s*(?P<value>.*?)\s*</p>", None, "strip", "text"),
        (r"<p=(?P<key>\w+)>\n(?P<value>.*?)\n</p>", None, "line", "text"),
        (r"<p=(?P<key>\w+)>(?P<value>.*?)</p>", {"name": "text", "args": {"strip": False}}, "none", "text"),
        (r"<p=(?P<key>\w+)>(?P<value>.*?)</p>", {"name": "text"}, "strip", "text"),
        (r"<p=(?P<key>\w+)>(?P<value>.*?)</p>", {"name": "json", "args": {"allow_non_json": True}}, "strip", "json"),
    ],
)
def test_how_values_in_tags_are_read(tag: str, parser: Any, trim: str, untyped: str) -> None:
    """White space around them, and what they are where no tool says it."""
    arguments = {"tag_pattern": tag, **({"value_parser": parser} if parser else {})}
    params = body(open_pattern=r"<c:(?P<name>\w+)>", transform=CALL, content="xml-inline", content_args=arguments)
    assert (params.trim, params.untyped, params.open.spellings, params.close.spellings) == (
        trim,
        untyped,
        ("<p=",),
        ("</p>",),
    )


def test_a_tag_inside_of_the_calls_closes_it_as_well() -> None:
    """The declaration names only what closes the outer one."""
    arguments = {"tag_pattern": TAG}
    one, two = (
        body(open_pattern=opening, transform=CALL, content="xml-inline", content_args=arguments).end.spellings
        for opening in (r"<c:(?P<name>\w+)>", r"<c>\s*<f=(?P<name>\w+)>")
    )
    assert (one, two) == (("</c>",), ("</f>", "</c>"))


def test_a_call_inside_of_a_value_is_content() -> None:
    """Its opening is known, so that what it closes is its own."""
    arguments = {"tag_pattern": TAG}
    params = body(open_pattern=r"<c:(?P<name>\w+)>", transform=CALL, content="xml-inline", content_args=arguments)
    assert params.calls.spellings == ("<c:",)


def test_what_stands_around_parts_is_swallowed() -> None:
    """Of the text, and the anchor of the start, which some models repeat."""
    fields = {"content": {"open": "<t>", "close": ["</t>", "<eos>"]}, "reasoning": {"open": "<r>", "close": "</r>"}}
    format_ = compile_template(HF, {"start_anchor": "<|a|>", "fields": fields})
    assert [mark.spellings for mark in format_.noise] == [("<|a|>",), ("<t>",), ("</t>", "<eos>")]
    assert [(region.open and region.open.spellings, region.close.spellings) for region in format_.regions] == [
        (("<r>",), ("</r>",))
    ]
    assert format_.start == "text"


def test_an_opening_at_the_beginning_begins_there() -> None:
    """The prompt has opened the reasoning."""
    fields = {"thinking": {"open_pattern": r"(?:^|<r>\s*)", "close": "</r>"}}
    assert compile_template(HF, {"fields": fields}).start == "reasoning"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ({}, "fields"),
        ({"fields": {}, "version": 2}, "version"),
        ({"fields": {"content": 1}}, r"fields"),
        ({"fields": {"content": {"until": "x"}}}, "until"),
        ({"fields": {"content": {"content": "kv-lines"}}}, "kv-lines"),
        ({"fields": {"citations": {"open": "<c>"}}}, "field 'citations': known are"),
        ({"fields": {"content": {"close": ""}}}, "must not be empty"),
        ({"fields": {"content": {"close": "END"}}}, "the word 'END'"),
        (
            {
                "fields": {
                    "tool_calls": {
                        "open_pattern": r"<c:(?P<name>\w+)>",
                        "close": ["<" * 60] * 5,
                        "transform": CALL,
                        "content": "xml-inline",
                        "content_args": {"tag_pattern": TAG},
                    }
                }
            },
            "more than 256 characters in all",
        ),
        ({"fields": {"content": {"close": ["<>"] * 9}}}, "more than 8 texts of 64 characters"),
        ({"fields": {"content": {"close": "<" * 65}}}, "more than 8 texts of 64 characters"),
        ({"fields": {}, "start_anchor": ["<>"] * 9}, "'start_anchor': what opens or closes is more than 8 texts"),
        ({"fields": {"content": {"transform": "{x}"}}}, "its content must be text"),
        ({"fields": {"thinking": {"open": "<t>"}}}, "reasoning needs an open and a close"),
        ({"fields": {"tool_calls": {"content": "json"}}}, "calls need an open"),
        ({"fields": {"tool_calls": {"open": "call:", "content": "json"}}}, "the word 'call:'"),
        ({"fields": {"tool_calls": {"open": "<c>"}}}, "the content must be JSON"),
        ({"fields": {"tool_calls": {"open": "<c>", "content": "json", "transform": {"f": 1}}}}, "makes no call"),
        (
            {"fields": {"tool_calls": {"open": "<c>", "content": "json", "transform": {"name": "x", "arguments": 1}}}},
            "from keys of the content",
        ),
        (
            {"fields": {"tool_calls": {"open_pattern": r"<c:(?P<name>\w+)>", "content": "json"}}},
            "the content must be the arguments",
        ),
        (
            {"fields": {"tool_calls": {"open_pattern": r"<c:(?P<name>\w+)>", "transform": CALL}}},
            "content 'text' makes no arguments",
        ),
        (
            {
                "fields": {
                    "tool_calls": {"open_pattern": r"<c:(?P<name>\w+)>", "transform": CALL, "content": "xml-inline"}
                }
            },
            "needs a 'tag_pattern'",
        ),
        ({"fields": {"tool_calls": {"open_pattern": r"<c:(?P<name>(a+)+)>"}}}, "one character, repeated"),
        ({"type": "object", "properties": {}}, "response_schema"),
    ],
)
def test_what_can_not_be_read_is_refused(template: dict[str, Any], message: str) -> None:
    """By the field's name, before anything streams."""
    with pytest.raises(BadOpen, match=message) as refused:
        compile_template(HF, template)
    assert str(refused.value).startswith("option 'response_template': ")
