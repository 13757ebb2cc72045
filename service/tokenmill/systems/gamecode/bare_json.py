"""JSON objects with a tool and its parameters, anywhere in prose and without any marker.

Anything between two calls is text, even a single line break. Without a list of tools any name is a tool's.

Calls as JSON objects in running text that contain a tool's name and its parameters: `{"tool": …, "params": …}`.

1. Any object may be a call, in whatever order its keys come; other keys are ignored. It is a call once both are known:
   then its whole source is sent. Before that it becomes text as soon as it can't be one: at the first character that is
   not JSON, at a tool that is not a name, at its end without both keys, or where it grows too long.
2. It is strict JSON. Anything that is only nearly JSON is an example in prose, or a sketch, and stays text.
3. The parameters are any JSON value. Arguments are an object: null becomes an empty one, and any other value is the
   only argument, under the key's own name.
4. Cut off after the tool's name it is an unfinished call, cut off before it is text.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from tokenmill.events import AnyEvent, Encoding, ToolInputDelta
from tokenmill.formats.notations import json_history
from tokenmill.limits import KIB, NAME_CHARS
from tokenmill.parser.bodies.json_scan import Token
from tokenmill.parser.markers import LEADING_SPACE, Marker, marker
from tokenmill.parser.modes.strict_scan import scan, stays_in_string
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Reader, Run, Verdict, begin, send_source
from tokenmill.parser.run.state import JsonState, OpenCall, State
from tokenmill.parser.spec import Call, Format, Section
from tokenmill.parser.values.repair import decode_string

OPEN_CHARS = 16 * KIB
"""Characters of an object before it is a call: parameters before the name are short, and files are not held back."""

_NAME = re.compile(r"[\w.:/-]+")


class ToolObject(msgspec.Struct, frozen=True):
    """One object with the tool's name and its parameters as values of two of its keys."""

    def compile(self, stops: Sequence[Marker]) -> Reader:  # noqa: ARG002 -- strict JSON ends by itself
        """Return the reader of this body."""
        return _ToolObjectReader()


class _ToolObjectReader:
    encoding: Encoding = "text"
    state_type = JsonState

    def begin(self, call: OpenCall) -> JsonState:
        call.doubtful = True
        return JsonState()

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:  # noqa: ARG002 -- other bodies hold text
        state: JsonState = call.body
        if not call.begun or not stays_in_string(state, text):
            return None
        return [ToolInputDelta(call.id, text)] if rules.streams_input and not call.dropped else []

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        if _has_begun(call):
            return self._read(run, call, buffer, position)
        room = OPEN_CHARS - call.source.size
        read, verdict = self._read(run, call, buffer[position : position + room], 0)
        stop = position + read
        if verdict is Verdict.MORE and read == room:
            # it may have become a call in the meantime: the rest is read as such
            return self._read(run, call, buffer, stop) if _has_begun(call) else (stop, Verdict.TEXT)
        return stop, verdict

    def _read(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        state: JsonState = call.body
        first, was_begun = position, call.begun
        verdict = Verdict.MORE
        while verdict is Verdict.MORE:
            position, token = scan(state, buffer, position)
            if token == Token.MORE:
                break
            verdict = self._token(run, call, state, token, buffer[position : position + 1])
        if call.begun:
            send_source(run, call, ("" if was_begun else call.source.text()) + buffer[first:position])
        return position, verdict

    def _token(self, run: Run, call: OpenCall, state: JsonState, token: int, sign: str) -> Verdict:
        if token == Token.KEY:
            state.key, state.capture, state.text = decode_string(state.text), False, ""
        elif token == Token.BEGIN:
            return self._value(run, call, state, sign)
        elif token == Token.END and state.capture:
            state.name, state.capture, state.text = decode_string(state.text), False, ""
            if len(state.name) > NAME_CHARS or not _NAME.fullmatch(state.name):
                return Verdict.TEXT
            call.doubtful = False
            return self._known(run, call, state)
        elif token == Token.WHOLE:
            return Verdict.DONE if call.begun else Verdict.TEXT
        elif token == Token.BAD:
            return Verdict.FAILED if call.begun else Verdict.TEXT
        return Verdict.MORE

    def _value(self, run: Run, call: OpenCall, state: JsonState, sign: str) -> Verdict:
        if state.key == "tool":
            if sign != '"' or state.name is not None:
                return Verdict.FAILED if call.begun else Verdict.TEXT
            state.capture, state.text = True, ""
        elif state.key == "params":
            state.begin = 0
            return self._known(run, call, state)
        return Verdict.MORE

    def _known(self, run: Run, call: OpenCall, state: JsonState) -> Verdict:
        """Handle the name or the parameters: with both it is a call."""
        if call.begun or state.name is None or state.begin < 0:
            return Verdict.MORE
        return begin(run, call, state.name, "", self.encoding)

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:  # noqa: ARG002 -- needs no tools
        try:
            whole = msgspec.json.decode(call.source.text(), type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as problem:
            raise ValueError(f"the call is no JSON: {problem}") from problem
        value = whole["params"]
        if value is None:
            return {}, False
        return (value if isinstance(value, dict) else {"params": value}), False


def _has_begun(call: OpenCall) -> bool:
    return call.begun


BARE_JSON = Format(
    name="bare_json",
    summary='Objects `{"tool": …, "params": …}` anywhere in running text; other JSON stays text.',
    sample='I\'ll look it up.\n{"tool": "get_weather", "params": {"city": "Paris", "days": 3}}',
    history=json_history('{"tool": $quoted, "params": $arguments}'),
    sections=(
        Section(
            open=None,
            close=None,
            calls=(Call(open=marker("{", ahead=[(LEADING_SPACE, '"')]), body=ToolObject()),),
            bare="alone",
        ),
    ),
)
