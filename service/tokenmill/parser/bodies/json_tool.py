"""A call in text that is JSON, all of which is its source; the option `json_profile` says how it is read.

1. It ends where its first bracket is closed. Of several calls in it the first counts.
2. Its source is sent from where its name is known: at once where a name stands where the profile expects the first one,
   else at the end.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tokenmill.events import AnyEvent, Encoding, ToolInputDelta
from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies.base import Reader
from tokenmill.parser.bodies.json_profiles import PROFILE_OF, PROFILES, Found, Profile, object_of
from tokenmill.parser.bodies.json_scan import JsonScan, Token
from tokenmill.parser.markers import Marker, Scanner
from tokenmill.parser.options import Options
from tokenmill.parser.run.calls import Verdict, begin, send_source
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.run.run import Run
from tokenmill.parser.run.state import JsonState, OpenCall, State
from tokenmill.parser.values.repair import decode_json

HEAD_CHARS = 4 * NAME_CHARS
"""The beginning of a text in which its name is looked for."""

_VERDICTS = {Token.END: Verdict.DONE, Token.BAD: Verdict.FAILED}
_NAMELESS = "this is not where the profile has a call"


class WholeJsonState(msgspec.Struct, array_like=True, gc=False):
    """Where a call stands whose whole JSON is its source."""

    json: JsonState
    head: str = ""
    """Its beginning, as long as no name was found in it."""
    searched: bool = False
    """Its beginning has no name, or had it."""


class JsonTool(msgspec.Struct, frozen=True):
    """A JSON text that is a call."""

    def compile(self, stops: Sequence[Marker]) -> Reader:  # noqa: ARG002 -- brackets end it
        """The reader of this body."""
        return _JsonToolReader()


def profile_of(options: Options) -> Profile:
    """How JSON is read: as the option says, else as the provider's models write it."""
    return PROFILES[options.json_profile or PROFILE_OF.get(options.provider.lower(), "default")]


class _JsonToolReader:
    encoding: Encoding = "text"
    state_type = WholeJsonState

    def __init__(self) -> None:
        self._scan = JsonScan(0, Scanner([]))

    def begin(self, call: OpenCall) -> WholeJsonState:  # noqa: ARG002 -- other bodies note where they begin
        return WholeJsonState(JsonState())

    def quick(self, rules: Rules, parser: State, call: OpenCall, text: str) -> list[AnyEvent] | None:  # noqa: ARG002 -- other bodies hold text
        state: WholeJsonState = call.body
        json = state.json
        if not (call.begun or state.searched) or not self._scan.stays(json, text):
            return None
        return [ToolInputDelta(call.id, text)] if call.begun and rules.streams_input and not call.dropped else []

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        state = call.body
        assert isinstance(state, WholeJsonState)
        first, known = position, call.begun
        while True:
            position, token = self._scan.step(state.json, buffer, position)
            if token != Token.BEGIN:
                break
        text = buffer[first:position]
        if not known:
            size = call.source.size
            verdict, end = self._name(run, call, state, text, whole=token == Token.END)
            if verdict is not Verdict.MORE:
                return first + end - size, verdict
            text = call.source.text() + text if call.begun else ""
        send_source(run, call, text)
        return position, _VERDICTS.get(token, Verdict.MORE)

    def _name(self, run: Run, call: OpenCall, state: WholeJsonState, text: str, *, whole: bool) -> tuple[Verdict, int]:
        """Look for the name in what there is; with it comes the offset in the source up to which it was looked for."""
        profile, name, end = profile_of(run.rules.options), "", call.source.size + len(text)
        if not state.searched:
            state.head += text[: HEAD_CHARS - len(state.head)]
            found = profile.head.match(state.head)
            name, end = (found["name"], found.end()) if found else ("", end)
            state.searched = bool(name) or len(state.head) == HEAD_CHARS
        if not name and whole:
            try:
                name = _call(profile, call.source.text() + text)[0][0]
            except ValueError:
                return Verdict.FAILED, end
        if not name:
            return Verdict.MORE, end
        state.head = ""
        if len(name) > NAME_CHARS:
            return Verdict.FAILED, end
        return begin(run, call, name, "", self.encoding, attributes={"type": "tool_call"}), end

    def result(self, run: Run, call: OpenCall) -> tuple[dict[str, Any], bool]:
        (name, arguments), repaired = _call(profile_of(run.rules.options), call.source.text())
        if name != call.name:
            raise ValueError(f"the call names {call.name!r:.100}, then {name!r:.100}")
        return object_of(arguments), repaired


def _call(profile: Profile, source: str) -> tuple[Found, bool]:
    """The first call of a JSON text, and whether it had to be repaired. Raises `ValueError` if there is none."""
    value, repaired = decode_json(source)
    call = next(profile.calls(value), None)
    if call is None:
        raise ValueError(_NAMELESS)
    return call, repaired
