"""The messages of a chat completion: checked, and otherwise unchanged, as the neutral shape is theirs.

Members that are not known are passed on with their message: model servers have their own.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tokenmill.apis.ask import Json
from tokenmill.apis.content import DETAILS, image_address, read_parts
from tokenmill.apis.reading import Node, shown
from tokenmill.apis.tools import CUSTOM, FUNCTION, custom_call, name_of

Part: TypeAlias = Callable[[Node], None]


def read_messages(node: Node) -> list[Json]:
    """Return the messages of the conversation, read and checked."""
    return [_message(each) for each in node.some()]


def _message(node: Node) -> Json:
    role = node.need("role")
    check = _ROLES.get(role.text())
    if check is None:
        instead = "; answers of tools have the role tool" if role.value == "function" else ""
        raise role.bad(f"can't be {shown(role.text())}{instead}; known are {', '.join(_ROLES)}.")
    for name in _TEXTS:
        node.maybe(name, Node.text)
    calls = node.maybe("tool_calls", _calls)
    check(node)
    return node.members() | ({"content": ""} if _is_empty(node) else {}) | ({"tool_calls": calls} if calls else {})


_TEXTS = ("name", "refusal", "reasoning_content", "reasoning", "tool_call_id")
"""Members that are texts, whichever message has them: what translates a conversation reads them in any role."""

_NOTHING: tuple[Any, ...] = (None, [], "")
"""Contents of an empty answer of a tool or an assistant. Clients send their answers back as their SDK built them."""

_INSTEAD = ("tool_calls", "refusal")
"""Members of an assistant's message that may stand in the place of a content."""


def _is_empty(node: Node) -> bool:
    """Whether a message has an empty content, which templates and servers read as a text."""
    content = node.at("content").value
    if node.at("role").value not in ("assistant", "tool") or content not in _NOTHING:
        return False
    return content is not None or not any(node.at(name).value for name in _INSTEAD)


def _text(node: Node) -> None:
    node.need("text").text()


def _refusal(node: Node) -> None:
    node.need("refusal").text()


def _image(node: Node) -> None:
    image = node.need("image_url")
    image_address(image.need("url"))
    image.maybe("detail", lambda detail: detail.word(*DETAILS))


def _content(node: Node, parts: Mapping[str, Part]) -> None:
    """Read a string, or a list of parts of these types."""
    if not isinstance(node.value, str):
        read_parts(node, parts)


def _system(node: Node) -> None:
    _content(node.need("content"), {"text": _text})


def _user(node: Node) -> None:
    _content(node.need("content"), {"text": _text, "image_url": _image})


def _assistant(node: Node) -> None:
    for name, instead in (("function_call", "use `tool_calls`."), ("audio", "answers have no sound here.")):
        if not (member := node.at(name)).absent:
            raise member.bad(f"is not supported: {instead}", "unsupported_parameter")
    if (content := node.at("content")).value not in _NOTHING:
        _content(content, {"text": _text, "refusal": _refusal})


def _calls(node: Node) -> list[Json]:
    return [_call(call) for call in node.items()]


def _call(node: Node) -> Json:
    """Return a call as the model made it."""
    call_id, kind = node.need("id").filled(), node.at("type")
    if kind.value == CUSTOM:
        said = node.need(CUSTOM)
        beside = {name: value for name, value in node.object().items() if name != CUSTOM}
        return beside | custom_call(call_id, name_of(said.need("name")), said.need("input").text())
    if not kind.absent and kind.value != FUNCTION:
        raise kind.bad(f"can't be {shown(kind.text())}: a model calls functions and custom tools.", "unsupported_value")
    function = node.need(FUNCTION)
    name_of(function.need("name"))
    function.need("arguments").text()
    return node.object()


def _tool(node: Node) -> None:
    node.need("tool_call_id").filled()
    if (content := node.at("content")).value not in _NOTHING:
        _content(content, {"text": _text, "image_url": _image})


_ROLES: Mapping[str, Callable[[Node], None]] = {
    "system": _system,
    "developer": _system,
    "user": _user,
    "assistant": _assistant,
    "tool": _tool,
}
