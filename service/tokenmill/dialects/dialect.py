"""What a dialect is: the last step of the flow, from a native event to the payloads that a client reads."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, get_args

import msgspec

from tokenmill.events import Error, Event, FinishReason, MessageStart, Problem, Request
from tokenmill.limits import PAYLOAD_BYTES

Payloads: TypeAlias = list[bytes]

FAILURES: frozenset[FinishReason] = frozenset({"error", "timeout"})
"""Reasons of an answer that is not what the model had to say."""

_WITH_CALL = frozenset(get_args(Problem))

_NOTHING_ASKED = Request()
_UNSAID = MessageStart("", "")

_encode = msgspec.json.Encoder().encode


class Envelope:
    """What all events of one message and choice share, with the bytes of it that never change made once.

    All of it stands in the native events: who they are about in each, the rest in `message-start`, whose time is
    `created`. So a dialect writes the same wherever it has them from.
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
        """`start` is the first event of the message, where it is known."""
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
        """What a payload may have at most."""
        self._made: dict[str, bytes] | None = None
        self.native = _native_fields(conversation_id, message_id, choice)
        """The envelope's constant fields as they stand in a JSON object of the native dialect."""

    @property
    def choice_id(self) -> str:
        """Of this choice, where each is an answer of its own: the first one's is that of the message."""
        return f"{self.message_id}-{self.choice}" if self.choice else self.message_id

    def streams_input(self, *, by_itself: bool) -> bool:
        """Whether a client is told of tool input as it arrives: what the message says, else what its dialect does."""
        asked = self.request.stream_tool_input
        return by_itself if asked is None else asked

    def constant(self, name: str, make: Callable[["Envelope"], bytes]) -> bytes:
        """Bytes of this name that depend on nothing but the envelope, made once."""
        made = self._made
        if made is None:
            made = self._made = {}
        constant = made.get(name)
        if constant is None:
            constant = made[name] = make(self)
        return constant


def _native_fields(conversation_id: str, message_id: str, choice: int) -> bytes:
    """`,"conversation_id":…,"message_id":…` and `,"choice":…` where it is not 0."""
    encoded = b',"conversation_id":%b,"message_id":%b' % (_encode(conversation_id), _encode(message_id))
    return encoded + b',"choice":%d' % choice if choice else encoded


class Dialect(Protocol):
    """Renders events for a kind of client.

    A dialect keeps what it must remember of a message in a state: a msgspec struct that the partition's snapshot holds.
    A new dialect is one file with an object of this shape and one line in the list of this package.
    """

    @property
    def name(self) -> str:
        """What the configuration calls it."""

    @property
    def summary(self) -> str:
        """One sentence for `tokenmill dialects` and the reference."""

    @property
    def state_type(self) -> type[msgspec.Struct] | None:
        """The struct of the state, made without arguments when a message opens; None: nothing need be remembered.

        One that grows with the answer says in `memory` about how many bytes it takes.
        """

    @property
    def streams_tool_input(self) -> bool:
        """Whether its clients are told of tool input as it arrives unless `stream_tool_input` is false.

        If not, they are only where the message asks for it: where `stream_tool_input` is true.
        """

    @property
    def streams_arguments(self) -> bool:
        """Whether it then writes arguments as JSON (see `arguments`), for which it needs every `argument-delta`."""

    @property
    def describes_tools(self) -> bool:
        """Whether it shows what a tool is for, which `message-start` then has to say."""

    @property
    def names_events(self) -> bool:
        """Whether its clients look for the payload's `type` as the name of a server-sent event, too."""

    def encode(self, state: Any, envelope: Envelope, event: Event, seq: int | None, time: int) -> Sequence[bytes]:
        """The payloads of one event, none to several.

        `seq` is the event's position, None where state was lost; `time` is in milliseconds since the epoch. Changes
        `state` in place.
        """


State = TypeVar("State")

Handlers: TypeAlias = Mapping[type[Event], Callable[[State, Envelope, Any, Payloads], None]]
"""What a dialect does at each event: changes its state, and adds payloads."""


def handled(handlers: Handlers[State], state: State, envelope: Envelope, event: Event) -> Payloads:
    """The payloads of one event; none where nothing is to be done."""
    out: Payloads = []
    if (handle := handlers.get(event.__class__)) is not None:
        handle(state, envelope, event, out)
    return out


def warns(error: Error) -> bool:
    """Whether the error is about a call that is complete: its `tool-call` follows, with the code as its `problem`."""
    return error.code in _WITH_CALL


def voids(error: Error, call_id: str) -> bool:
    """Whether the error says that what came of this call is void: no `tool-call` follows."""
    return error.id == call_id and not warns(error)


def failure_text(reason: FinishReason, said: str) -> str:
    """Why an answer failed: what was `said` of it, or at least the reason."""
    return said or f"the answer ended early: {reason}"
