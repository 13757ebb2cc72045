"""Calls as elements named like the tool, as a proxy in front of Qwen's web chat asks for them in its prompt.

Any element could be one, so only declared tools count, and only the first call does: such a model waits for the result,
and then invents it if it is not stopped.

Parameters in tags of their own names, `<limit>20</limit>`, inside a tag that is named like the tool.

1. A tag is `<name>`, with white space allowed before `>`, without attributes; a name is a letter or `_`, then letters,
   digits and `_`. Anything else between parameters is skipped. But text without any parameter is not a call, and a
   closing of a parameter that was given breaks the call: the earlier one was part of the value. So does such a
   parameter that comes again after text.
2. A value is raw text up to the closing tag of its name. Tags like its own inside it are content if they come in pairs;
   so are pairs of the call's tag. A closing of the call outside such a pair breaks the call: the value was never
   closed.
3. All else is as with other tagged parameters: see `bodies.params`.
"""

import re
from collections.abc import Sequence

import msgspec

from tokenmill.formats.notations import tags_history
from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies.closings import ChildrenState, ParamsState, ParamToken
from tokenmill.parser.bodies.params import Params, ParamsReader
from tokenmill.parser.markers import INNER_SPACE, Finder, Hit, Marker, ahead, marker
from tokenmill.parser.options import Options
from tokenmill.parser.run.rules import read_tools
from tokenmill.parser.run.run import Reader, Run
from tokenmill.parser.run.state import OpenCall, looked_at
from tokenmill.parser.spec import Call, Format, Header, Section

NAME = rf"[A-Za-z_]\w{{0,{NAME_CHARS - 1}}}"
"""Name of a tag."""

_TAG = re.compile(rf"<(?P<close>/?)(?P<name>{NAME}){INNER_SPACE}>")
_BEGUN = re.compile(rf"<(?P<close>/?)(?P<name>(?:{NAME})?)(?P<space>{INNER_SPACE})\Z")
"""The beginning of a tag, if it is all that is left of the buffer."""


class Children(msgspec.Struct, frozen=True):
    """Parameters as child elements."""

    def compile(self, stops: Sequence[Marker]) -> Reader:  # noqa: ARG002 -- only its own closing ends it
        """Return the reader of this body."""
        return _ChildrenReader(
            Params(open=marker("<"), close=marker("</"), end=marker("</"), key=rf"(?P<key>{NAME})", trim="breaks"), ()
        )


class _ChildrenReader(ParamsReader):
    state_type = looked_at(ChildrenState)
    passes_text = True

    def begin(self, call: OpenCall) -> ChildrenState:
        return ChildrenState(begin=call.source.size)

    def _scanner(self, call: OpenCall, state: ParamsState) -> Finder[ParamToken]:
        assert isinstance(state, ChildrenState)
        return _InValue(call) if state.value >= 0 else _Between(call)

    def _follow(self, run: Run, call: OpenCall, state: ParamsState, edge: ParamToken, source: str, begin: int) -> bool:
        assert isinstance(state, ChildrenState)
        if edge is ParamToken.FAULT:
            return False
        tag = _TAG.fullmatch(source)
        if edge is ParamToken.ESCAPE:
            if tag is not None:
                state.count(tag["name"], closes=bool(tag["close"]))
            if call.growing:
                self._grow(run, call, state, source)
        elif edge is ParamToken.OPEN and tag is not None:
            state.tag = tag["name"]
            return self._open(run, call, state, begin + len(source))
        else:
            self._close(run, call, state, begin)
        return True


class _InValue(Finder[ParamToken]):
    """Finds the end of an open value, and the tags in it that are counted."""

    def __init__(self, call: OpenCall) -> None:
        self._state: ChildrenState = call.body
        self._tool = call.name

    def find(self, buffer: str, position: int, *, final: bool) -> Hit[ParamToken] | None:
        state = self._state
        while (position := buffer.find("<", position)) >= 0:
            if tag := _TAG.match(buffer, position):
                if tag["name"] in (state.key, self._tool):
                    return Hit(position, tag.end(), self._meaning(tag))
            elif not final and (begun := _BEGUN.match(buffer, position)) and self._may_count(begun):
                return Hit(position, -1, None)
            position += 1
        return None

    def _meaning(self, tag: re.Match[str]) -> ParamToken:
        state = self._state
        if not tag["close"]:
            return ParamToken.ESCAPE
        if tag["name"] == state.key:
            return ParamToken.ESCAPE if state.within else ParamToken.CLOSE
        return ParamToken.ESCAPE if state.calls else ParamToken.FAULT

    def _may_count(self, begun: re.Match[str]) -> bool:
        """Whether the beginning of a tag can become one that is counted."""
        name = begun["name"]
        names = (self._state.key, self._tool)
        return name in names if begun["space"] else any(wanted.startswith(name) for wanted in names)


class _Between(Finder[ParamToken]):
    """Finds the next parameter, or the end of the call."""

    def __init__(self, call: OpenCall) -> None:
        self._state: ChildrenState = call.body
        self._tool = call.name

    def find(self, buffer: str, position: int, *, final: bool) -> Hit[ParamToken] | None:
        state = self._state
        while (found := buffer.find("<", position)) >= 0:
            self._pass(buffer[position:found])
            if tag := _TAG.match(buffer, found):
                was_given = tag["name"] in state.given
                if not tag["close"]:
                    return Hit(found, tag.end(), ParamToken.OPEN if state.blank or not was_given else ParamToken.FAULT)
                if tag["name"] == self._tool:
                    return Hit(found, tag.end(), ParamToken.END if state.values or state.blank else ParamToken.FAULT)
                if was_given:
                    return Hit(found, tag.end(), ParamToken.FAULT)
            elif not final and _BEGUN.match(buffer, found):
                return Hit(found, -1, None)
            self._pass("<")
            position = found + 1
        self._pass(buffer[position:])
        return None

    def _pass(self, text: str) -> None:
        self._state.blank = self._state.blank and not text.strip()


_NAME = re.compile(NAME)


def _configured(format_: Format, options: Options) -> Format:
    """Return the format with the tags of the declared tools."""
    names = [name for name in read_tools(options.tools, {}) if len(name) <= NAME_CHARS and _NAME.fullmatch(name)]
    return msgspec.structs.replace(format_, sections=(_section(names),) if names else ())


def _section(tools: Sequence[str]) -> Section:
    return Section(
        open=None,
        close=None,
        calls=(
            Call(
                open=marker("<", ahead=[ahead(f"{name} >") for name in tools]),
                header=Header(until=marker(">"), pattern=rf"(?P<name>{NAME})\s*"),
                body=Children(),
            ),
        ),
        bare="always",
    )


QWEN_WEB_XML = Format(
    name="qwen_web_xml",
    summary="`<TOOL>` elements of declared tools with `<PARAMETER>` children; the first one ends the answer.",
    sample="I'll look it up.\n\n<get_weather>\n<city>Paris</city>\n<days>3</days>\n</get_weather>",
    history=tags_history("<$name>\n$arguments</$name>", "<$key>$value</$key>\n"),
    configured=_configured,
    unknown_tool="text",
    first_call_only=True,
    text_after_calls="drop",
)
