"""The closed set of native events: what every parser emits and every dialect reads.

Rules of this file:

1. These structs are the contract of the `events` topic. A field is added, never renamed or removed.
2. Events are frozen. The parser makes them without their envelope (`conversation_id` to `time`); the partition knows
   the envelope and dialects write it. A consumer decodes a record with `decode_event` and finds both together.
3. Names follow the part names of the AI SDK's stream protocol.
4. `seq` is 0-based and contiguous for each (message, choice). Events about a message whose state is gone have none.
"""

import json
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

Encoding: TypeAlias = Literal["json", "xml", "python", "text"]
Problem: TypeAlias = Literal["unknown-tool", "schema-mismatch"]
ErrorCode: TypeAlias = Literal[
    "malformed-call",
    "unfinished-call",
    "unknown-tool",
    "schema-mismatch",
    "gap",
    "limit",
    "upstream",
    "state-lost",
    "reconfigured",
    "internal",
]
FinishReason: TypeAlias = Literal["stop", "tool-calls", "length", "content-filter", "error", "cancelled", "timeout"]


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag_field="type"):
    """The envelope that all events share."""

    conversation_id: str = ""
    """Key of the input records."""
    message_id: str = ""
    """One assistant answer in the conversation."""
    choice: int = 0
    """Which of n alternative answers; omitted when 0."""
    seq: int | UnsetType = UNSET
    """Position among the events of (message, choice)."""
    time: int | UnsetType = UNSET
    """Milliseconds since the epoch: the timestamp of the input record that caused the event."""

    type: ClassVar[str]
    """The event's name on the wire. Of each class a literal of its own, so that comparing it narrows a union."""


class DeclaredTool(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a reader of events has to know of a tool that the request declares.

    Where there was no room for it, nothing is said: then nothing is certain before the call is complete.
    """

    types: dict[str, list[str]] = {}
    """JSON types of the parameters by name; an empty list where the schema does not say."""
    others: bool = False
    """Arguments may have other names, too."""
    description: str | UnsetType = UNSET
    """With the option `describe_tools`, as is the next."""
    parameters: dict[str, Any] | UnsetType = UNSET
    """The schema of the arguments, as declared."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What dialects ask of a message's options, so that a message can be rendered from its events alone.

    The names are those of the options; what is as by default is left out.
    """

    tools: dict[str, DeclaredTool] = {}
    """The declared tools, by name."""
    provider: str = ""
    stream_tool_input: bool | None = None
    min_delta_chars: int = 0
    text_mode: str = "immediate"
    id_prefix: str = ""
    segment_end_metadata: bool = False
    segment_tools: dict[str, str] = {}
    conversation_hash: str = ""
    include_usage: bool = True
    payload_bytes: int | UnsetType = UNSET
    """What a payload of the message may have at most, where it is not what the default limits allow."""


class MessageStart(Event, frozen=True, tag="message-start"):
    """First event of a message and choice."""

    type: ClassVar[Literal["message-start"]] = "message-start"
    model: str
    """As the producer called it."""
    format: str | list[str]
    """Name of the format, or of several that live at once."""
    request: Request | UnsetType = UNSET
    """What the message was opened with, as far as dialects ask for it."""


class TextStart(Event, frozen=True, tag="text-start"):
    """A block of visible text begins."""

    type: ClassVar[Literal["text-start"]] = "text-start"
    id: str
    call: str | UnsetType = UNSET
    """The block is the source of a call that failed, and nothing else: id of that call, empty if it had none yet."""
    cut: bool | UnsetType = UNSET
    """True: the answer was cut off inside of that call, as at a limit of tokens. Clients leave such text out."""


class TextDelta(Event, frozen=True, tag="text-delta"):
    """More of a block of visible text."""

    type: ClassVar[Literal["text-delta"]] = "text-delta"
    id: str
    delta: str


class TextEnd(Event, frozen=True, tag="text-end"):
    """A block of visible text is complete."""

    type: ClassVar[Literal["text-end"]] = "text-end"
    id: str


class ReasoningStart(Event, frozen=True, tag="reasoning-start"):
    """A block of reasoning begins."""

    type: ClassVar[Literal["reasoning-start"]] = "reasoning-start"
    id: str


class ReasoningDelta(Event, frozen=True, tag="reasoning-delta"):
    """More of a block of reasoning."""

    type: ClassVar[Literal["reasoning-delta"]] = "reasoning-delta"
    id: str
    delta: str


class ReasoningEnd(Event, frozen=True, tag="reasoning-end"):
    """A block of reasoning is complete."""

    type: ClassVar[Literal["reasoning-end"]] = "reasoning-end"
    id: str


class ToolInputStart(Event, frozen=True, tag="tool-input-start"):
    """A call's name and id are known; its arguments are still arriving."""

    type: ClassVar[Literal["tool-input-start"]] = "tool-input-start"
    id: str
    """The same in all events of the call, and on the wire of every dialect."""
    name: str
    """Of the tool."""
    encoding: Encoding
    """How the model writes the arguments: where it is `json`, the deltas joined are JSON."""
    provider: bool = False
    """It comes from the provider's own tool stream, not from the model's text."""
    attributes: dict[str, Any] | UnsetType = UNSET
    """What else the opening of the call says, in formats whose openings do: its `type` and attributes, as written."""


class ToolInputDelta(Event, frozen=True, tag="tool-input-delta"):
    """More source text of the argument region, verbatim, never repaired."""

    type: ClassVar[Literal["tool-input-delta"]] = "tool-input-delta"
    id: str
    delta: str


class ArgumentDelta(Event, frozen=True, tag="argument-delta"):
    """More decoded text of one string argument."""

    type: ClassVar[Literal["argument-delta"]] = "argument-delta"
    id: str
    argument: str
    delta: str
    """Without the escapes and quotes of the source."""


class ToolInputEnd(Event, frozen=True, tag="tool-input-end"):
    """The source of a call is complete; exactly one `tool-call` or `error` of its id follows."""

    type: ClassVar[Literal["tool-input-end"]] = "tool-input-end"
    id: str


class ToolCall(Event, frozen=True, tag="tool-call"):
    """A complete call.

    Values in `arguments` that the format writes as plain text have the types of the tool's schema; those that it writes
    as JSON or Python keep their own. `repaired` says that the source was not valid and was read leniently.
    A call with a `problem` follows the `error` of the same id and should not be executed.
    """

    type: ClassVar[Literal["tool-call"]] = "tool-call"
    id: str
    name: str
    arguments: dict[str, Any]
    """Values by name, of the types that the tool's schema asks for."""
    repaired: bool = False
    """The source was not quite what the format asks for."""
    problem: Problem | UnsetType = UNSET
    """Why it should not be executed."""


class Part(Event, frozen=True, tag="part"):
    """Provider content that is not text, reasoning or a call, in its place; `kind` is what the provider calls it."""

    type: ClassVar[Literal["part"]] = "part"
    kind: str
    value: Any
    id: str | UnsetType = UNSET
    """Of the call that it belongs to, where it belongs to one."""


class Error(Event, frozen=True, tag="error"):
    """Something in this message went wrong; the stream goes on.

    With an `id` it voids the `tool-input-*` and `argument-delta` events of that id, unless a `tool-call` follows.
    """

    type: ClassVar[Literal["error"]] = "error"
    code: ErrorCode
    message: str
    """One sentence for people; programs read the code."""
    id: str | UnsetType = UNSET
    """Of the call that it is about."""
    name: str | UnsetType = UNSET
    """Of the tool, if it got so far."""
    raw: str | UnsetType = UNSET
    """Beginning of the source, at most 4 KiB; of `upstream` that of the provider's answer, whose status follows."""
    status: int | UnsetType = UNSET


class TokenCounts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Counts of tokens that mean the same whoever gave them; 0 where the provider did not say."""

    input_tokens: int = 0
    """All that was read, cached or not."""
    output_tokens: int = 0
    """All that was written, reasoning within."""
    reasoning_tokens: int = 0
    """Part of the output."""
    cached_tokens: int = 0
    """Part of the input that was read from a cache."""


class Finish(Event, frozen=True, tag="finish"):
    """Last event of a message and choice."""

    type: ClassVar[Literal["finish"]] = "finish"
    reason: FinishReason
    raw_reason: str | UnsetType = UNSET
    """The provider's own word, where it is another; `usage` are token counts as it gave them."""
    usage: dict[str, Any] | UnsetType = UNSET
    tokens: TokenCounts | UnsetType = UNSET
    """The same counts, under the same names for all providers; where there are any that are known."""
    choices_left: int = 0
    """How many other choices of the message are open still: with the last one the message is over."""
    stop_sequence: str | UnsetType = UNSET
    """The text at which the model was told to stop and did, where the provider says which."""


class ToolProgress(Event, frozen=True, tag="tool-progress"):
    """How far the tool of a call is, as it says itself, of a `total` if it knows one; on the topic of the results."""

    type: ClassVar[Literal["tool-progress"]] = "tool-progress"
    id: str
    name: str
    progress: float
    total: float | UnsetType = UNSET
    message: str | UnsetType = UNSET


class ToolResult(Event, frozen=True, tag="tool-result"):
    """What the tool of a call answered; on its own topic, without `seq`."""

    type: ClassVar[Literal["tool-result"]] = "tool-result"
    id: str
    name: str
    result: Any = UNSET
    error: str | UnsetType = UNSET
    """Instead of a result: why there is none."""
    elapsed_ms: int = 0
    code: str | UnsetType = UNSET
    """With an error: whether the call was made at all, and who failed. The how-to on tools has its codes."""


AnyEvent: TypeAlias = (
    MessageStart
    | TextStart
    | TextDelta
    | TextEnd
    | ReasoningStart
    | ReasoningDelta
    | ReasoningEnd
    | ToolInputStart
    | ToolInputDelta
    | ArgumentDelta
    | ToolInputEnd
    | ToolCall
    | Part
    | Error
    | Finish
    | ToolProgress
    | ToolResult
)

EVENT_TYPES: tuple[type[Event], ...] = AnyEvent.__args__
"""Every event class, in the order of this file."""

_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


def decode_event(data: bytes | str) -> AnyEvent:
    """One JSON payload of the native dialect as an event. Raises `msgspec.DecodeError` if it is none."""
    try:
        return _decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as problem:
        return _decode_odd(data, problem)
    except (UnicodeDecodeError, RecursionError) as problem:
        raise msgspec.DecodeError(str(problem)) from problem


def _decode_odd(data: bytes | str, problem: msgspec.DecodeError) -> AnyEvent:
    """An event with halves of surrogate pairs: a model may write them in arguments; msgspec refuses to read them."""
    try:
        event: AnyEvent = msgspec.convert(json.loads(data), AnyEvent)
    except (ValueError, RecursionError):
        raise problem from None
    return event
