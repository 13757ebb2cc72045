"""The messages of a chat completion: checked, and otherwise as they stand, as the neutral shape is theirs.

Members that are not known are passed on with their message: model servers have some of their own.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tokenmill.apis.ask import Json
from tokenmill.apis.content import DETAILS, foreign_part, image_address
from tokenmill.apis.reading import Said, shown
from tokenmill.apis.tools import name_of

Part: TypeAlias = Callable[[Said], None]


def read_messages(said: Said) -> list[Json]:
    """The conversation."""
    return [_message(each) for each in said.some()]


def _message(said: Said) -> Json:
    role = said.need("role")
    check = _ROLES.get(role.text())
    if check is None:
        instead = "; answers of tools have the role tool" if role.value == "function" else ""
        raise role.bad(f"can't be {shown(role.text())}{instead}; known are {', '.join(_ROLES)}.")
    said.maybe("name", Said.text)
    check(said)
    return said.members()


def _text(said: Said) -> None:
    said.need("text").text()


def _refusal(said: Said) -> None:
    said.need("refusal").text()


def _image(said: Said) -> None:
    image = said.need("image_url")
    image_address(image.need("url"))
    image.maybe("detail", lambda detail: detail.word(*DETAILS))


def _content(said: Said, parts: Mapping[str, Part]) -> None:
    """A string, or a list of parts of these types."""
    if isinstance(said.value, str):
        return
    if not isinstance(said.value, list):
        raise said.unfit("a string or a list of parts")
    for part in said.some():
        kind = part.need("type")
        if (check := parts.get(kind.text())) is None:
            raise foreign_part(kind, list(parts))
        check(part)


def _system(said: Said) -> None:
    _content(said.need("content"), {"text": _text})


def _user(said: Said) -> None:
    _content(said.need("content"), {"text": _text, "image_url": _image})


def _assistant(said: Said) -> None:
    for name, instead in (("function_call", "use `tool_calls`."), ("audio", "answers have no sound here.")):
        if not (member := said.at(name)).absent:
            raise member.bad(f"is not supported: {instead}", "unsupported_parameter")
    beside = [said.maybe(name, Said.text) for name in ("refusal", "reasoning_content", "reasoning")]
    calls = [] if said.at("tool_calls").absent else list(said.at("tool_calls").items())
    for call in calls:
        _call(call)
    if not (content := said.at("content")).absent:
        _content(content, {"text": _text, "refusal": _refusal})
    elif not calls and not any(beside):
        raise content.bad("is missing, and there are no `tool_calls`.", "missing_required_parameter")


def _call(said: Said) -> None:
    said.need("id").filled()
    kind = said.at("type")
    if not kind.absent and kind.value != "function":
        raise kind.bad(f"can't be {shown(kind.text())}: only functions are called here.", "unsupported_value")
    function = said.need("function")
    name_of(function.need("name"))
    function.need("arguments").text()


def _tool(said: Said) -> None:
    said.need("tool_call_id").filled()
    _content(said.need("content"), {"text": _text, "image_url": _image})


_ROLES: Mapping[str, Callable[[Said], None]] = {
    "system": _system,
    "developer": _system,
    "user": _user,
    "assistant": _assistant,
    "tool": _tool,
}
