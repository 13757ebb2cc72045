"""One JSON object per call, in exactly these tags; without the closing tag there is no call.

For models that learn from the prompt how to call: they have no reasoning layer of their own, and what differs from the
prompt's form is text.

Calls as JSON objects that are complete only with the marker that closes them.

The object alone is not enough: a stream that is cut between it and its marker may have been cut for a reason. Only
white space may stand between the two.
"""

import re
from collections.abc import Sequence

import msgspec

from tokenmill.formats.notations import NAME_PARAMETERS, json_history
from tokenmill.parser.bodies.json_body import JsonCall, JsonReader
from tokenmill.parser.bodies.json_scan import Phase
from tokenmill.parser.markers import Marker, Scanner, marker
from tokenmill.parser.run.run import Reader, Run, Verdict
from tokenmill.parser.run.state import JsonState, OpenCall
from tokenmill.parser.spec import Call, Format, Section

_SPACE = re.compile(r"\s*+")


class ClosedJsonCall(msgspec.Struct, frozen=True):
    """One object with the tool's name and the arguments, followed by the section's close."""

    def compile(self, stops: Sequence[Marker]) -> Reader:
        """Return the reader of this body; the first of the `stops` is the section's close."""
        return _ClosedReader(stops)


class _ClosedReader(JsonReader):
    def __init__(self, stops: Sequence[Marker]) -> None:
        super().__init__(JsonCall(), stops)
        self._close = Scanner([(stops[0], None)])

    def step(self, run: Run, call: OpenCall, buffer: str, position: int) -> tuple[int, Verdict]:
        """Read the object, then on to the close."""
        if not _is_whole(call):
            position, verdict = super().step(run, call, buffer, position)
            if verdict is not Verdict.DONE:
                return position, verdict
        space = _SPACE.match(buffer, position)
        assert space is not None  # the pattern matches the empty string, too
        position = space.end()
        if position == len(buffer):
            return position, Verdict.MORE
        hit = self._close.at(buffer, position, final=False)
        if hit is None:
            return position, Verdict.FAILED
        if hit.end < 0:
            return len(buffer) if run.final else position, Verdict.MORE
        return position, Verdict.DONE


def _is_whole(call: OpenCall) -> bool:
    state: JsonState = call.body
    return state.phase == Phase.AFTER and not state.stack


TOOL_CALL_JSON = Format(
    name="tool_call_json",
    summary="One JSON object with name and parameters in each `<tool_call>` pair, which must be closed.",
    sample=(
        "I'll look it up.\n"
        '<tool_call>\n{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}\n</tool_call>'
    ),
    history=json_history(f"<tool_call>\n{NAME_PARAMETERS}\n</tool_call>"),
    sections=(
        Section(
            open=marker("<tool_call>"),
            close=marker("</tool_call>"),
            calls=(Call(open=marker("{"), body=ClosedJsonCall()),),
            again="nothing",
        ),
    ),
)
