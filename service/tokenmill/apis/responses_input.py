"""The input of a response as the messages of a chat.

1. All that stands between two messages of other roles is one assistant message: its reasoning, its text and all its
   calls, because chat templates expect a call only in the message that makes it. Two texts without a call between them
   stay two messages.
2. Reasoning belongs to what follows it. Where nothing of the assistant follows, as in an answer that was broken off, it
   is left out.
3. Members that mean nothing to a model (`id`, `status`, `phase`, annotations) are accepted and left out; other unknown
   members are refused.
4. A call that broke off (`incomplete`) is left out: its arguments are not JSON. So is the result that a client made up
   for it: providers refuse one without its call. Both are checked like other items.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tokenmill.apis.ask import BadAsk, Json
from tokenmill.apis.content import DETAILS, image_address, image_part, plain, read_part, read_parts, text_part
from tokenmill.apis.reading import Node, shown
from tokenmill.apis.tools import call, custom_call, name_of

WHOLE = "Send the whole conversation in `input`."
"""What to do instead of referring to something that is not kept."""

_REFERENCE = "item_reference"
"""Type of a reference; an item without a type is one, too."""

_CALL = "function_call"
_CUSTOM_CALL = "custom_tool_call"
CALLS = (_CALL, _CUSTOM_CALL)
"""Types of the items that are calls of a client's tools."""

_BREAKPOINT = "prompt_cache_breakpoint"
"""A member of a part that means nothing to a model."""

_BESIDE = ("type", "id", "status")
"""Members of every item that mean nothing to a model."""


def read_input(node: Node) -> list[Json]:
    """Return the messages of the input."""
    if isinstance(node.value, str):
        return [{"role": "user", "content": node.filled()}]
    messages = _messages(node.some())
    if len(whole := whole_items(node.value)) < len(node.value):
        messages = _messages(Node(whole, node.path).items())
    if not messages:
        raise node.bad("has no message in it.")
    return messages


def whole_items(items: list[Json]) -> list[Json]:
    """Return checked items without the calls that broke off and without their results."""
    gone = {item["call_id"] for item in items if item.get("status") == "incomplete" and item.get("type") in CALLS}
    return [item for item in items if item.get("call_id") not in gone] if gone else items


def _messages(items: Iterable[Node]) -> list[Json]:
    conversation = _Conversation()
    for item in items:
        conversation.item(item)
    return [_joined(message) for message in conversation.messages]


def _joined(message: Json) -> Json:
    """Return a message with its texts joined: an assistant's are pieces until all is read, as there may be many."""
    if message["role"] != "assistant":
        return message
    return message | {name: "\n".join(message[name]) for name in _PIECES if message.get(name) is not None}


_PIECES = ("content", "refusal", "reasoning_content")


class _Conversation:
    """The messages so far; an assistant's have lists in place of texts."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self._thought: list[str] = []
        """Reasoning that waits for what follows it."""

    def item(self, node: Node) -> None:
        """Add one item."""
        kind = node.at("type")
        name = "message" if kind.absent and not node.at("role").absent else _REFERENCE if kind.absent else kind.text()
        if (read := _ITEMS.get(name)) is None:
            raise _foreign_item(kind, name)
        read(self, node)

    def message(self, node: Node) -> None:
        """Add a message of any role."""
        node.only(*_BESIDE, "role", "content", "phase")
        role = node.need("role").word("user", "assistant", "system", "developer")
        content = node.need("content")
        if role == "assistant":
            self._answer(_assistant_content(content))
        else:
            self._put({"role": role, "content": _content(content, _SEEN if role == "user" else _READ)})

    def call(self, node: Node) -> None:
        """Add a call of a function."""
        self._call(node, "arguments", call)

    def custom_call(self, node: Node) -> None:
        """Add a call of a tool that takes a text."""
        self._call(node, "input", custom_call)

    def result(self, node: Node) -> None:
        """Add a tool's answer."""
        node.only(*_BESIDE, "call_id", "output", "caller", "name", "namespace")
        node.maybe("caller", _direct)
        output = node.need("output")
        content = "" if output.value == [] else _content(output, _SEEN)
        self._put({"role": "tool", "tool_call_id": node.need("call_id").filled(), "content": content})

    def reasoning(self, node: Node) -> None:
        """Add the assistant's thoughts, or their summary, if either can be read."""
        node.only(*_BESIDE, "summary", "content", "encrypted_content")
        name, kind = ("content", "reasoning_text") if node.at("content").value else ("summary", "summary_text")
        if not (told := node.at(name)).absent:
            self._thought += [_of_type(part, kind).need("text").text() for part in told.items()]

    def _call(self, node: Node, given: str, make: Callable[[str, str, str], Json]) -> None:
        """Add a call, which `make` makes of its id, its name, and what is `given` to the tool."""
        node.only(*_BESIDE, "call_id", "name", given, "caller")
        node.maybe("caller", _direct)
        made = make(node.need("call_id").filled(), name_of(node.need("name")), node.need(given).text())
        self._assistant(new=False).setdefault("tool_calls", []).append(made)

    def _answer(self, node: Json) -> None:
        message = self._assistant(new=True)
        for name, text in node.items():
            said = message.get(name)
            if said is None or said == [""]:
                said = message[name] = []
            said.append(text)

    def _assistant(self, *, new: bool) -> Json:
        """Return the assistant's message that continues; `new`: after a text another message begins."""
        last = self.messages[-1] if self.messages else {}
        if last.get("role") != "assistant" or (new and "tool_calls" not in last):
            last = {"role": "assistant", "content": None}
            self.messages.append(last)
        if self._thought:
            last.setdefault("reasoning_content", []).extend(self._thought)
            self._thought = []
        return last

    def _put(self, message: Json) -> None:
        self._thought = []
        self.messages.append(message)


def _foreign_item(kind: Node, name: str) -> BadAsk:
    if name == _REFERENCE:
        return kind.bad(f"can't be a reference to an item: none is kept. {WHOLE}", "unsupported_value")
    instead = "declare functions, and send their calls as `function_call` and `function_call_output`"
    return kind.bad(f"can't be {shown(name)}: {instead}.", "unsupported_value")


def _content(node: Node, parts: Mapping[str, Callable[[Node], Json]]) -> Any:
    if isinstance(node.value, str):
        return node.value
    return plain(read_parts(node, parts))


def _assistant_content(node: Node) -> Json:
    """Return the fields of an assistant's message: its text, and the words of a refusal."""
    if isinstance(node.value, str):
        return {"content": node.value}
    found: dict[str, list[str]] = {}
    for part in (read_part(each, _SPOKEN) for each in node.items()):
        for name, text in part.items():
            found.setdefault(name, []).append(text)
    return {name: "".join(texts) for name, texts in found.items()} or {"content": ""}


def _of_type(node: Node, kind: str) -> Node:
    node.need("type").word(kind)
    node.only("type", "text")
    return node


def _direct(caller: Node) -> None:
    """Check that the model itself called, not a program of its own."""
    caller.need("type").word("direct")


def _text(node: Node) -> Json:
    node.only("type", "text", _BREAKPOINT)
    return text_part(node.need("text").text())


def _image(node: Node) -> Json:
    if not (file := node.at("file_id")).absent:
        raise file.bad("is not supported: no files are kept. Send `image_url`.", "unsupported_parameter")
    node.only("type", "image_url", "detail", _BREAKPOINT)
    detail = node.maybe("detail", lambda detail: detail.word(*DETAILS))
    return image_part(image_address(node.need("image_url")), detail)


def _spoken(node: Node) -> Json:
    node.only("type", "text", "annotations", "logprobs")
    return {"content": node.need("text").text()}


def _refused(node: Node) -> Json:
    node.only("type", "refusal")
    return {"refusal": node.need("refusal").text()}


_READ: Mapping[str, Callable[[Node], Json]] = {"input_text": _text}
_SEEN: Mapping[str, Callable[[Node], Json]] = {"input_text": _text, "input_image": _image}
_SPOKEN: Mapping[str, Callable[[Node], Json]] = {"output_text": _spoken, "input_text": _spoken, "refusal": _refused}

_ITEMS: Mapping[str, Callable[[_Conversation, Node], None]] = {
    "message": _Conversation.message,
    _CALL: _Conversation.call,
    _CUSTOM_CALL: _Conversation.custom_call,
    "function_call_output": _Conversation.result,
    "custom_tool_call_output": _Conversation.result,
    "reasoning": _Conversation.reasoning,
}
