"""One pass of the JSON reader over a buffer: which part of it is argument source, and what is sent of it."""

import msgspec

from tokenmill.parser.markers import end_of
from tokenmill.parser.run.run import Run, end_growth, grow, send_source
from tokenmill.parser.run.state import JsonState, OpenCall
from tokenmill.parser.values.repair import Spelling, decode_string, whole_escapes

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


class Reading(msgspec.Struct, gc=False):  # faster to create than other objects
    """The context of one `step`; it lives no longer than that. Offsets into the source are `base` + a position."""

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
        """End the string argument that was growing."""
        self._grow(last=True)
        end_growth(self.run, self.call)
        self.state.capture = False

    def pause(self, position: int) -> None:
        """Pause reading: send what was read."""
        if self.region >= 0:
            self._send(position, last=False)
            if self.call.growing is not None:
                self._grow(last=False)

    def send_waiting(self, position: int) -> None:
        """Send the source of the arguments, which came before the name."""
        state = self.state
        source = (self.call.source.text() + self.buffer[self.first : position])[state.begin : state.end]
        send_source(self.run, self.call, decode_string(source[1:-1], state.spelling) if state.stringy else source)

    def _send(self, position: int, *, last: bool) -> None:
        source = self._decoded(last=last) if self.state.stringy else self.buffer[self.region : position]
        send_source(self.run, self.call, source)

    def _grow(self, *, last: bool) -> None:
        assert self.call.growing is not None
        grow(self.run, self.call, self.call.growing.argument, self._decoded(last=last))

    def _decoded(self, *, last: bool) -> str:
        """Return what can be decoded of the raw text captured so far; the rest waits."""
        raw, self.state.text = self.state.text, ""
        return decode_growing(self.state, raw, last=last)
