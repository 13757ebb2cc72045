"""The messages of Anthropic's API."""

from typing import Any

import pytest

from tests.apis.bodies import URL, refusal
from tokenmill.apis.ask import Json
from tokenmill.apis.messages_blocks import read_messages, read_system
from tokenmill.apis.reading import Node

BILLING = "x-anthropic-billing-header: cc_version=2.1.197.0df; cc_entrypoint=cli; cch=a1;"

HI: Json = {"role": "user", "content": "Hi"}


def of(*messages: Json) -> list[Json]:
    return read_messages(Node(list(messages), "messages"))


def text(node: str) -> Json:
    return {"type": "text", "text": node}


def result(content: Any = None, **fields: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": "k", "content": content, **fields}


def tool(content: Any) -> Json:
    return {"role": "tool", "tool_call_id": "k", "content": content}


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([result("a"), result("b")], [tool("a"), tool("b")]),
        ([result("a"), text("b")], [tool("a"), {"role": "user", "content": "b"}]),
        ([text("b"), result("a")], [{"role": "user", "content": "b"}, tool("a")]),
        ([result()], [tool("")]),
        ([result([])], [tool("")]),
        ([result([text("a")], is_error=False)], [tool("a")]),
        ([result("a", is_error=True)], [tool("Error: a")]),
        ([result(is_error=True)], [tool("Error: ")]),
        ([result([text("a"), text("b")], is_error=True)], [tool([text("Error: "), text("a"), text("b")])]),
        ([text("a"), text("b")], [{"role": "user", "content": [text("a"), text("b")]}]),
    ],
)
def test_results_are_messages_of_their_own(blocks: list[Json], expected: list[Json]) -> None:
    """In their order; what failed says so."""
    assert of({"role": "user", "content": blocks}) == expected


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ("a", {"content": "a"}),
        ("", {"content": ""}),
        ([], {"content": ""}),
        (None, {"content": ""}),
        ([text("a"), text("b")], {"content": "ab"}),
        ([{"type": "redacted_thinking", "data": "x"}], {"content": ""}),
        ([{"type": "thinking", "thinking": "x", "signature": ""}], {"content": "", "reasoning_content": "x"}),
        ([{"type": "thinking", "thinking": "", "signature": "s"}, text("a")], {"content": "a"}),
        (
            [{"type": "tool_use", "id": "k", "name": "f", "input": {}, "caller": {"type": "direct"}}],
            {
                "content": None,
                "tool_calls": [{"id": "k", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
        ),
    ],
)
def test_an_assistant_is_one_message(blocks: Any, expected: Json) -> None:
    """Thinking, text and calls."""
    assert of({"role": "assistant", "content": blocks}, HI) == [{"role": "assistant", **expected}, HI]


def test_a_system_speaks_in_between_too() -> None:
    """Beside the field of its own."""
    assert of({"role": "system", "content": [text("a")]}, HI) == [{"role": "system", "content": "a"}, HI]
    assert read_system(Node([text("a"), text("b")])) == [{"role": "system", "content": [text("a"), text("b")]}]
    assert read_system(Node(None)) == read_system(Node("")) == read_system(Node([])) == []


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ([text(BILLING), text("a"), text("b")], [text("a"), text("b")]),
        ([text(BILLING), text("a")], "a"),
        ([text(BILLING)], None),
        ([text(f"{BILLING}\na"), text("b")], [text("a"), text("b")]),
        (f"{BILLING}\na", "a"),
        (BILLING, None),
        ([text("a"), text(BILLING)], [text("a"), text(BILLING)]),
        (f"a\n{BILLING}", f"a\n{BILLING}"),
    ],
)
def test_what_claude_code_says_anew_in_each_request_is_left_out(system: Any, expected: Any) -> None:
    """At the beginning of the prompt it would keep servers from finding what they have cached."""
    assert read_system(Node(system)) == ([] if expected is None else [{"role": "system", "content": expected}])


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("a", ""),
        ({"role": "tool", "content": "a"}, ".role"),
        ({"role": "user", "content": ""}, ".content"),
        ({"role": "user", "content": []}, ".content"),
        ({"role": "user", "content": 3}, ".content"),
        ({"role": "user", "content": "a", "x": 1}, ".x"),
        ({"role": "user", "content": [{"type": "document"}]}, ".content[0].type"),
        ({"role": "user", "content": [{"type": "tool_use"}]}, ".content[0].type"),
        ({"role": "user", "content": [{"type": "text", "text": "a", "x": 1}]}, ".content[0].x"),
        ({"role": "user", "content": [{"type": "image", "source": {"type": "file"}}]}, ".content[0].source.type"),
        (
            {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "text/html"}}]},
            ".content[0].source.media_type",
        ),
        (
            {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "file:///a"}}]},
            ".content[0].source.url",
        ),
        ({"role": "user", "content": [result([{"type": "document"}])]}, ".content[0].content[0].type"),
        ({"role": "user", "content": [result("a", is_error=1)]}, ".content[0].is_error"),
        ({"role": "user", "content": [{"type": "tool_result"}]}, ".content[0].tool_use_id"),
        ({"role": "assistant", "content": [{"type": "server_tool_use"}]}, ".content[0].type"),
        (
            {"role": "assistant", "content": [{"type": "image", "source": {"type": "url", "url": URL}}]},
            ".content[0].type",
        ),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "k", "name": "f", "input": "{}"}]},
            ".content[0].input",
        ),
        (
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "k", "name": "f", "input": {}, "caller": {"type": "code"}}],
            },
            ".content[0].caller.type",
        ),
    ],
)
def test_what_is_refused(message: Any, place: str) -> None:
    """Where it stands."""
    assert refusal("messages", messages=[HI, message, HI]).param == f"messages[1]{place}"


def test_an_answer_is_not_gone_on_with() -> None:
    """A model server would begin a new one."""
    refused = refusal("messages", messages=[HI, {"role": "assistant", "content": "It is"}])
    assert (refused.param, refused.code) == ("messages[1].role", "unsupported_value")
