"""Complete elements turned into plain values: of markup as models write it, and of a body's tree of them.

Markup is read as far as possible:

1. An element without elements in it is its text, without white space at its sides. One with elements is an object of
   them, and text between them is not read. Repeated elements become a list. Attributes and comments are not read.
2. Anything but a tag is text: a lone `<` or `&`, a closing tag that closes nothing. A tag that closes an outer element
   also closes those in it. A closing tag of a complete element is an error: the earlier closing was part of its text.
3. An element that was never closed does not hold a second one of its own kind: complete ones like it are its siblings.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tokenmill.limits import NAME_CHARS
from tokenmill.parser.values.coerce import read_typed
from tokenmill.parser.values.schema import NO_SHAPE, Shape

DEPTH = 128
"""Elements inside each other: values stay as shallow as their readers can handle."""

NAME = rf"[^\s<>/=!?\"']{{1,{NAME_CHARS}}}"
"""Any name, including numbers."""
ATTRIBUTES = r"(?:\s(?:[^<>\"'/]|/(?!>)|\"[^\"<]*+\"|'[^'<]*+')*+)?+"
"""What may follow a name: quoted values may contain signs of tags, but no `<`, so that each is looked at once."""

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
_RAW_OR_ENTITY = re.compile(rf"<!\[CDATA\[.*?(?:\]\]>|\Z)|{ENTITY.pattern}", re.DOTALL)


def unescaped(text: str) -> str:
    """Return the text with entities as the characters that they stand for."""
    return ENTITY.sub(_character, text) if "&" in text else text


def unescaped_markup(text: str) -> str:
    """Return text that stays markup with its entities decoded; raw sections stay as they are, wrapper included."""
    return _RAW_OR_ENTITY.sub(_character, text) if "&" in text else text


def _character(found: re.Match[str]) -> str:
    name, decimal, hexadecimal = found.groups()
    if name:
        return _ENTITIES[name]
    code = int(decimal) if decimal else int(hexadecimal or "0", 16)
    return chr(code) if 0 < code < 0xD800 or 0xE000 <= code <= 0x10FFFF else found.group()  # noqa: PLR2004 -- Unicode


class _Element:
    """An open element."""

    __slots__ = ("children", "complete", "name", "text")

    def __init__(self, name: str) -> None:
        self.name = name
        self.text: list[str] = []
        self.children: list[tuple[str, Any]] = []
        self.complete: set[str] = set()
        """Names of the complete ones."""

    def add(self, children: Iterable[tuple[str, Any]]) -> None:
        for child in children:
            self.children.append(child)
            self.complete.add(child[0])

    def value(self) -> Any:
        return gathered(self.children) if self.children else "".join(self.text).strip()

    def siblings(self) -> list[tuple[str, Any]]:
        """Return what it holds although it was never closed: from the first complete element of its own kind on.

        Beside text of its own, any element counts as complete; otherwise only one that holds elements.
        """
        has_text = any(not text.isspace() for text in self.text if text)
        kinds = [name == self.name and (has_text or isinstance(value, dict)) for name, value in self.children]
        at = kinds.index(True) if True in kinds else len(kinds)
        outside, self.children = self.children[at:], self.children[:at]
        return outside


def read_markup(text: str) -> Any:
    """Return the value of an element's inner text: a string, or an object of the elements in it.

    Raises `ValueError` if it is too deep, or if it is unclear where an element ends.
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
    """Close the innermost open element of that name, and those in it."""
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


# Elements whose tags are known, converted to values by their schema. See `bodies.tree`.

ITEM = "item"
"""Name of an array's elements, which marks it as one where a schema allows other values, too, or gives no type.

For a tool that is not declared they are ordinary elements."""

TEXT = "$text"
"""Key of the text that stands beside an object's elements; with more `$` at the front if an element has this name."""

_CONTAINERS = frozenset(("array", "object"))

_OTHERS = frozenset(("object", "string"))
"""Types that elements may have instead of an array."""

_WORDS = {"true": True, "false": False, "null": None}
"""What a text means where nothing gives its type. All other texts stay text."""


class _TreeElement:
    """An open element while the tags are read a second time."""

    __slots__ = ("begin", "beside", "children", "name", "read", "repaired", "shape", "types")

    def __init__(self, name: str, begin: int, shape: Shape) -> None:
        self.name = name
        self.begin = begin
        self.read = begin
        """Where its own text continues, after its last element."""
        self.beside: list[str] = []
        """Its own text before and between its elements."""
        self.shape = shape
        self.types = shape.types
        self.children: list[tuple[str, Any]] = []
        self.repaired = False

    def inner(self, name: str) -> Shape:
        """Return the schema of an element in this one."""
        is_item = "array" in self.types and (name == ITEM or "object" not in self.types)
        return self.shape.item if is_item else self.shape.child(name)

    def value(self, text: str, *, known: bool) -> Any:
        """Return the element's value. `text` is all that stands between its tags; `known` whether its tool is known."""
        if not self.children:
            return self._leaf(text)
        beside = "".join([*self.beside, text[self.read - self.begin :]])
        beside = beside if beside.strip() else ""
        if self._is_array(known=known, items=not beside and all(name == ITEM for name, _ in self.children)):
            return [value for _, value in self.children]
        if "string" in self.types:
            return self._leaf(text)
        return gathered(self.children, self.shape) | ({self._text_key(): beside} if beside else {})

    def is_empty(self, outer: "_TreeElement", source: str, marks: Sequence[tuple[bool, str, int, int]]) -> bool:
        """Whether it is an empty array or object, though nothing closes it: `marks` are its own and what follows it.

        Nothing is in it up to the end of the call, or up to an element that belongs to one of the `outer`.
        """
        if not self.types & _CONTAINERS or "string" in self.types:
            return False
        if len(marks) == 1:
            _, name, begin, end = marks[0]
            return source[end:].lstrip().startswith(source[begin:end].partition(name)[0].rstrip())
        name, begin = marks[1][1], marks[1][2]
        is_own = name == ITEM if "array" in self.types else bool(self.shape.child(name).types)
        return not is_own and bool(outer.shape.child(name).types) and not source[self.begin : begin].strip()

    def _is_array(self, *, known: bool, items: bool) -> bool:
        """Whether its elements are an array's; `items` if it contains only elements with the name of items."""
        others = self.types & _OTHERS
        return items or not others if "array" in self.types else items and known and not others

    def _text_key(self) -> str:
        names, key = {name for name, _ in self.children}, TEXT
        while key in names:
            key = f"${key}"
        return key

    def _leaf(self, text: str) -> Any:
        if not self.types:
            return _WORDS.get(text, text)
        if not text.strip() and "string" not in self.types:
            return [] if "array" in self.types else {} if "object" in self.types else text
        value, self.repaired = read_typed(text, self.types)
        return value


def _left_open(marks: Sequence[tuple[bool, str, int, int]]) -> frozenset[int]:
    """Return which of the tags open an element that nothing closes."""
    open_at: list[int] = []
    for at, (opens, _, _, _) in enumerate(marks):
        if opens:
            open_at.append(at)
        else:
            open_at.pop()
    return frozenset(open_at)


def gathered(children: Sequence[tuple[str, Any]], shape: Shape = NO_SHAPE) -> dict[str, Any]:
    """Return an object of its elements. What repeats is an array, and so is what the schema declares as one."""
    found: dict[str, list[Any]] = {}
    for name, value in children:
        found.setdefault(name, []).append(value)
    return {
        name: values[0] if len(values) == 1 else [item for value in values for item in _items(value, shape.child(name))]
        for name, values in found.items()
    }


def _items(value: Any, shape: Shape) -> list[Any]:
    """Join the values of a repeated array into one array."""
    return value if isinstance(value, list) and "array" in shape.types else [value]


def arguments_of(
    source: str, marks: Sequence[tuple[bool, str, int, int]], shape: Shape, *, known: bool = True
) -> tuple[dict[str, Any], bool]:
    """Return the arguments from the tags of a call, and whether a value was repaired; `known`: whether its tool is.

    Raises `ValueError` if an element that is not closed has others in it: it is unclear which of them are its own.
    """
    root = _TreeElement("", 0, shape)
    stack, repaired = [root], False
    left = _left_open(marks)
    for at, (opens, name, begin, end) in enumerate(marks):
        inmost = stack[-1]
        if opens:
            inmost.beside.append(source[inmost.read : begin])
            element = _TreeElement(name, end, inmost.shape.child(name) if len(stack) == 1 else inmost.inner(name))
            if at in left and element.is_empty(inmost, source, marks[at : at + 2]):
                inmost.read = end
                inmost.children.append((name, element.value("", known=known)))
            elif at in left and at < len(marks) - 1:
                raise ValueError(f"<{name}> is not closed")
            else:
                stack.append(element)
            continue
        stack.pop()
        stack[-1].read = end
        stack[-1].children.append((name, inmost.value(source[inmost.begin : begin], known=known)))
        repaired = repaired or inmost.repaired
    return gathered(root.children, shape), repaired
