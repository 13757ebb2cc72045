"""Values of nested elements, once they are complete. See `bodies.tree`."""

from collections.abc import Sequence
from typing import Any

from tokenmill.parser.coerce import read_typed
from tokenmill.parser.schema import Shape

ITEM = "item"
"""Name of the elements of an array of which no schema says that it is one."""

_WORDS = {"true": True, "false": False, "null": None}
"""What a text is where nothing gives its type; all else stays text."""


class _Element:
    """An open element while the tags are gone through again."""

    __slots__ = ("begin", "children", "name", "repaired", "shape", "types")

    def __init__(self, name: str, begin: int, shape: Shape) -> None:
        self.name = name
        self.begin = begin
        self.shape = shape
        self.types = shape.types
        self.children: list[tuple[str, Any]] = []
        self.repaired = False

    def inner(self, name: str) -> Shape:
        """The schema of an element in this one."""
        return self.shape.item() if "array" in self.types and "object" not in self.types else self.shape.child(name)

    def value(self, text: str) -> Any:
        """What the element is, of which `text` is all that stands between its tags."""
        if "string" in self.types or not self.children:
            return self._leaf(text)
        if "object" not in self.types and (
            "array" in self.types or (len(self.children) > 0 and all(name == ITEM for name, _ in self.children))
        ):
            return [value for _, value in self.children]
        return gathered(self.children, self.shape)

    def _leaf(self, text: str) -> Any:
        if not self.types:
            return _WORDS.get(text, text)
        if not text.strip() and "string" not in self.types:
            return [] if "array" in self.types else {} if "object" in self.types else text
        value, self.repaired = read_typed(text, self.types)
        return value


def gathered(children: Sequence[tuple[str, Any]], shape: Shape) -> dict[str, Any]:
    """An object of its elements. What repeats is an array; so is what the schema says is one."""
    found: dict[str, list[Any]] = {}
    for name, value in children:
        found.setdefault(name, []).append(value)
    return {
        name: values[0] if len(values) == 1 else [item for value in values for item in _items(value, shape.child(name))]
        for name, values in found.items()
    }


def _items(value: Any, shape: Shape) -> list[Any]:
    """A repeated array is one array of all its elements."""
    return value if isinstance(value, list) and "array" in shape.types else [value]


def arguments_of(source: str, marks: Sequence[tuple[bool, str, int, int]], shape: Shape) -> tuple[dict[str, Any], bool]:
    """The arguments from the tags of a call, and whether a value had to be repaired."""
    root = _Element("", 0, shape)
    stack, repaired = [root], False
    for opens, name, begin, end in marks:
        if opens:
            stack.append(_Element(name, end, stack[-1].shape.child(name) if len(stack) == 1 else stack[-1].inner(name)))
            continue
        element = stack.pop()
        stack[-1].children.append((name, element.value(source[element.begin : begin])))
        repaired = repaired or element.repaired
    return gathered(root.children, shape), repaired
