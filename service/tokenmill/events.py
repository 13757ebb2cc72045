"""The closed set of native events, which every parser emits and every dialect reads.

Rules of this file:

1. These structs are the contract of the `events` topic. A field is added, never renamed or removed.
2. Events are frozen. The parser makes them without their envelope (`conversation_id` to `time`); the partition has
   the envelope and dialects write it. A consumer decodes a record with `decode_event` and finds both together.
3. Names follow the part names of the AI SDK's stream protocol.
4. `seq` is 0-based and contiguous for each (message, choice). Events about a message whose state is lost have none.
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
    """Number of the alternative answer; omitted when 0."""
    seq: int | UnsetType = UNSET
    """Position among the events of (message, choice)."""
    time: int | UnsetType = UNSET
    """Milliseconds since the epoch: the timestamp of the input record that caused the event."""

    type: ClassVar[str]
    """The event's name on the wire: a literal in each class, so that comparing it narrows a union."""


class DeclaredTool(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a reader of events needs about a tool that the request declares.

    It is empty if there was no room: then nothing is certain before the call is complete.
    """

    types: dict[str, list[str]] = {}
    """JSON types of the parameters by name; an empty list if the schema does not give any."""
    others: bool = False
    """Whether arguments may have other names, too."""
    description: str | UnsetType = UNSET
    """Description of the tool; with the option `describe_tools`, like `parameters`."""
    parameters: dict[str, Any] | UnsetType = UNSET
    """The schema of the arguments, as declared."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Options of a message that dialects need, so that it can be rendered from its events alone.

    The names are those of the options; default values are left out.
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
    custom_tools: list[str] = []
    payload_bytes: int | UnsetType = UNSET
    """Bytes that a payload of the message may have, if that differs from the default limits."""


class MessageStart(Event, frozen=True, tag="message-start"):
    """First event of a message and choice."""

    type: ClassVar[Literal["message-start"]] = "message-start"
    model: str
    """Name of the model, as the producer gave it."""
    format: str | list[str]
    """Name of the format, or of several that are active at the same time."""
    request: Request | UnsetType = UNSET
    """Options of the message that dialects need."""


class TextStart(Event, frozen=True, tag="text-start"):
    """A block of visible text begins."""

    type: ClassVar[Literal["text-start"]] = "text-start"
    id: str
    call: str | UnsetType = UNSET
    """Id of a failed call, empty if it had none yet: the block is the source of that call, and nothing else."""
    cut: bool | UnsetType = UNSET
    """Whether the answer was cut off inside that call, as at a limit of tokens. Clients leave such text out."""


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
    """Name of the tool."""
    encoding: Encoding
    """How the model writes the arguments: with `json`, the joined deltas are JSON."""
    provider: bool = False
    """Whether the call comes from the provider's own tool stream, not from the model's text."""
    attributes: dict[str, Any] | UnsetType = UNSET
    """Additional content of the call's opening, in formats that have it: its `type` and attributes, as written."""


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
    """Text without the escapes and quotes of the source."""


class ToolInputEnd(Event, frozen=True, tag="tool-input-end"):
    """The source of a call is complete; exactly one `tool-call` or `error` of its id follows."""

    type: ClassVar[Literal["tool-input-end"]] = "tool-input-end"
    id: str


class ToolCall(Event, frozen=True, tag="tool-call"):
    """A complete call.

    Values in `arguments` that the format writes as plain text have the types of the tool's schema; those that it writes
    as JSON or Python keep their own. `repaired` marks a source that was not valid and was read leniently.
    A call with a `problem` follows the `error` of the same id and should not be executed.
    """

    type: ClassVar[Literal["tool-call"]] = "tool-call"
    id: str
    name: str
    arguments: dict[str, Any]
    """Values by name, with the types that the tool's schema asks for."""
    repaired: bool = False
    """Whether the source was not quite valid in the format."""
    problem: Problem | UnsetType = UNSET
    """Reason why the call should not be executed."""


class Part(Event, frozen=True, tag="part"):
    """Provider content that is not text, reasoning or a call, in its place; `kind` is what the provider calls it."""

    type: ClassVar[Literal["part"]] = "part"
    kind: str
    value: Any
    id: str | UnsetType = UNSET
    """Id of the call that it belongs to, if any."""


class Error(Event, frozen=True, tag="error"):
    """Something in this message went wrong; the stream continues.

    With an `id` it voids the `tool-input-*` and `argument-delta` events of that id, unless a `tool-call` follows.
    """

    type: ClassVar[Literal["error"]] = "error"
    code: ErrorCode
    message: str
    """One sentence for people; programs read the code."""
    id: str | UnsetType = UNSET
    """Id of the call that it is about."""
    name: str | UnsetType = UNSET
    """Name of the tool, if it is known."""
    raw: str | UnsetType = UNSET
    """Beginning of the source, at most 4 KiB; with `upstream`, of the provider's answer, which had `status`."""
    status: int | UnsetType = UNSET


class TokenCounts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Counts of tokens with the same meaning for all providers; 0 if the provider did not give one."""

    input_tokens: int = 0
    """All input, cached or not."""
    output_tokens: int = 0
    """All output, including reasoning."""
    reasoning_tokens: int = 0
    """Part of the output."""
    cached_tokens: int = 0
    """Part of the input that was read from a cache."""


class Finish(Event, frozen=True, tag="finish"):
    """Last event of a message and choice."""

    type: ClassVar[Literal["finish"]] = "finish"
    reason: FinishReason
    raw_reason: str | UnsetType = UNSET
    """The provider's own word, if it differs; `usage` has the token counts as the provider gave them."""
    usage: dict[str, Any] | UnsetType = UNSET
    tokens: TokenCounts | UnsetType = UNSET
    """The same counts under the same names for all providers, if any of them are known."""
    choices_left: int = 0
    """Number of other choices of the message that are still open: with the last one the message is over."""
    stop_sequence: str | UnsetType = UNSET
    """The text at which the model was told to stop and did, if the provider reports it."""


class ToolProgress(Event, frozen=True, tag="tool-progress"):
    """Progress that the tool of a call reports, out of a `total` if it gives one; on the topic of the results."""

    type: ClassVar[Literal["tool-progress"]] = "tool-progress"
    id: str
    name: str
    progress: float
    total: float | UnsetType = UNSET
    message: str | UnsetType = UNSET


class ToolResult(Event, frozen=True, tag="tool-result"):
    """The result of a call's tool; on its own topic, without `seq`."""

    type: ClassVar[Literal["tool-result"]] = "tool-result"
    id: str
    name: str
    result: Any = UNSET
    error: str | UnsetType = UNSET
    """Reason why there is no result."""
    elapsed_ms: int = 0
    code: str | UnsetType = UNSET
    """With an error: whether the call was made, and which side failed. The how-to on tools lists the codes."""


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
    """Decode one JSON payload of the native dialect. Raises `msgspec.DecodeError` if it is not an event."""
    try:
        return _decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError as problem:
        return _decode_odd(data, problem)
    except (UnicodeDecodeError, RecursionError) as problem:
        raise msgspec.DecodeError(str(problem)) from problem


def known_event(data: bytes | str) -> AnyEvent | None:
    """Decode a payload likewise; None for what is not an event of this version: a newer worker may publish more."""
    try:
        return decode_event(data)
    except msgspec.DecodeError:
        return None


def _decode_odd(data: bytes | str, problem: msgspec.DecodeError) -> AnyEvent:
    """Decode an event with halves of surrogate pairs: models may write them in arguments, but msgspec refuses them."""
    try:
        event: AnyEvent = msgspec.convert(json.loads(data), AnyEvent)
    except (ValueError, RecursionError):
        raise problem from None
    return event
