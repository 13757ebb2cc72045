"""What the events of every answer must be, whatever the model wrote.

1. `message-start` comes first and `finish` last, each once.
2. Blocks of text and reasoning never overlap; each has an id of its own, a start, deltas that are not empty, an end.
3. Source and argument deltas belong to an input that is open. An input that was opened ends, and the next events are of
   its id: one `tool-call`, an `error`, or an `error` and then the call that it is about.
4. Ids of calls differ.
5. At most one `limit`. Behind it no input begins and no call comes: an input that is open ends with an `error`.
"""

from collections.abc import Callable, Iterable
from typing import Any

from tokenmill.events import (
    AnyEvent,
    ArgumentDelta,
    Error,
    Event,
    Finish,
    MessageStart,
    Part,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from tokenmill.parser.run.run import Span


class Broken(AssertionError):
    """A promise was broken."""


def check_events(events: Iterable[AnyEvent | Span], *, delta_chars: int, streams_input: bool = True) -> None:
    """All events of one answer, traced or not, are well-formed. Raises `Broken`."""
    answer = Answer(delta_chars, streams_input=streams_input)
    answer.read(events)
    answer.end()


def require(fact: object, saying: str) -> None:
    """Raise `Broken` unless `fact` holds."""
    if not fact:
        raise Broken(saying)


class Answer:
    """The events of one answer, checked in their order. Raises `Broken`."""

    def __init__(self, delta_chars: int, *, streams_input: bool = True) -> None:
        self._delta_chars = delta_chars
        self._streams_input = streams_input
        self._started = self._finished = self._limited = False
        self._block: tuple[str, str] | None = None
        """Kind and id of the open one."""
        self._blocks: set[str] = set()
        self._open: set[str] = set()
        self._inputs: set[str] = set()
        self._settled: set[str] = set()
        """Calls that have had their `tool-call` or `error`."""
        self._ended = self._warned = ""
        """The input that ended with the event before; the call that the event before has a warning about."""

    def copy(self) -> "Answer":
        """What has been read so far, to go on with in another way."""
        other = Answer.__new__(Answer)
        other.__dict__.update(self.__dict__)
        other._blocks, other._open = set(self._blocks), set(self._open)
        other._inputs, other._settled = set(self._inputs), set(self._settled)
        return other

    def read(self, events: Iterable[AnyEvent | Span]) -> None:
        """More events, traced or not."""
        event: Any
        for event in events:
            if type(event) is not Span:
                self._read(event)

    def _read(self, event: Event) -> None:
        if self._finished:  # most events break nothing, and what they would break is not put into words
            raise Broken(f"{event.type} behind finish")
        kind = type(event)
        if not self._started and kind is not MessageStart:
            raise Broken(f"{event.type} before message-start")
        if self._ended:
            outcome = isinstance(event, ToolCall | Error) and event.id == self._ended
            require(outcome, f"{event.type} where the outcome of {self._ended} should be")
            self._ended = ""
        if self._warned in self._inputs:
            outcome = isinstance(event, ToolCall) and event.id == self._warned
            require(outcome, f"{event.type} where call {self._warned} should be")
        _READERS[kind](self, event)
        if kind is not Error:
            self._warned = ""

    def end(self) -> None:
        """No event follows."""
        require(self._finished, "no finish")
        require(not self._open, f"inputs never ended: {sorted(self._open)}")
        require(self._inputs <= self._settled, f"inputs without an outcome: {sorted(self._inputs - self._settled)}")

    def _message_start(self, _event: MessageStart) -> None:
        require(not self._started, "a second message-start")
        self._started = True

    def _block_start(self, event: TextStart | ReasoningStart) -> None:
        require(self._block is None, f"block {event.id} begins inside another")
        require(event.id not in self._blocks, f"block {event.id} begins again")
        self._blocks.add(event.id)
        self._block = ("text" if isinstance(event, TextStart) else "reasoning", event.id)

    def _block_delta(self, event: TextDelta | ReasoningDelta) -> None:
        if self._block != ("text" if isinstance(event, TextDelta) else "reasoning", event.id):
            raise Broken(f"{event.type} outside of its block")
        self._size(event.delta)

    def _block_end(self, event: TextEnd | ReasoningEnd) -> None:
        if self._block != ("text" if isinstance(event, TextEnd) else "reasoning", event.id):
            raise Broken(f"{event.type} outside of its block")
        self._block = None

    def _input_start(self, event: ToolInputStart) -> None:
        require(not self._limited, "an input begins behind the limit")
        require(event.id not in self._inputs | self._settled, f"input {event.id} begins again")
        require(self._block is None, "an input begins inside a block")
        self._inputs.add(event.id)
        self._open.add(event.id)

    def _input_delta(self, event: ToolInputDelta | ArgumentDelta) -> None:
        if event.id not in self._open and self._streams_input:
            raise Broken(f"{event.type} outside of its input")
        self._size(event.delta)

    def _input_end(self, event: ToolInputEnd) -> None:
        require(event.id in self._open, f"input {event.id} ends without a start")
        self._open.discard(event.id)
        self._ended = event.id

    def _tool_call(self, event: ToolCall) -> None:
        require(not self._limited, "a call behind the limit")
        require(event.id not in self._open, f"call {event.id} before its input ended")
        require(event.id in self._inputs or not self._streams_input, f"call {event.id} without input")
        if event.problem:
            require(event.id == self._warned, f"call {event.id} has a problem that no error tells")
        else:
            self._settle(event.id)

    def _error(self, event: Error) -> None:
        if event.code == "limit":
            require(not self._limited, "a second limit")
        self._limited = self._limited or event.code == "limit"
        if isinstance(event.id, str):
            require(event.id not in self._open, f"error of {event.id} before its input ended")
            self._settle(event.id)
            self._warned = event.id if event.code in ("unknown-tool", "schema-mismatch") else ""

    def _part(self, _event: Part) -> None:
        pass

    def _finish(self, _event: Finish) -> None:
        require(self._block is None, "finish inside a block")
        self._finished = True

    def _settle(self, call_id: str) -> None:
        require(call_id not in self._settled, f"a second outcome of {call_id}")
        self._settled.add(call_id)

    def _size(self, delta: str) -> None:
        if not 0 < len(delta) <= self._delta_chars:
            raise Broken(f"a delta of {len(delta)} characters")


_READERS: dict[type[Event], Callable[[Answer, Any], None]] = {
    MessageStart: Answer._message_start,
    TextStart: Answer._block_start,
    TextDelta: Answer._block_delta,
    TextEnd: Answer._block_end,
    ReasoningStart: Answer._block_start,
    ReasoningDelta: Answer._block_delta,
    ReasoningEnd: Answer._block_end,
    ToolInputStart: Answer._input_start,
    ToolInputDelta: Answer._input_delta,
    ArgumentDelta: Answer._input_delta,
    ToolInputEnd: Answer._input_end,
    ToolCall: Answer._tool_call,
    Error: Answer._error,
    Part: Answer._part,
    Finish: Answer._finish,
}
