"""Tags for tools, `<tool name="NAME">` with arguments as elements, and the older ones of two tools.

For `write_file`, `patch_file` and `run_bash` the long argument streams unchanged. To the model, the older tags are
content, not calls: they are read whatever `parse` is.

The content of a tool's tag is its arguments as elements, `<path>/a</path>` or `<arg name="path">/a</arg>`. Their XML is
the source; it is read once it is complete.

1. An element's name is its attribute `name`, else its tag. `<arguments>` around them may be missing.
2. An element is the list of the `<item>`s in it, or the object of other elements in it, or its text without white space
   at its sides. If a name comes twice, the last counts. Where the schema requires text, the value is the element's
   source; the same holds where the schema gives no type and text stands beside the elements.
3. Entities and CDATA sections are decoded. Anything but a tag is text: a lone `<` or `&`, a tag that closes nothing, a
   tag that is not closed before the element around it is. What is not closed at all is an error.
4. Text beside elements that can't be text itself is an error, and so are arguments beside `<arguments>`: the closing
   tag before it was part of the value, and the rest of that would be lost.
"""

import re
from collections.abc import Collection
from enum import Enum
from typing import Any

import msgspec

from tokenmill.events import AnyEvent, Encoding, ToolInputDelta
from tokenmill.formats.notations import tags_history
from tokenmill.limits import JSON_DEPTH, NAME_CHARS
from tokenmill.parser.markers import Marker, Scanner, marker, plain_members
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Run, Verdict, send_source
from tokenmill.parser.run.state import OpenCall, State
from tokenmill.parser.spec import Call, Format, Section
from tokenmill.parser.values.coerce import read_typed
from tokenmill.parser.values.markup import unescaped
from tokenmill.parser.values.schema import Shape
from tokenmill.systems.autobyteus.piped import Piped
from tokenmill.systems.autobyteus.tagged import ANY_TOOL, ContentReader, Raw, Tagged, TagState, content_of

WRAPPER = "arguments"
ITEM = "item"

_NAME = rf"[^\W\d][\w:.-]{{0,{NAME_CHARS - 1}}}+"
_ATTRIBUTES = r"""(?:\s++[\w:.-]++(?:\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'))?+)*+"""
_TOKEN = re.compile(
    rf"""
    <!--.*?(?:-->|\Z)
    |<!\[CDATA\[(?P<raw>.*?)(?:\]\]>|\Z)
    |</\s{{0,8}}(?P<close>{_NAME}){_ATTRIBUTES}\s*+/?>
    |<\s{{0,8}}(?P<tag>{_NAME})(?P<attributes>{_ATTRIBUTES})\s*+(?:(?P<empty>/>)|>(?:(?P<leaf>[^<]*+)</(?P=tag)\s*+>)?+)
    """,
    re.DOTALL | re.VERBOSE,
)
_KEY = re.compile(r"\sname\s*=\s*(\"[^\"]*\"|'[^']*')", re.IGNORECASE)


class _Element(msgspec.Struct, gc=False):  # faster to create than other objects; it holds no circles
    """An open element, or a complete one."""

    tag: str
    key: str
    opening: str
    """Source of its opening tag, as long as it is open."""
    begin: int
    end: int
    text: list[str] = []
    children: "list[_Element]" = []

    def is_mixed(self) -> bool:
        """Whether it has text of its own."""
        return any(text and not text.isspace() for text in self.text)

    def is_source(self, types: Collection[str]) -> bool:
        """Whether its value, which may have these types, is its source if there are elements in it."""
        return "string" in types or (not types and self.is_mixed())

    def is_wrapper(self) -> bool:
        """Whether it contains the arguments, if nothing is around it."""
        return self.key.lower() == self.tag == WRAPPER

    def dissolve(self, into: "_Element") -> None:
        """Turn an element that was never closed into text."""
        into.text += [self.opening, *self.text]
        into.children += self.children


def arguments_of(source: str, shape: Shape) -> tuple[dict[str, Any], bool]:
    """Return the arguments, and whether a value was repaired. Raises `ValueError` if an element's end is unclear."""
    root = _read(source, shape)
    around = next((child for child in root.children if child.is_wrapper()), root)
    if around is not root and (root.is_mixed() or len(root.children) > 1):
        raise ValueError(f"there is more than <{WRAPPER}>")
    reading = _Values(source)
    return reading.members(around, shape), reading.repaired


def _read(source: str, shape: Shape) -> _Element:
    """Return the elements of a text, in one that surrounds them all; of arguments that are their source only the
    first.
    """
    top = _Element("", "", "", 0, 0)
    stack, position, asked = [top], 0, top
    tokens = _TOKEN.finditer(source)
    while token := next(tokens, None):
        begin, end = token.span()
        if begin > position:
            top.text.append(unescaped(source[position:begin]))
        position = end
        kind = token.lastgroup
        if kind == "leaf":  # in one go: in a file with markup these are most
            tag, attributes, leaf = token.group("tag", "attributes", "leaf")
            key = (_key(attributes) if attributes else "") or tag
            begin, end = token.span("leaf")
            top.children.append(_Element(tag.lower(), key, "", begin, end, [unescaped(leaf)]))
        elif kind in ("attributes", "empty"):
            tag, attributes, opening = token.group("tag", "attributes", 0)
            element = _Element(tag.lower(), _key(attributes) or tag, opening, end, end)
            _open(stack, element, empty=kind == "empty")
        elif kind == "close":
            _close(stack, token["close"].lower(), token)
        elif kind == "raw":
            top.text.append(token["raw"])
        top = stack[-1]
        if len(top.children) == 1 and top is not asked:
            asked = top  # once: the answer needs a look at all that follows
            if _is_source(stack, shape) and (end := _plain_end(stack, source, position)) >= 0:
                tokens, position = _TOKEN.finditer(source, end), end
    stack[0].text.append(source[position:])
    if len(stack) > 1:
        raise ValueError(f"<{stack[-1].tag}> is not closed")
    return stack[0]


def _is_source(stack: list[_Element], shape: Shape) -> bool:
    """Whether the innermost open element is an argument whose value is its source, as there are elements in it."""
    _, *around = stack
    inside = around[1:] if around and around[0].is_wrapper() else around
    return len(inside) == 1 and inside[0].is_source(shape.child(inside[0].key).types)


def _plain_end(stack: list[_Element], source: str, position: int) -> int:
    """Return where the closing tag of the innermost open element begins, if no tag before it has an open element's name
    and nothing before it hides tags: whatever elements are in between, they end there. Otherwise -1.
    """
    names = "|".join(re.escape(element.tag) for element in stack[1:])
    live = re.compile(rf"<(?:!--|!\[CDATA\[|/?\s{{0,8}}(?:{names})(?![\w:.-]))", re.IGNORECASE)
    found = live.search(source, position)
    token = _TOKEN.match(source, found.start()) if found else None
    closes = token is not None and token["close"] is not None and token["close"].lower() == stack[-1].tag
    return token.start() if token and closes else -1


def _key(attributes: str) -> str:
    """Return the attribute that names an element; empty if none does."""
    found = _KEY.search(attributes)
    return unescaped(found[1][1:-1]) if found else ""


def _open(stack: list[_Element], element: _Element, *, empty: bool) -> None:
    if empty:
        stack[-1].children.append(element)
    elif len(stack) <= JSON_DEPTH:
        stack.append(element)
    else:
        raise ValueError("nesting is too deep")


def _close(stack: list[_Element], tag: str, token: re.Match[str]) -> None:
    while stack[-1].tag != tag:
        if all(element.tag != tag for element in stack):
            stack[-1].text.append(token.group())
            return
        stack.pop().dissolve(stack[-1])
    closed = stack.pop()
    closed.end = token.start()
    stack[-1].children.append(closed)


def _only_elements(element: _Element) -> None:
    """Refuse text that would be lost."""
    if element.is_mixed():
        raise ValueError("there is text between elements")


class _Values:
    """Values of the elements of one text."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.repaired = False

    def members(self, element: _Element, shape: Shape) -> dict[str, Any]:
        """Return the object of an element's elements."""
        _only_elements(element)
        return {child.key: self._value(child, shape.child(child.key)) for child in element.children}

    def _value(self, element: _Element, shape: Shape) -> Any:
        types = shape.types
        if element.children and element.is_source(types):
            return self._source[element.begin : element.end].strip()
        items = [child for child in element.children if child.tag == ITEM]
        if items or (element.children and "array" in types and "object" not in types):
            _only_elements(element)
            return [self._value(child, shape.item) for child in items or element.children]
        if element.children:
            return self.members(element, shape)
        value, repaired = read_typed("".join(element.text).strip(), types)
        self.repaired = self.repaired or repaired
        return value


@plain_members
class _XmlToken(Enum):
    END = "the call ends"
    RAW = "a section begins or ends in which nothing is a marker"


class XmlTool(msgspec.Struct, frozen=True):
    """Arguments as elements, up to the closing tag, which counts everywhere except in a CDATA section."""

    close: Marker
    """Ends the call."""

    def compile(self) -> ContentReader:
        """Return the reader of this content."""
        return _XmlToolReader(self.close)


class _XmlToolReader:
    encoding: Encoding = "xml"

    def __init__(self, close: Marker) -> None:
        self._markup = Scanner([(close, _XmlToken.END), (marker("<![CDATA["), _XmlToken.RAW)])
        self._raw = Scanner([(marker("]]>"), _XmlToken.RAW)])

    def begin(self, run: Run, call: OpenCall, state: TagState, offset: int) -> None:  # noqa: ARG002 -- others ask the tools
        state.begin = offset

    def quick(self, rules: Rules, parser: State, call: OpenCall, state: TagState, text: str) -> list[AnyEvent] | None:
        scanner = self._raw if state.raw else self._markup
        if scanner.first in text and (settled := scanner.settled(text)) < len(text):
            if settled < 0:
                return None
            parser.held, text = text[settled:], text[:settled]
        return [ToolInputDelta(call.id, text)] if text and rules.streams_input and not call.dropped else []

    def step(
        self, run: Run, call: OpenCall, state: TagState, buffer: str, position: int, base: int
    ) -> tuple[int, Verdict]:
        first = position
        while True:
            hit = (self._raw if state.raw else self._markup).find(buffer, position, final=run.final)
            stop = len(buffer) if hit is None else hit.start
            if hit is None or hit.value is not _XmlToken.RAW:
                break
            state.raw, position = not state.raw, hit.end
        send_source(run, call, buffer[first:stop])
        if hit is None or hit.value is None:
            return stop, Verdict.MORE
        state.end = base + stop
        return hit.end, Verdict.DONE

    def arguments(self, run: Run, call: OpenCall, state: TagState) -> tuple[dict[str, Any], bool]:
        return arguments_of(content_of(call, state), run.rules.shape(call.name))


def _opening(tag: str, behind: str) -> Marker:
    """Return the beginning of a tag, up to its name."""
    return marker(f"<{tag}", any_case=True, ahead=[[behind]])


def _closing(tag: str) -> Marker:
    return marker(f"</{tag}>", spaces=True, any_case=True)


_END = _closing("tool")

AUTOBYTEUS_XML = Format(
    name="autobyteus_xml",
    summary='`<tool name="NAME">` with arguments as elements; `<write_file path="PATH">` and `<run_bash>` with text.',
    sample=(
        'I\'ll look it up.\n<tool name="get_weather"><arguments><arg name="city">Paris</arg>'
        '<arg name="days">3</arg></arguments></tool>'
    ),
    history=tags_history(
        '<tool name="$name"><arguments>$arguments</arguments></tool>', '<arg name="$key">$value</arg>'
    ),
    sections=(
        Section(
            open=None,
            close=None,
            calls=(
                Call(
                    open=_opening("tool", r"\s"),
                    body=Tagged(
                        {
                            ANY_TOOL: XmlTool(_END),
                            "write_file": Piped(
                                _END, "content", path=True, guards=("__START_CONTENT__", "__END_CONTENT__")
                            ),
                            "patch_file": Piped(_END, "patch", path=True, guards=("__START_PATCH__", "__END_PATCH__")),
                            "run_bash": Piped(_END, "command"),
                        }
                    ),
                ),
            ),
            bare="alone",
        ),
        Section(
            open=None,
            close=None,
            calls=(
                Call(
                    open=_opening("write_file", r"\s"),
                    body=Tagged(
                        {"write_file": Raw(_closing("write_file"), "content", path=True)},
                        kind="write_file",
                        required="path",
                    ),
                ),
                Call(
                    open=_opening("run_bash", r"[\s>]"),
                    body=Tagged({"run_bash": Raw(_closing("run_bash"), "command")}, kind="run_bash"),
                ),
            ),
            bare="alone",
            layer="always",
        ),
    ),
    unknown_tool="text",
)
