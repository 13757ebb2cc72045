"""What a dialect is: the last step of the flow, from a native event to the payloads that a client reads."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import msgspec

from tokenmill.events import Error, Event, FinishReason, MessageStart, Problem, Request
from tokenmill.limits import PAYLOAD_BYTES

Payloads: TypeAlias = list[bytes]

Path: TypeAlias = tuple[str | int, ...]
"""A place in a payload: names of members and numbers of elements."""

FAILURES: frozenset[FinishReason] = frozenset({"error", "timeout"})
"""Reasons of answers that are not the model's complete output."""

_WITH_CALL = frozenset(get_args(Problem))

_NOTHING_ASKED = Request()
_UNSAID = MessageStart("", "")

_encode = msgspec.json.Encoder().encode

Made = TypeVar("Made")


class Envelope:
    """Common data of all events of one message and choice, with the constants made once.

    All of it comes from the native events: the ids are in each, the rest is in `message-start`, whose time is
    `created`. So a dialect writes the same wherever its events come from.
    """

    __slots__ = (
        "_made",
        "choice",
        "conversation_id",
        "created",
        "format",
        "message_id",
        "model",
        "native",
        "payload_bytes",
        "request",
    )

    def __init__(
        self,
        conversation_id: str,
        message_id: str,
        choice: int,
        created: int,
        start: MessageStart = _UNSAID,
    ) -> None:
        """`start` is the first event of the message, if it is known."""
        self.conversation_id = conversation_id
        self.message_id = message_id
        self.choice = choice
        self.created = created
        """Milliseconds since the epoch: timestamp of the record that opened the message."""
        self.model = start.model
        self.format = start.format
        self.request = start.request or _NOTHING_ASKED
        """What the message asks of dialects."""
        self.payload_bytes = self.request.payload_bytes or PAYLOAD_BYTES
        """Maximum bytes of a payload."""
        self._made: dict[str, Any] | None = None
        self.native = _native_fields(conversation_id, message_id, choice)
        """The envelope's constant fields as written in a JSON object of the native dialect."""

    @property
    def choice_id(self) -> str:
        """Id of this choice, where each is an answer of its own: the first one's is that of the message."""
        return f"{self.message_id}-{self.choice}" if self.choice else self.message_id

    def streams_input(self, *, by_itself: bool) -> bool:
        """Whether a client gets tool input as it arrives: as the message sets it, else as its dialect does."""
        asked = self.request.stream_tool_input
        return by_itself if asked is None else asked

    def constant(self, name: str, make: Callable[["Envelope"], Made]) -> Made:
        """Return the value of this name that depends only on the envelope, made once."""
        made = self._made
        if made is None:
            made = self._made = {}
        constant: Made | None = made.get(name)
        if constant is None:
            constant = made[name] = make(self)
        return constant


def _native_fields(conversation_id: str, message_id: str, choice: int) -> bytes:
    """Return `,"conversation_id":…,"message_id":…` and `,"choice":…` where it is not 0."""
    encoded = b',"conversation_id":%b,"message_id":%b' % (_encode(conversation_id), _encode(message_id))
    return encoded + b',"choice":%d' % choice if choice else encoded


class Dialect(ABC):
    """Renders events for a kind of client.

    A dialect keeps its memory of a message in a state: a msgspec struct that the partition's snapshot holds. A new
    dialect is one file with an object of such a class and one line in the list of this package. The class sets the
    attributes in which its clients differ from what stands below: no other package knows them by the dialect's name.
    """

    name: str
    """Its name in the configuration."""

    summary: str
    """One sentence for `tokenmill dialects` and the reference."""

    state_type: type[msgspec.Struct] | None = None
    """The struct of the state, created without arguments when a message opens; None: nothing is kept.

    A state that grows with the answer returns in `memory` about how many bytes it takes.
    """

    streams_tool_input: bool = False
    """Whether its clients get tool input as it arrives unless `stream_tool_input` is false.

    Otherwise they get it only where the message asks for it: where `stream_tool_input` is true.
    """

    streams_arguments: bool = False
    """Whether it then writes arguments as JSON (see `arguments`), for which it needs every `argument-delta`."""

    describes_tools: bool = False
    """Whether it shows what a tool is for, which `message-start` then has to contain."""

    names_events: bool = False
    """Whether its clients look for the payload's `type` as the name of a server-sent event, too."""

    ignores_pieces: bool = False
    """Whether a piece of text that follows another piece of the same text leaves the state as it is."""

    pieces: Sequence[Path] = ()
    """Places of a text that grows: neighbouring payloads that differ in one of them alone may become one.

    Empty if payloads may not be merged, as where they are numbered.
    """

    tells_gaps: Literal["event", "error", "never"] = "event"
    """How its clients learn that an answer has a gap: by a server-sent event of that name; by an error of the dialect,
    as they take whatever has data for one of their own events; or never, as they take even an id alone for one."""

    keep_s: int | None = None
    """Seconds that its records are kept by default, if they only show answers live, and are all on other topics too."""

    @abstractmethod
    def encode(self, state: Any, envelope: Envelope, event: Event, seq: int | None, time: int) -> Sequence[bytes]:
        """Return the payloads of one event, none to several.

        `seq` is the event's position, None where state was lost; `time` is in milliseconds since the epoch. Changes
        `state` in place.
        """


State = TypeVar("State")

Handlers: TypeAlias = Mapping[type[Event], Callable[[State, Envelope, Any, Payloads], None]]
"""What a dialect does at each event: change its state, and add payloads."""


def handled(handlers: Handlers[State], state: State, envelope: Envelope, event: Event) -> Payloads:
    """Return the payloads of one event; none if it has no handler."""
    out: Payloads = []
    if (handle := handlers.get(event.__class__)) is not None:
        handle(state, envelope, event, out)
    return out


def warns(error: Error) -> bool:
    """Whether the error is about a call that is complete: its `tool-call` follows, with the code as its `problem`."""
    return error.code in _WITH_CALL


def voids(error: Error, call_id: str) -> bool:
    """Whether the error makes this call void: no `tool-call` follows."""
    return error.id == call_id and not warns(error)


def failure_text(reason: FinishReason, said: str) -> str:
    """Return why an answer failed: the words that were `said`, or at least the reason."""
    return said or f"the answer ended early: {reason}"
