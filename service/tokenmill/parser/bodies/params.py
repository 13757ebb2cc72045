"""Calls as tagged parameters, `<parameter=KEY>VALUE</parameter>`, or as pairs of tags for key and value.

1. A value is raw text up to its closing marker: there is no escape. See `closings` for what only looks like a closing,
   and for closings that are forgotten.
2. White space at the sides of a value may belong to the layout; `trim` defines how much.
3. Once the call is complete, the tool's schema gives the value its type, else its tag does, else `untyped`. If the
   schema allows several types and the tag marks the value as text, it is text. Only a value that is certain to be text
   is sent as it grows. Where `null` is allowed, too, it waits while it can still be that.
"""

import re
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any, Literal, NamedTuple, TypeAlias

from tokenmill.events import AnyEvent, ArgumentDelta, Encoding, ToolInputDelta
from tokenmill.parser.bodies.closings import DOUBTFUL, TAG_CHARS, Closings, ParamsState, ParamToken, Tags, unclear
from tokenmill.parser.bodies.json_body import as_arguments
from tokenmill.parser.markers import SPACE_CHARS, Finder, Hit, Marker, Scanner, before
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Reader, Run, Verdict, begin_growth, end_growth, grow, send_source, wants
from tokenmill.parser.run.state import OpenCall, State, looked_at
from tokenmill.parser.values.coerce import is_text, read_typed
from tokenmill.parser.values.repair import decode_json

Untyped: TypeAlias = Literal["text", "json"]
"""How a value without any known type is read: as its text, or as JSON if it is valid."""


# White space at the sides of a value that belongs to the layout: how much is trimmed, and which part of a value is
# certain.
#
# What may be trimmed is bounded, so what waits at the end of a growing value is bounded, too.

Trim: TypeAlias = Literal["none", "line", "lines", "breaks", "strip"]
"""What is trimmed: see `Params.trim`."""

STRIP_CHARS = 256
"""Characters that `breaks` and `strip` take from each side: more than any indentation."""


class Layout(NamedTuple):
    """One rule."""

    characters: str | None
    """Characters that are trimmed; None: white space."""
    most: int
    """Maximum at each side."""
    paired: bool = False
    """Whether a value that does not begin with layout does not end with it, either."""

    def leading(self, text: str, most: int) -> int:
        """Return how many of the first characters are layout, of `most` that still may be."""
        return min(len(text) - len(text.lstrip(self.characters)), most)

    def certain(self, text: str) -> str:
        """Return the text without what may be layout at its end."""
        trailing = min(len(text) - len(text.rstrip(self.characters)), self.most)
        return text[: len(text) - trailing]

    def whole(self, text: str) -> str:
        """Return a complete value without its layout."""
        leading = self.leading(text, self.most)
        return text if self.paired and not leading else self.certain(text[leading:])


LAYOUTS: dict[Trim, Layout] = {
    "none": Layout("", 0),
    "line": Layout("\n", 1),
    "lines": Layout("\n", 1, paired=True),
    "breaks": Layout("\n", STRIP_CHARS),
    "strip": Layout(None, STRIP_CHARS),
}


class Params(Tags, frozen=True):
    """Tagged parameters.

    Where there are none, one JSON object with all arguments may stand in their place. Words there show that this is not
    a call, as after an opening that prose mentions.
    """

    key: str = r"\s*(?P<key>.*?)\s*"
    """What a whole tag must look like: a regular expression with the groups `key` and, if any, `type`.

    A parameter without a key is the object of all arguments.
    """
    trim: Trim = "line"
    """How much white space at the sides of a value is layout: `none`; `line`, one new line at each side; `lines`, the
    same, but only if there is one at the start; `breaks`, all new lines; `strip`, all white space."""
    untyped: Untyped = "text"
    """How a value without any known type is read: as its text, or as JSON if it is valid."""
    wire_types: dict[str, str] = {}
    """What each text of the group `type` means: JSON types, separated by spaces; `json` for any."""
    declared: bool = False
    """Whether a call must fit its tool: each parameter once and all required ones; what the tool does not have is left
    out."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """Return the reader of this body."""
        return ParamsReader(self, stops)


class ParamsReader:
    """Reads tagged parameters. Bodies with other kinds of tags build on it."""

    encoding: Encoding = "xml"
    state_type = looked_at(ParamsState)
    passes_text = False
    """Whether words may stand before the first parameter. Otherwise they show that this is not a call."""

    def __init__(self, params: Params, stops: Sequence[Marker]) -> None:
        self._params = params
        self._key = re.compile(params.key, re.DOTALL)
        self._wire_types = {name: frozenset(kinds.split()) for name, kinds in params.wire_types.items()}
        self._untyped = frozenset({"json"} if params.untyped == "json" else ())
        self._layout = LAYOUTS[params.trim]
        inside = [(params.open, ParamToken.OPEN), (params.close, ParamToken.CLOSE), (params.end, ParamToken.END)]
        outside = [(stop, ParamToken.STOP) for stop in stops]
        escapes, self._decode = params.escapes, params.escapes.decoder() if params.escapes else str
        self._closings = Closings(params, self._key, stops)
        self._first = self._closings.first
        self._dangling = re.compile(r"[^<]*</[^<]*" if params.forgets == "never" else r"(?!)")
        self._raw = Scanner([(escapes.raw[1], ParamToken.RAW)] if escapes else [])
        self._between = Scanner([*inside, *outside])
        lined = [(before(params.tag_end, [("\n",)]), ParamToken.LINED)] if params.trim == "line" else []
        self._tag = Scanner([*lined, (params.tag_end, ParamToken.NAMED), inside[0], inside[2], *outside])

    def begin(self, call: OpenCall) -> ParamsState:
        return ParamsState(begin=call.source.size)

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:
        state: ParamsState = call.body
        growing = call.growing
        if growing and (growing.undecided or state.fresh or rules.options.min_delta_chars):
            return None
        if growing and len(state.tail) + len(text) > rules.limits.delta_chars:
            return None
        if state.value < 0 or state.raw or self._first in text:  # else nothing in it can be a marker
            settled = self._settled(call, state, text)
            if settled < len(text):
                if settled < 0:
                    return None
                parser.held, text = text[settled:], text[:settled]
        events: list[AnyEvent] = []
        if growing and (grown := self._certain(state, state.tail + text)):
            events.append(ArgumentDelta(call.id, state.key, grown))
        if text and rules.streams_input and not call.dropped:
            events.append(ToolInputDelta(call.id, text))
        return events

    def _settled(self, call: OpenCall, state: ParamsState, text: str) -> int:
        """Return how much of the text holds no marker, whatever follows; -1 if it must be read with care."""
        if state.value < 0 and _is_blank(call, state):  # its first character decides whether this is a call
            return -1
        scanner = self._scanner(call, state)
        settled = scanner.settled(text) if scanner.first in text else len(text)
        if state.in_tag and settled > 0:
            if len(state.tag) + settled > TAG_CHARS:
                return -1
            state.tag += text[:settled]
        return settled

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        state: ParamsState = call.body
        first, base, verdict = position, call.source.size - position, Verdict.MORE
        if state.value < 0 and not self.passes_text and _is_blank(call, state):
            position, verdict = self._lead(run, buffer, position, state.begin + SPACE_CHARS - base)
        while verdict is Verdict.MORE:
            hit = self._find(run, call, state, buffer, position)
            stop = len(buffer) if hit is None else hit.start
            if state.in_tag:
                room = TAG_CHARS - len(state.tag)
                if stop - position > room:
                    position, verdict = position + room, Verdict.FAILED
                    break
                state.tag += buffer[position:stop]
            elif call.growing:
                self._grow(run, call, state, buffer[position:stop])
            position = stop
            if hit is None or hit.value is None:
                break
            if hit.value in (ParamToken.END, ParamToken.STOP):
                self._close(run, call, state, base + stop)
                state.end = base + stop
                send_source(run, call, buffer[first:stop])
                broken = self._torn(state)
                return hit.end if hit.value is ParamToken.END else stop, Verdict.FAILED if broken else Verdict.DONE
            position = hit.end
            if not self._follow(run, call, state, hit.value, buffer[stop:position], base + stop):
                verdict = Verdict.FAILED
                break
        send_source(run, call, buffer[first:position])
        return position, verdict

    def _lead(self, run: Run, buffer: str, position: int, most: int) -> tuple[int, Verdict]:
        """Read to the body's first character, at most `most`: it is a word's if prose mentioned the opening."""
        while position < len(buffer) and self._between.at(buffer, position, final=run.final) is None:
            if position >= most or not buffer[position].isspace():
                return position, Verdict.MORE if buffer[position] == "{" else Verdict.FAILED
            position += 1
        return position, Verdict.MORE

    def _find(self, run: Run, call: OpenCall, state: ParamsState, buffer: str, position: int) -> Hit[ParamToken] | None:
        """Find the next marker and its meaning, or what to hold."""
        hit = self._scanner(call, state).find(buffer, position, final=run.final)
        if hit is None or hit.value not in DOUBTFUL:
            return hit
        return self._closings.judged(run.rules, call, state, hit, buffer, final=run.final, cut=run.cut)

    def _scanner(self, call: OpenCall, state: ParamsState) -> Finder[ParamToken]:
        """Return the finder of what is live where the body stands."""
        if state.value >= 0:
            return self._raw if state.raw else self._closings.scanner(call)
        return self._tag if state.in_tag else self._between

    def _follow(self, run: Run, call: OpenCall, state: ParamsState, edge: ParamToken, source: str, begin: int) -> bool:
        """Follow a marker that continues the call; False if it breaks it."""
        if edge in (ParamToken.NAMED, ParamToken.LINED):
            state.lined = edge is ParamToken.LINED
            return self._open(run, call, state, begin + len(source))
        if edge is ParamToken.CONTENT:
            if call.growing:
                self._grow(run, call, state, source)
        elif edge in (ParamToken.ESCAPE, ParamToken.RAW):
            self._escape(run, call, state, source)
        elif self._torn(state):
            return False
        else:
            self._close(run, call, state, begin)
            state.in_tag, state.tag = edge is ParamToken.OPEN, ""
        return True

    def _torn(self, state: ParamsState) -> bool:
        """Whether a tag is open that may not be left out: only a whole key without a value may."""
        return state.in_tag and (self._params.paired or not self._dangling.fullmatch(state.tag))

    def _escape(self, run: Run, call: OpenCall, state: ParamsState, source: str) -> None:
        """Follow characters that stand for another, or either end of a raw section."""
        escapes = self._params.escapes
        assert escapes is not None
        if source not in escapes.characters:
            state.raw = not state.raw
        elif call.growing:
            self._grow(run, call, state, escapes.characters[source])

    def _open(self, run: Run, call: OpenCall, state: ParamsState, begin: int) -> bool:
        """Open the value of a complete tag at `begin`. False if it is not a tag."""
        found = self._key.fullmatch(state.tag)
        if found is None:
            return False
        state.in_tag, state.wire_type = False, found.groupdict().get("type") or ""
        state.key = unescape(found["key"] or "") if self._params.unescape else found["key"]
        state.value, state.led, state.calls, state.within = begin, False, 0, 0
        state.given[state.key] = True
        if wants(run, call, state.key) and self._takes(run.rules, call.name, state.key):
            begin_growth(call, state.key, is_text(self._types(run.rules, call, state.key, state.wire_type)))
            state.fresh = self._layout.most
        return True

    def _takes(self, rules: Rules, tool: str, key: str) -> bool:
        """Whether a parameter is certain to be among the arguments."""
        return bool(key) and not may_wrap(rules, tool, key) and (not self._params.declared or rules.takes(tool, key))

    def _types(self, rules: Rules, call: OpenCall, key: str, wire_type: str) -> frozenset[str]:
        """Return the JSON types that a value may have: by the schema, else by its tag, else by the format.

        If the schema allows `string` among others and the tag marks the value as text, only `string` and `null` remain.
        """
        types, tagged = rules.types(call.name, key), self._wire_types.get(wire_type, self._untyped)
        return types & {"string", "null"} if tagged == {"string"} and "string" in types else types or tagged

    def _certain(self, state: ParamsState, text: str) -> str:
        """Return the part of a value's text that can't be layout at its end; the rest waits in `tail`."""
        kept = text if state.verbatim else self._layout.certain(text)
        state.tail = text[len(kept) :]
        return kept

    def _grow(self, run: Run, call: OpenCall, state: ParamsState, text: str) -> None:
        """Send more of a value that is sent as it grows."""
        if state.fresh:
            layout = self._layout.leading(text, state.fresh)
            state.verbatim = self._layout.paired and bool(text) and not layout
            text = text[layout:]
            state.fresh = 0 if text else state.fresh - layout
        grow(run, call, state.key, self._certain(state, state.tail + text))

    def _close(self, run: Run, call: OpenCall, state: ParamsState, end: int) -> None:
        """Close the open value, if any, at `end`."""
        if state.value < 0:
            return
        end_growth(run, call)
        state.values.append((state.key, state.wire_type, state.value, end))
        state.value, state.tail, state.fresh, state.verbatim = -1, "", 0, False

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        state: ParamsState = call.body
        source = call.source.text()
        if unclear(state):
            raise ValueError("there is no telling where its values end")
        if not state.values:
            arguments, repaired = read_object(source[state.begin : state.end].strip() if state.end >= 0 else "")
            return fitting(run.rules, call.name, arguments) if self._params.declared else arguments, repaired
        read = {
            key: read_typed(
                self._decode(self._layout.whole(source[begin:end])), self._types(run.rules, call, key, wire_type)
            )
            for key, wire_type, begin, end in state.values
        }
        arguments, repaired = unwrapped(run.rules, call.name, {key: value for key, (value, _) in read.items()})
        if self._params.declared:
            arguments = fitting(run.rules, call.name, arguments, len(state.values) - len(read))
        return arguments, repaired or any(repaired for _, repaired in read.values())


def _is_blank(call: OpenCall, state: ParamsState) -> bool:
    """Whether nothing of the body but white space has come yet."""
    if state.in_tag or state.values or call.source.size > state.begin + SPACE_CHARS:
        return False
    return call.source.size == state.begin or call.source.text()[state.begin :].isspace()


# Tagged parameters against the tool: arguments one level too deep, as JSON instead, unknown, missing or repeated.

WRAPPERS = frozenset({"arguments", "input", "parameters", "properties"})
"""Names that models give to a single parameter that holds all arguments."""


def may_wrap(rules: Rules, tool: str, key: str) -> bool:
    """Whether a parameter is not the tool's own and may hold all of its arguments."""
    own = rules.parameters(tool)
    return key in WRAPPERS and bool(own) and key not in own


def unwrapped(rules: Rules, tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the arguments, or those in a parameter without a name or in one whose content the tool knows completely.

    Also return whether its content had to be repaired. Raises `ValueError` if a nameless parameter holds no arguments.
    """
    key = next(iter(arguments), "") if "" not in arguments else ""
    if key not in arguments or (key and (len(arguments) > 1 or not may_wrap(rules, tool, key))):
        return arguments, False
    value = arguments[key]
    inner, repaired = read_typed(value, {"object"}) if isinstance(value, str) else (value, False)
    if not key and (len(arguments) > 1 or not isinstance(inner, dict)):
        raise ValueError("a parameter has no name")
    if key and not (isinstance(inner, Mapping) and inner.keys() <= rules.parameters(tool)):
        return arguments, False
    return dict(inner), repaired


def read_object(text: str) -> tuple[dict[str, Any], bool]:
    """Return the arguments of a call without parameters: the JSON object in their place, or none.

    Raises `ValueError` if what begins like an object can't be read as one.
    """
    if not text.lstrip().startswith("{"):
        return {}, False
    value, repaired = decode_json(text)
    return as_arguments(value), repaired


def fitting(rules: Rules, tool: str, arguments: dict[str, Any], repeated: int = 0) -> dict[str, Any]:
    """Return the arguments that the tool has. Raises `ValueError` if one is repeated or a required one is missing."""
    if repeated:
        raise ValueError("a parameter is repeated")
    if missing := sorted(rules.required(tool) - arguments.keys()):
        raise ValueError(f"required parameters are missing: {', '.join(missing)}")
    return {key: value for key, value in arguments.items() if rules.takes(tool, key)}
