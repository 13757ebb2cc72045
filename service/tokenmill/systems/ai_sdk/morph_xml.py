"""Calls as markup named like the tool, as a middleware of the AI SDK asks for it in its prompt.

Any element could be one, so only the exact tags of declared tools count: `<NAME>`, or `<NAME/>` for no arguments.
Arguments are elements inside the call's, `<city>Paris</city>`, nested like the schema.

1. A parameter is an outermost element. Its value is raw text up to the closing tag of its name. Tags like its own in it
   are content if they come in pairs, and so are the call's. Nothing in a raw section is a tag.
2. Where the schema has text, that raw text is the value, with entities decoded; it must not come twice. Elsewhere it is
   read as markup (see `markup`), and what repeats is a list.
3. The closing tag of the call ends it wherever it stands outside such pairs, and ends an open value with it. Text
   beside parameters, comments and unmatched closing tags are skipped. But a closing tag of a parameter that was given
   breaks the call: the earlier one was part of the value. So does such a parameter that comes again after text. Where
   the value can't be text and nothing stands between the two, models wrote the closing twice. A call that has such
   pairs and a closing too few or too many is broken, as nobody knows where its values end.
4. A call without parameters may hold a JSON object of its arguments; any other text breaks it.
5. Arguments are made to fit the tool's schema (see `conform`).
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from tokenmill.formats.notations import TOOL_RESPONSE, Elements
from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies.closings import XML, ChildrenState, ParamsState, ParamToken
from tokenmill.parser.bodies.params import Params, ParamsReader, read_object
from tokenmill.parser.markers import LEADING_SPACE, Finder, Hit, Marker, ahead, marker
from tokenmill.parser.options import Options
from tokenmill.parser.run.rules import Rules, read_tools
from tokenmill.parser.run.run import Reader, Run
from tokenmill.parser.run.state import OpenCall, looked_at
from tokenmill.parser.spec import Call, Format, Header, History, Section
from tokenmill.parser.values.coerce import is_text
from tokenmill.parser.values.markup import ATTRIBUTES, ENTITY, NAME, gathered, read_markup, unescaped, unescaped_markup

TAG_CHARS = 4 * NAME_CHARS
"""Characters of a tag before it stops being one: a name and a few attributes."""
SPACE = r"\s{0,64}"
"""White space in a closing tag: a new line and some indentation."""

_TAG = re.compile(rf"<(?:(?P<close>/){SPACE}(?P<closed>{NAME}){SPACE}|(?P<opened>{NAME}){ATTRIBUTES}(?P<empty>/?))>")
_BEGUN = re.compile(
    rf"<(?:(?P<close>/){SPACE}(?P<closed>(?:{NAME})?)(?P<space>{SPACE})"
    rf"|(?P<opened>(?:{NAME})?)(?P<attributes>(?:\s(?:[^<>\"']|\"[^\"<]*(?:\"|\Z)|'[^'<]*(?:'|\Z))*+)?)/?)\Z"
)
"""The beginning of a tag, if it is all that is left of the buffer."""
_ENTITY_BEGUN = re.compile(r"&[#\w]{0,8}\Z")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_RAW, _RAW_END = "<![CDATA[", "]]>"
_COMMENT_BEGIN, _COMMENT_END = "<!--", "-->"


class Markup(msgspec.Struct, frozen=True):
    """Nested elements whose outermost ones are parameters."""

    def compile(self, stops: Sequence[Marker]) -> Reader:  # noqa: ARG002 -- only its own closing ends it
        """Return the reader of this body."""
        return _MarkupReader(
            Params(
                open=marker("<"),
                close=marker("</"),
                end=marker("</"),
                key=rf"(?P<key>{NAME})",
                trim="none",
                escapes=XML,
            ),
            (),
        )


class _MarkupReader(ParamsReader):
    state_type = looked_at(ChildrenState)
    passes_text = True

    def begin(self, call: OpenCall) -> ChildrenState:
        return ChildrenState(begin=call.source.size)

    def _scanner(self, call: OpenCall, state: ParamsState) -> Finder[ParamToken]:
        assert isinstance(state, ChildrenState)
        return _InValue(call) if state.value >= 0 else _Between(call)

    def _takes(self, rules: Rules, tool: str, key: str) -> bool:
        return _is_raw(rules, tool, key)

    def _follow(self, run: Run, call: OpenCall, state: ParamsState, edge: ParamToken, source: str, begin: int) -> bool:
        assert isinstance(state, ChildrenState)
        end = begin + len(source)
        if edge is ParamToken.FAULT:
            return False
        if edge is ParamToken.RAW:
            state.raw = not state.raw
        if edge in (ParamToken.RAW, ParamToken.ESCAPE):
            _count(state, source)
            if call.growing:
                self._grow(run, call, state, unescaped(source))
            return True
        tag = _TAG.fullmatch(source)
        assert tag is not None  # it was found as one
        if edge is ParamToken.CLOSE:
            if state.value < 0:
                return state.blank and not state.quoted and not run.rules.allows_text(call.name, tag["closed"])
            self._close(run, call, state, begin)
            return True
        state.tag, state.blank = tag["opened"], True
        opened = self._open(run, call, state, end)
        if tag["empty"]:
            self._close(run, call, state, end)
        return opened

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        state: ChildrenState = call.body
        source, repaired = call.source.text(), False
        if state.values:
            arguments = _arguments(run.rules, call.name, state, source)
        else:
            text = _COMMENT.sub("", source[state.begin : state.end] if state.end >= 0 else "").strip()
            if text and not text.startswith("{"):
                raise ValueError("there is text where the arguments should be")
            arguments, repaired = read_object(text)
        return run.rules.conformed(call.name, arguments), repaired


def _arguments(rules: Rules, tool: str, state: ChildrenState, source: str) -> dict[str, Any]:
    """Return the values of the parameters by name. Raises `ValueError` if one that is text is repeated."""
    values: list[tuple[str, Any]] = []
    texts: set[str] = set()
    for key, _, begin, end in state.values:
        raw = source[begin:end]
        if not _is_raw(rules, tool, key):
            values.append((key, read_markup(raw)))
            continue
        if key in texts:
            raise ValueError(f"the parameter {key!r} is repeated")
        texts.add(key)
        values.append((key, unescaped_markup(raw)))
    return gathered(values)


def _is_raw(rules: Rules, tool: str, key: str) -> bool:
    """Whether the schema allows only text for a parameter."""
    types = rules.types(tool, key)
    return bool(types) and is_text(types) is not False


def _count(state: ChildrenState, source: str) -> None:
    """Count a tag inside the open value."""
    tag = _TAG.fullmatch(source)
    if tag is None:
        return
    state.quoted = True
    state.count(tag["closed"] or tag["opened"], closes=bool(tag["close"]))


class _InValue(Finder[ParamToken]):
    """Finds the end of an open value, and what in it is counted, or is an escape in text that grows."""

    def __init__(self, call: OpenCall) -> None:
        self._state: ChildrenState = call.body
        self._tool = call.name
        self._entities = call.growing is not None

    def find(self, buffer: str, position: int, *, final: bool) -> Hit[ParamToken] | None:
        if self._state.raw:
            return _ending(buffer, position, _RAW_END, final=final)
        while (position := _first(buffer, position, entities=self._entities)) >= 0:
            hit = self._at(buffer, position, final=final)
            if hit is not None:
                return hit
            position += 1
        return None

    def _at(self, buffer: str, position: int, *, final: bool) -> Hit[ParamToken] | None:
        if buffer[position] == "&":
            if entity := ENTITY.match(buffer, position):
                return Hit(position, entity.end(), ParamToken.ESCAPE)
            return None if final or not _ENTITY_BEGUN.match(buffer, position) else Hit(position, -1, None)
        if buffer.startswith(_RAW, position):
            return Hit(position, position + len(_RAW), ParamToken.RAW)
        if tag := _TAG.match(buffer, position):
            meaning = self._meaning(tag)
            return None if meaning is None else Hit(position, tag.end(), meaning)
        return Hit(position, -1, None) if not final and self._may_become(buffer, position) else None

    def _meaning(self, tag: re.Match[str]) -> ParamToken | None:
        state = self._state
        name = tag["closed"] or tag["opened"]
        if name not in (state.key, self._tool) or tag["empty"]:
            return None
        if not tag["close"]:
            return ParamToken.ESCAPE
        if name == state.key:
            return ParamToken.ESCAPE if state.within else ParamToken.CLOSE
        if state.calls:
            return ParamToken.ESCAPE
        return ParamToken.FAULT if state.quoted else ParamToken.END

    def _may_become(self, buffer: str, position: int) -> bool:
        """Whether the rest of the buffer can become something that counts."""
        if len(buffer) - position > TAG_CHARS:
            return False
        begun = _BEGUN.match(buffer, position)
        if begun is None:
            return _RAW.startswith(buffer[position:])
        name = begun["closed"] or begun["opened"] or ""
        names = (self._state.key, self._tool)
        complete = bool(begun["space"] or begun["attributes"] or (not begun["close"] and buffer.endswith("/")))
        return name in names if complete else any(wanted.startswith(name) for wanted in names)


class _Between(Finder[ParamToken]):
    """Finds the next parameter, or the end of the call."""

    def __init__(self, call: OpenCall) -> None:
        self._state: ChildrenState = call.body
        self._tool = call.name

    def find(self, buffer: str, position: int, *, final: bool) -> Hit[ParamToken] | None:
        state = self._state
        if state.raw:
            return _ending(buffer, position, _COMMENT_END, final=final)
        while (found := buffer.find("<", position)) >= 0:
            self._pass(buffer[position:found])
            if buffer.startswith(_COMMENT_BEGIN, found):
                return Hit(found, found + len(_COMMENT_BEGIN), ParamToken.RAW)
            if tag := _TAG.match(buffer, found):
                if (meaning := self._meaning(tag)) is not None:
                    return Hit(found, tag.end(), meaning)
                found = tag.end() - 1
            elif not final and _may_begin(buffer, found):
                return Hit(found, -1, None)
            else:
                self._pass("<")
            position = found + 1
        self._pass(buffer[position:])
        return None

    def _meaning(self, tag: re.Match[str]) -> ParamToken | None:
        state = self._state
        if name := tag["opened"]:
            return ParamToken.OPEN if state.blank or name not in state.given else ParamToken.FAULT
        if tag["closed"] == self._tool:
            return ParamToken.END
        return ParamToken.CLOSE if tag["closed"] in state.given else None

    def _pass(self, text: str) -> None:
        self._state.blank = self._state.blank and not text.strip()


def _may_begin(buffer: str, position: int) -> bool:
    """Whether the rest of the buffer can become a tag or a comment."""
    if len(buffer) - position > TAG_CHARS:
        return False
    return _BEGUN.match(buffer, position) is not None or _COMMENT_BEGIN.startswith(buffer[position:])


def _first(buffer: str, position: int, *, entities: bool) -> int:
    """Return the position of the next character that may mean something; -1 if there is none."""
    tag = buffer.find("<", position)
    entity = buffer.find("&", position, tag if tag >= 0 else len(buffer)) if entities else -1
    return entity if entity >= 0 else tag


def _ending(buffer: str, position: int, end: str, *, final: bool) -> Hit[ParamToken] | None:
    """Find the end of a section in which nothing else counts."""
    found = buffer.find(end, position)
    if found >= 0:
        return Hit(found, found + len(end), ParamToken.RAW)
    for size in range(min(len(end) - 1, len(buffer) - position), 0, -1):
        if not final and end.startswith(buffer[len(buffer) - size :]):
            return Hit(len(buffer) - size, -1, None)
    return None


_NAME = re.compile(NAME)


def _configured(format_: Format, options: Options) -> Format:
    """Return the format with the tags of the declared tools."""
    names = [name for name in read_tools(options.tools, {}) if _NAME.fullmatch(name)]
    return msgspec.structs.replace(format_, sections=(_section(names),) if names else ())


def _section(tools: Sequence[str]) -> Section:
    opened = [ahead(f"{name}>") for name in tools]
    empty = [(*ahead(name), LEADING_SPACE, "/", ">") for name in tools]
    return Section(
        open=None,
        close=None,
        calls=(
            Call(
                open=marker("<", ahead=[*opened, *empty]),
                header=Header(until=marker(">"), pattern=rf"(?P<name>{NAME})\s*(?P<whole>/?)"),
                body=Markup(),
            ),
        ),
        bare="alone",
    )


MORPH_XML = Format(
    name="morph_xml",
    summary="`<TOOL>` elements of declared tools with markup inside that is made to fit the tool's schema.",
    sample="I'll look it up.\n<get_weather>\n  <city>Paris</city>\n  <days>3</days>\n</get_weather>",
    history=History("<$name>$arguments</$name>", TOOL_RESPONSE, Elements(escapes=True)),
    configured=_configured,
    unknown_tool="text",
)
