"""Markup as models write it, read as far as it can be: elements to plain values, once all of it is there.

1. An element without elements in it is its text, without white space at its sides; one with elements is an object of
   them, and text between them is not read. What repeats is a list. Attributes and comments are not read.
2. What is no tag is text: a lone `<` or `&`, a closing tag that closes nothing. One that closes an outer element closes
   those in it, too. One of an element that is complete is an error: what closed that was part of its text.
3. An element that was never closed holds no second one of its own kind: complete ones like it are its siblings.
"""

import re
from collections.abc import Iterable
from typing import Any

from tokenmill.limits import NAME_CHARS
from tokenmill.parser.values.elements import gathered

DEPTH = 128
"""Elements inside of each other: values stay as shallow as their readers bear."""

NAME = rf"[^\s<>/=!?\"']{{1,{NAME_CHARS}}}"
"""Any name; numbers are some."""
ATTRIBUTES = r"(?:\s(?:[^<>\"'/]|/(?!>)|\"[^\"<]*+\"|'[^'<]*+')*+)?+"
"""What may follow a name: quoted values may have characters of tags, but no `<`, so that each is looked at once."""

_TOKEN = re.compile(
    rf"""
    <!--.*?(?:-->|\Z)
    |<!\[CDATA\[(?P<raw>.*?)(?:\]\]>|\Z)
    |</\s*+(?P<close>{NAME}+)\s*+>
    |<(?P<open>{NAME}+){ATTRIBUTES}(?P<empty>/?)>
    """,
    re.DOTALL | re.VERBOSE,
)
ENTITY = re.compile(r"&(?:(lt|gt|amp|quot|apos)|#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_RAW = re.compile(r"<!\[CDATA\[.*?(?:\]\]>|\Z)", re.DOTALL)


def unescaped(text: str) -> str:
    """The text with entities as the characters that they stand for."""
    return ENTITY.sub(_character, text) if "&" in text else text


def unescaped_markup(text: str) -> str:
    """The same for text that stays markup: raw sections are kept as they stand, wrapper included."""
    if "<![CDATA[" not in text:
        return unescaped(text)
    pieces, position = [], 0
    for raw in _RAW.finditer(text):
        pieces += [unescaped(text[position : raw.start()]), raw.group()]
        position = raw.end()
    return "".join(pieces) + unescaped(text[position:])


def _character(found: re.Match[str]) -> str:
    name, decimal, hexadecimal = found.groups()
    if name:
        return _ENTITIES[name]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if 0 < code < 0xD800 or 0xE000 <= code <= 0x10FFFF else found.group()  # noqa: PLR2004 -- Unicode


class _Element:
    """An open element."""

    __slots__ = ("children", "complete", "name", "text")

    def __init__(self, name: str) -> None:
        self.name = name
        self.text: list[str] = []
        self.children: list[tuple[str, Any]] = []
        self.complete: set[str] = set()
        """Names of those."""

    def add(self, children: Iterable[tuple[str, Any]]) -> None:
        for child in children:
            self.children.append(child)
            self.complete.add(child[0])

    def value(self) -> Any:
        return gathered(self.children) if self.children else "".join(self.text).strip()

    def siblings(self) -> list[tuple[str, Any]]:
        """What it holds although it was never closed: from the first complete element of its own kind on.

        Beside text of its own any one is complete, else one that holds elements.
        """
        has_text = any(not text.isspace() for text in self.text if text)
        kinds = [name == self.name and (has_text or isinstance(value, dict)) for name, value in self.children]
        at = kinds.index(True) if True in kinds else len(kinds)
        outside, self.children = self.children[at:], self.children[:at]
        return outside


def read_markup(text: str) -> Any:
    """The value of an element's inner text: a string, or an object of the elements in it.

    Raises `ValueError` if it is too deep, or if an element's end can't be told.
    """
    stack, position = [_Element("")], 0
    for token in _TOKEN.finditer(text):
        top = stack[-1]
        top.text.append(unescaped(text[position : token.start()]))
        position = token.end()
        if (name := token["open"]) is not None:
            if token["empty"]:
                top.add([(name, "")])
            elif len(stack) <= DEPTH:
                stack.append(_Element(name))
            else:
                raise ValueError("nesting is too deep")
        elif (name := token["close"]) is not None:
            _close(stack, name, token.group())
        elif token["raw"] is not None:
            top.text.append(token["raw"])
    stack[-1].text.append(unescaped(text[position:]))
    while len(stack) > 1:
        _pop(stack, closed=False)
    return stack[0].value()


def _close(stack: list[_Element], name: str, source: str) -> None:
    """A closing tag: the innermost open element of that name ends, and those in it."""
    if all(element.name != name for element in stack[1:]):
        if name in stack[-1].complete:
            raise ValueError(f"there is no telling where <{name}> ends")
        stack[-1].text.append(source)
        return
    while stack[-1].name != name:
        _pop(stack, closed=False)
    _pop(stack, closed=True)


def _pop(stack: list[_Element], *, closed: bool) -> None:
    element = stack.pop()
    siblings = [] if closed else element.siblings()
    stack[-1].add([(element.name, element.value()), *siblings])
