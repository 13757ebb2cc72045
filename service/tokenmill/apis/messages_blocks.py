"""The messages of Anthropic's API as those of a chat.

1. An assistant's blocks are one message: its thinking, its text and its calls. Results of tools are messages of their
   own; a user's content beside them follows in their order.
2. A result with `is_error` begins with `ERROR`, as chats have no other place for that.
3. Members that mean nothing to a model (`cache_control`, citations, signatures, thinking that nobody can read) are
   accepted and left out; unknown blocks and members are refused.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tokenmill.apis.ask import Json
from tokenmill.apis.content import image_address, image_part, plain, read_parts, text_part
from tokenmill.apis.reading import Node
from tokenmill.apis.tools import call, name_of

ERROR = "Error: "
"""Beginning of the text of a failed tool's result."""

BILLING = "x-anthropic-billing-header:"
"""Begins the first line of Claude Code's system message, which may differ in each request: with it, no prompt would
begin like the one before, and servers would find nothing of it in their caches."""

_BESIDE = ("type", "cache_control")
"""Members of every block that mean nothing to a model."""

_MEDIA = ("image/jpeg", "image/png", "image/gif", "image/webp")


def read_messages(node: Node) -> list[Json]:
    """Return the messages of the conversation, as in chat completions."""
    found: list[Json] = []
    *_, last = turns = node.some()
    for turn in turns:
        turn.only("role", "content")
        role = turn.need("role")
        read = _ROLES[role.word(*_ROLES)]
        found += read(turn.at("content") if read is _assistant else turn.need("content"))
    if last.at("role").value == "assistant":
        told = "can't be assistant in the last message: an answer is not continued. End with a message of the user."
        raise last.at("role").bad(told, "unsupported_value")
    return found


def read_system(node: Node) -> list[Json]:
    """Return the system's message, if it has content."""
    if node.absent or node.value in ("", []):
        return []
    content = _unbilled(_content(node, _TEXT))
    return [{"role": "system", "content": content}] if content else []


def _unbilled(content: str | list[Json]) -> str | list[Json]:
    """Return the system's content without a first line that is for Anthropic's bill."""
    first, *others = [text_part(content)] if isinstance(content, str) else content
    if not first["text"].startswith(BILLING):
        return content
    rest = first["text"].partition("\n")[2]
    return plain([text_part(rest), *others] if rest else others)


def _content(node: Node, blocks: Mapping[str, Callable[[Node], Json]]) -> Any:
    if isinstance(node.value, str):
        return node.value
    return plain(_blocks(node, blocks))


def _blocks(node: Node, readers: Mapping[str, Callable[[Node], Json]]) -> list[Json]:
    return read_parts(node, readers, "blocks")


def _system(node: Node) -> list[Json]:
    return [{"role": "system", "content": _content(node, _TEXT)}]


def _user(node: Node) -> list[Json]:
    if isinstance(node.value, str):
        return [{"role": "user", "content": node.filled()}]
    found: list[Json] = []
    parts: list[Json] = []
    for read in _blocks(node, _USER):
        if read.get("role") != "tool":
            parts.append(read)
            continue
        found += _spoken(parts)
        found.append(read)
        parts = []
    return found + _spoken(parts)


def _spoken(parts: list[Json]) -> list[Json]:
    return [{"role": "user", "content": plain(parts)}] if parts else []


def _assistant(node: Node) -> list[Json]:
    if isinstance(node.value, str) or node.value in (None, []):  # clients send empty answers back, too
        return [{"role": "assistant", "content": node.value or ""}]
    found: dict[str, list[Any]] = {"content": [], "reasoning_content": [], "tool_calls": []}
    for read in _blocks(node, _ASSISTANT):
        for name, value in read.items():
            found[name].append(value)
    text, thought, calls = found["content"], found["reasoning_content"], found["tool_calls"]
    message: Json = {"role": "assistant", "content": "".join(text) if text or not calls else None}
    if thought:
        message["reasoning_content"] = "\n".join(thought)
    return [message | ({"tool_calls": calls} if calls else {})]


# Blocks


def _text(node: Node) -> Json:
    node.only(*_BESIDE, "text", "citations")
    return text_part(node.need("text").text())


def _answered(node: Node) -> Json:
    return {"content": _text(node)["text"]}


def _thinking(node: Node) -> Json:
    node.only(*_BESIDE, "thinking", "signature")
    text = node.need("thinking").text()
    return {"reasoning_content": text} if text else {}  # it was not shown


def _redacted(node: Node) -> Json:
    node.only(*_BESIDE, "data")
    return {}


def _tool_use(node: Node) -> Json:
    node.only(*_BESIDE, "id", "name", "input", "caller")
    node.maybe("caller", lambda caller: caller.need("type").word("direct"))
    arguments = node.need("input")
    arguments.object()
    return {"tool_calls": call(node.need("id").filled(), name_of(node.need("name")), arguments.json())}


def _image(node: Node) -> Json:
    node.only(*_BESIDE, "source")
    source = node.need("source")
    if source.need("type").word("base64", "url") == "url":
        source.only("type", "url")
        return image_part(image_address(source.need("url")))
    source.only("type", "media_type", "data")
    media = source.need("media_type").word(*_MEDIA)
    return image_part(f"data:{media};base64,{source.need('data').filled()}")


def _result(node: Node) -> Json:
    node.only(*_BESIDE, "tool_use_id", "content", "is_error")
    said_content = node.at("content")
    content = "" if said_content.absent or said_content.value == [] else _content(said_content, _SEEN)
    if node.maybe("is_error", Node.flag):
        content = ERROR + content if isinstance(content, str) else [text_part(ERROR), *content]
    return {"role": "tool", "tool_call_id": node.need("tool_use_id").filled(), "content": content}


_TEXT: Mapping[str, Callable[[Node], Json]] = {"text": _text}
_SEEN: Mapping[str, Callable[[Node], Json]] = {"text": _text, "image": _image}
_USER: Mapping[str, Callable[[Node], Json]] = {**_SEEN, "tool_result": _result}
_ASSISTANT: Mapping[str, Callable[[Node], Json]] = {
    "text": _answered,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _tool_use,
}

_ROLES: Mapping[str, Callable[[Node], list[Json]]] = {"user": _user, "assistant": _assistant, "system": _system}
