"""Calls as JSON: one object with name and arguments (`JsonCall`), or the arguments alone (`JsonArguments`).

1. Only keys of the outermost object are the call's own: an argument called `name` does not name the tool.
2. Keys may come in any order. Source that arrives before the name waits for it.
3. Arguments that are a string holding JSON are unwrapped: their source is the string's content.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from tokenmill.events import AnyEvent, ArgumentDelta, Encoding, ToolInputDelta
from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies.json_scan import JsonScan, Phase, Token
from tokenmill.parser.markers import Marker, Scanner, end_of, has_only
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Reader, Run, Verdict, begin, end_growth, grow, send_source, wants
from tokenmill.parser.run.state import JsonState, OpenCall, State
from tokenmill.parser.values.repair import Spelling, decode_json, decode_string, whole_escapes

ARGUMENTS = ("arguments", "parameters", "args", "input")
"""The keys under which models write the arguments of a call, whatever the format prescribes."""

_LIST_SIGNS = frozenset("[,")
"""What stands before an object in a list. A broken object is read to its end, since others may follow."""

_JSON = "[]{},: \n"
"""Characters that JSON uses, too: a marker made only of these can't end it."""


_IN_JSON = whole_escapes({"u": 4})
_IN_PYTHON = whole_escapes({"u": 4, "x": 2, "U": 8})


def decode_growing(state: JsonState, raw: str, *, last: bool = False) -> str:
    """Return the text of more string content, as far as it is certain; half an escape at its end waits in `tail`, or
    is decoded as it is if it is the `last`.
    """
    raw = state.tail + raw
    end = len(raw) if last else certain(raw, state.spelling)
    state.tail = raw[end:]
    return decode_string(raw[:end], state.spelling)


def certain(raw: str, spelling: int = Spelling.JSON) -> int:
    """Return how much of a string's content can be decoded whatever follows."""
    return end_of(_IN_PYTHON if spelling == Spelling.PYTHON else _IN_JSON, raw)


class JsonCall(msgspec.Struct, frozen=True):
    """One object with the tool's name and the arguments as values of its keys."""

    name: tuple[str, ...] = ("name",)
    """Keys that may have the tool's name."""
    arguments: tuple[str, ...] = ("arguments", "parameters")
    """Keys that may have the arguments."""
    id: tuple[str, ...] = ()
    """Keys that may have the call's own id."""
    typed: bool = False
    """Whether values written as strings are read as the schema wants them. Otherwise JSON values keep their type."""
    required: bool = False
    """Whether an object without arguments, or with `null` for them, is not a call."""
    closed: bool = False
    """Whether a marker that is not JSON closes its section: the source of a broken object ends there."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """Return the reader of this body."""
        return JsonReader(self, stops)


class JsonArguments(msgspec.Struct, frozen=True):
    """The object of arguments itself; the name came before it."""

    optional: bool = False
    """Whether nothing at all, where the call is closed, stands for no arguments."""
    close: Marker | None = None
    """Closes the call where its arguments may be missing: framing of the section, as after arguments."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """Return the reader of this body."""
        closes = [self.close] if self.close else []
        return JsonReader(None, [*stops, *closes], optional=self.optional)


class Reading(msgspec.Struct, gc=False):  # faster to create than other objects
    """One pass over a buffer: which part of it is argument source, and what is sent of it. Offsets into the source are
    `base` + a position.
    """

    run: Run
    call: OpenCall
    state: JsonState
    buffer: str
    first: int
    """Where this pass began."""
    base: int
    region: int
    """Where the unsent argument source begins; -1 outside the arguments."""

    @classmethod
    def of(cls, run: Run, call: OpenCall, buffer: str, position: int) -> "Reading":
        """Return the context at a position."""
        state: JsonState = call.body
        region = position if state.begin >= 0 > state.end else -1
        return cls(run, call, state, buffer, position, call.source.size - position, region)

    def begin_arguments(self, position: int, *, stringy: bool) -> None:
        """Begin the value of the arguments; `stringy` if it is a string that holds JSON."""
        self.state.begin = self.base + position
        self.state.stringy = self.state.capture = stringy
        self.state.text = ""
        self.state.sending = self.call.begun and not self.call.dropped and self.run.rules.streams_input
        self.region = position

    def end_arguments(self, position: int) -> None:
        """End the value of the arguments."""
        self.state.end = self.base + position
        self.state.sending = False
        self._send(position, last=True)
        self.state.capture = False
        self.region = -1

    def end_growth(self) -> None:
        """End the string argument that grows, if any."""
        if self.call.growing is not None:
            grow(self.run, self.call, self.call.growing.argument, self._decoded(last=True))
            end_growth(self.run, self.call)
            self.state.capture = False

    def pause(self, position: int) -> None:
        """Pause reading: send what was read."""
        if self.region >= 0:
            self._send(position, last=False)
            if self.call.growing is not None:
                grow(self.run, self.call, self.call.growing.argument, self._decoded(last=False))

    def _send(self, position: int, *, last: bool) -> None:
        source = self._decoded(last=last) if self.state.stringy else self.buffer[self.region : position]
        send_source(self.run, self.call, source)

    def _decoded(self, *, last: bool) -> str:
        """Return what can be decoded of the raw text captured so far; the rest waits."""
        raw, self.state.text = self.state.text, ""
        return decode_growing(self.state, raw, last=last)


class JsonReader:
    """Reads a JSON text whose outermost object is the call, or, without `keys`, the arguments."""

    encoding: Encoding = "json"
    state_type = JsonState

    def __init__(self, keys: JsonCall | None, stops: Sequence[Marker], *, optional: bool = False) -> None:
        self._keys = keys
        self._optional = optional
        self._level = 0 if keys is None else 1
        self._stops: Scanner[None] = Scanner([(stop, None) for stop in stops if not has_only(stop, _JSON)])
        self._shallow = JsonScan(self._level, self._stops)
        self._watching = JsonScan(self._level + 1, self._stops)

    def begin(self, call: OpenCall) -> JsonState:  # noqa: ARG002 # other bodies note where they begin
        return JsonState()

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:
        state: JsonState = call.body
        if state.capture:
            return self._quick_captured(rules, call, state, text)
        quote = state.quote
        if not quote or quote in text or text[-1] == "\\" or state.escaped or (quote == "\n" and "\r" in text):
            scan = self._watching if rules.watches_arguments else self._shallow
            if not scan.stays(state, text):
                return self._quick_end(parser, state, text)
        return [ToolInputDelta(call.id, text)] if state.sending else []

    def _quick_end(self, parser: State, state: JsonState, text: str) -> list[AnyEvent] | None:  # noqa: ARG002 -- other bodies hold text
        """Return the events of a chunk that is more than content; None if it must be read with care."""
        return None

    def _quick_captured(self, rules: Rules, call: OpenCall, state: JsonState, text: str) -> list[AnyEvent] | None:
        """Return the events of more of a string that is decoded as it grows; keys and names are read with care."""
        growing, limits = call.growing, rules.limits
        if growing is None and not (state.stringy and state.end < 0):
            return None
        if (growing and rules.options.min_delta_chars) or len(state.tail) + len(text) > limits.delta_chars:
            return None
        if (state.quote in text or "\\" in text or state.escaped) and not self._watching.stays(state, text):
            return None
        decoded = decode_growing(state, text) if state.tail or "\\" in text else text
        events: list[AnyEvent] = []
        if state.sending and (source := text if growing else decoded):
            events.append(ToolInputDelta(call.id, source))
        if growing and decoded:
            events.append(ArgumentDelta(call.id, growing.argument, decoded))
        return events

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        reading = Reading.of(run, call, buffer, position)
        scan = self._watching if run.rules.watches_arguments else self._shallow
        passed = -1
        while True:
            position, token = scan.step(reading.state, buffer, position, passed)
            if token == Token.WATCHED:
                hit = self._stops.at(buffer, position, final=run.final)
                if hit is None:
                    passed = position
                    continue
                empty = self._optional and reading.state.phase == Phase.VALUE and not reading.state.stack
                verdict = Verdict.MORE if hit.end < 0 else Verdict.DONE if empty else Verdict.FAILED
            elif token in (Token.MORE, Token.BAD):
                verdict = Verdict.MORE if token == Token.MORE else Verdict.FAILED
            else:
                verdict = self._token(reading, token, position)
                if verdict is Verdict.MORE:
                    continue
                position += token == Token.BEGIN  # the bracket of a wrong value does not begin another call
            reading.pause(position)
            return position, verdict

    def _token(self, reading: Reading, token: int, position: int) -> Verdict:
        state = reading.state
        level = len(state.stack)
        if token == Token.KEY:
            return self._key(reading, level, position)
        if token == Token.BEGIN:
            return self._value(reading, level, position)
        if level == 0:
            return self._whole(reading, position)
        if level == 1 and self._level == 1:
            return self._end(reading, position)
        reading.end_growth()
        return Verdict.MORE

    def _whole(self, reading: Reading, position: int) -> Verdict:
        """Judge the complete JSON text."""
        if self._keys is None:
            reading.end_arguments(position)
        elif reading.state.name is not None and not reading.call.begun:
            verdict = self._named(reading, position)
            return Verdict.DONE if verdict is Verdict.MORE else verdict
        return Verdict.DONE

    def _key(self, reading: Reading, level: int, position: int) -> Verdict:  # noqa: ARG002 -- keyed calls need it
        state = reading.state
        key = decode_string(state.text, state.spelling)
        state.capture, state.text = False, ""
        if level == self._level + 1:
            state.argument = key
        else:
            state.key = key
        return Verdict.MORE

    def _value(self, reading: Reading, level: int, position: int) -> Verdict:
        state, first = reading.state, reading.buffer[position]
        if level == 0:
            if first != "{":
                return Verdict.FAILED
            state.root = reading.base + position
            state.strict = self._keys is None or (
                self._keys.closed and _LIST_SIGNS.isdisjoint(reading.call.source.text())
            )
        if level == self._level and (self._keys is None or state.key in self._keys.arguments):
            if state.begin >= 0:  # a second value: it is unclear which of them is meant
                return Verdict.FAILED
            reading.begin_arguments(position, stringy=first in "\"'")
        elif level == 1 and self._keys is not None:
            if state.key in self._keys.name and first not in "\"'":
                return Verdict.FAILED
            state.capture = state.key in self._keys.name or (state.key in self._keys.id and first not in "{[")
        elif level == self._level + 1 and state.begin >= 0 > state.end and first in "\"'":
            state.capture = wants(reading.run, reading.call, state.argument) and self._is_text(reading)
            if state.capture:
                grow(reading.run, reading.call, state.argument, "")
        return Verdict.MORE

    def _is_text(self, reading: Reading) -> bool:
        """Whether a string stays one in the arguments, too."""
        typed = self._keys is not None and self._keys.typed
        return not typed or reading.run.rules.allows_text(reading.call.name, reading.state.argument)

    def _end(self, reading: Reading, position: int) -> Verdict:
        """Follow the end of a value of the call object."""
        state, keys = reading.state, self._keys
        assert keys is not None
        if state.key in keys.arguments:
            reading.end_arguments(position)
        elif state.capture:
            text, state.capture, state.text = decode_string(state.text, state.spelling), False, ""
            if state.key in keys.name:
                if state.name not in (None, text):  # it is unclear which of them is meant
                    return Verdict.FAILED
                state.name = text
            elif state.key in keys.id and state.id is None:
                state.id = text
            if state.name is not None and not reading.call.begun and (state.id is not None or not keys.id):
                return self._named(reading, position)
        return Verdict.MORE

    def _named(self, reading: Reading, position: int) -> Verdict:
        state, call = reading.state, reading.call
        assert state.name is not None
        if not state.name or len(state.name) > NAME_CHARS:
            return Verdict.FAILED
        verdict = begin(reading.run, call, state.name, (state.id or "")[:NAME_CHARS], self.encoding)
        if verdict is Verdict.MORE and state.begin >= 0:  # the arguments came before the name
            source = (call.source.text() + reading.buffer[reading.first : position])[state.begin : state.end]
            send_source(reading.run, call, decode_string(source[1:-1], state.spelling) if state.stringy else source)
        return verdict

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        state: JsonState = call.body
        if state.phase == Phase.VALUE and not state.stack:
            return {}, False
        value, repaired = decode_json(call.source.text()[state.root :], growing=True)
        if self._keys is None:
            return as_arguments(value), repaired
        if not isinstance(value, dict):
            raise ValueError("a call is a JSON object")  # noqa: TRY004 # the source is wrong, not a type
        arguments = next((value[key] for key in self._keys.arguments if key in value), None)
        if isinstance(arguments, str):
            arguments, again = decode_json(arguments) if arguments.strip() else (None, False)
            repaired = repaired or again
        if not call.begun:
            raise ValueError("the call names no tool")
        if self._keys.required and arguments is None:
            raise ValueError("the call has no arguments")
        check_arguments(value, self._keys, run.rules.parameters(call.name))
        read = as_arguments(arguments)
        if self._keys.typed:
            read, changed = run.rules.coerced(call.name, read)
            repaired = repaired or changed
        return read, repaired


def check_arguments(
    call: Mapping[str, Any], keys: JsonCall, parameters: Collection[str], *, objects: bool = True
) -> None:
    """Raise `ValueError` for a call whose arguments are not where they should be: it would be run without any.

    They may stand in the call itself, as `parameters` of its tool; or, with `objects`, in an object under another key.
    """
    if any(key in call for key in keys.arguments):
        return
    others = [(key, value) for key, value in call.items() if key not in keys.name and key not in keys.id]
    if any(
        value is not None if key in ARGUMENTS else key in parameters or (objects and value and isinstance(value, dict))
        for key, value in others
    ):
        raise ValueError("the arguments are called otherwise")


def as_arguments(value: Any) -> dict[str, Any]:
    """Return the value as arguments: no value means no arguments, else it must be an object. Raises `ValueError`."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("the arguments are no JSON object")  # noqa: TRY004 # as above
    return value


class JsonKeyed(msgspec.Struct, frozen=True):
    """One object whose only key names the tool: `{"NAME": {arguments}}`."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """Return the reader of this body."""
        return _KeyedReader(stops)


class _KeyedReader(JsonReader):
    def __init__(self, stops: Sequence[Marker]) -> None:
        super().__init__(JsonCall(), stops)

    def _key(self, reading: Reading, level: int, position: int) -> Verdict:
        super()._key(reading, level, position)
        state = reading.state
        if level != 1:
            return Verdict.MORE
        if state.name is not None:
            return Verdict.FAILED
        state.name = state.key
        return self._named(reading, position)

    def _value(self, reading: Reading, level: int, position: int) -> Verdict:
        if level != 1:
            return super()._value(reading, level, position)
        if reading.buffer[position] != "{" or reading.state.begin >= 0:
            return Verdict.FAILED
        reading.begin_arguments(position, stringy=False)
        return Verdict.MORE

    def _end(self, reading: Reading, position: int) -> Verdict:
        reading.end_arguments(position)
        return Verdict.MORE

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:  # noqa: ARG002 -- needs no tools
        state: JsonState = call.body
        if not call.begun:
            raise ValueError("the call names no tool")
        value, repaired = decode_json(call.source.text()[state.root :], growing=True)
        return as_arguments(next(iter(value.values()), None) if isinstance(value, dict) else value), repaired
