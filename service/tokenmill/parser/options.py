"""Options of a message: what `open` may set and what `[parser]` gives as default.

Read once when the message opens and pinned in its state; unknown keys and wrong types are refused by name.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, TypedDict, get_args

import msgspec

from tokenmill.errors import BadOpen
from tokenmill.limits import DETAIL_BYTES, MODEL_CHARS
from tokenmill.registry import known_names

UnknownTool: TypeAlias = Literal["call", "text", "drop"]


class Options(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Every option with its default; None means "the format's own"."""

    format: str | list[str] = "plain"
    """A format's name, or several names. Several formats live at once and the earliest marker wins; of those whose
    calls begin with the same marker only the first is read."""
    tools: list[dict[str, Any]] = []
    """OpenAI tool list. Without one, any name is a tool where the body is JSON."""
    original_schemas: dict[str, dict[str, Any]] = {}
    """Tool name → JSON schema, used for coercion instead of the tool's own."""
    tool_choice: Literal["auto", "none", "required"] | dict[str, Any] = "auto"
    """As in the request to the model. With `none` there are no calls and their markers stay text."""
    model: str = ""
    """Name of the model, for `message-start` and the dialects that name it; at most 256 characters."""
    provider: str = ""
    """Who serves the model: the format `autobyteus` and an empty `json_profile` depend on it, and two dialects name
    it."""
    conversation_hash: str = ""
    """Hash of the conversation so far, for the dialect `session`, which passes it on."""
    start: Literal["text", "reasoning", "header"] | None = None
    """Where the stream begins: a prompt may have opened the reasoning already."""
    parse: Literal["all", "tools", "reasoning", "none"] = "all"
    """Which layers are parsed; the markers of the others stay text."""
    start_tag: str | None = None
    """Opening of a call, for the formats whose tags are configured: `json_mix`. At most 64 characters."""
    end_tag: str | None = None
    """Closing of a call, for the same formats; at most 64 characters."""
    response_template: dict[str, Any] = {}
    """The checkpoint's declaration of its answers, for the format `hf`: the key of this name in
    `tokenizer_config.json`."""
    markers_suffix: str = ""
    """Checkpoint suffix inside every marker, as in `<think:6124c78e>`; at most 16 characters."""
    on_broken: Literal["text", "drop"] = "text"
    """What becomes of the source of a call that can't be read, up to what closes it, after its `error`."""
    on_unfinished: Literal["text", "drop"] = "text"
    """The same for a call that the stream cuts off."""
    unknown_tool: UnknownTool | None = None
    """How a call to a tool that is not in the list is treated."""
    calls_in_reasoning: Literal["honour", "ignore"] | None = None
    """Whether a call inside reasoning counts as a call."""
    text_after_calls: Literal["keep", "drop", "drop-all"] | None = None
    """Text after the first complete call: some models only ramble there. With `drop-all` what looks like another call
    is such text, so there is at most one call. None: the format's own, mostly `keep`."""
    describe_tools: bool = False
    """Whether `message-start` also describes the declared tools and their parameters, as the dialect `agent` shows
    them. On if any output has that dialect."""
    stream_tool_input: bool | None = None
    """Whether clients see calls grow. None: in dialects that show it by default. True: in all that can."""
    content_arguments: list[str] = []
    """`tool.argument` names whose decoded text is streamed as `argument-delta`; `*` stands for any."""
    min_delta_chars: int = 0
    """Characters that an argument delta must have before it is sent. Also for pieces of calls in the dialect
    `agent`."""
    text_mode: Literal["immediate", "smart", "passthrough", "placeholder"] = "immediate"
    """When text is sent: as soon as it is certain; up to the end of a line or sentence; unchanged, including markers
    and calls; or immediately, with `placeholder_text` after each call."""
    max_buffer_chars: int = 200
    """With `smart`, text of this many characters does not wait for an end."""
    placeholder_text: str = "[Working...]"
    """With `placeholder`, the text sent after each call; at most 256 characters."""
    json_patterns: list[str] = []
    """Beginnings of JSON that the format `autobyteus_json` takes for a call; white space is ignored. Empty: eight
    beginnings that are in use."""
    json_profile: str = ""
    """Where that JSON has name and arguments: `default`, `openai` or `gemini`. Empty: as the provider's models write
    it."""
    id_prefix: str = ""
    """Prefix of every id that is made here, of calls and of segments; at most 64 characters. Ids of the provider stay
    unchanged."""
    include_usage: bool = True
    """Whether the dialect `openai` sends counts of tokens, in a chunk of their own. Its clients ask for them."""
    custom_tools: list[str] = []
    """Tools that take a text: dialects of OpenAI's shapes write their calls as `custom`, with the argument `input`."""
    segment_end_metadata: bool = False
    """Whether the dialect `segments` repeats a segment's metadata at its end."""
    segment_tools: dict[str, str] = {}
    """The tool that a segment of the kinds `write_file`, `patch_file` and `run_bash` calls, if it has another name."""


class MessageOptions(TypedDict, total=False):
    """Every option by its name, for programs, without `format` and `tools`: see `Options`."""

    original_schemas: dict[str, dict[str, Any]]
    tool_choice: Literal["auto", "none", "required"] | dict[str, Any]
    model: str
    provider: str
    conversation_hash: str
    start: Literal["text", "reasoning", "header"] | None
    parse: Literal["all", "tools", "reasoning", "none"]
    start_tag: str | None
    end_tag: str | None
    response_template: dict[str, Any]
    markers_suffix: str
    on_broken: Literal["text", "drop"]
    on_unfinished: Literal["text", "drop"]
    unknown_tool: UnknownTool | None
    calls_in_reasoning: Literal["honour", "ignore"] | None
    text_after_calls: Literal["keep", "drop", "drop-all"] | None
    describe_tools: bool
    stream_tool_input: bool | None
    content_arguments: list[str]
    min_delta_chars: int
    text_mode: Literal["immediate", "smart", "passthrough", "placeholder"]
    max_buffer_chars: int
    placeholder_text: str
    json_patterns: list[str]
    json_profile: str
    id_prefix: str
    include_usage: bool
    custom_tools: list[str]
    segment_end_metadata: bool
    segment_tools: dict[str, str]


FORMATS_AT_ONCE = 8
"""Formats that may live at once in a message: each makes every character more expensive."""

BUFFER_CHARS = 4096
"""Maximum of `max_buffer_chars`: text that waits longer is not streamed, and waiting text is moved with each chunk."""

REPEATED_CHARS = {"placeholder_text": 256, "id_prefix": 64, "model": MODEL_CHARS}
"""Maximum of characters of options that each call or payload repeats in the output: a sentence, more than a UUID, and
the longest name. A record of some KiB may hold the most calls of a message, or the most deltas."""

MARKER_CHARS = {"markers_suffix": 16, "start_tag": 64, "end_tag": 64}
"""Maximum of characters of options that make markers, about twice the longest known: each is compiled as often as
markers follow each other in a format."""

_CHARS = REPEATED_CHARS | MARKER_CHARS

_LARGE = frozenset({"tools", "original_schemas"})
"""Options that may be as large as a record."""

PROBLEMS = 20
"""Wrong options that are named: a record may have a hundred thousand, and each hint takes its time."""

_FIELDS = {field.name: field for field in msgspec.structs.fields(Options)}


def read_options(values: Mapping[str, Any], defaults: Options | None = None) -> Options:
    """Return `values` over `defaults`.

    Raises `BadOpen` that names the keys that are unknown or of the wrong type, up to `PROBLEMS` of them.
    """
    read, problems = {}, list[str]()
    for key, value in values.items():
        if len(problems) >= PROBLEMS:
            problems.append("and what follows was not read")
            break
        field = _FIELDS.get(key)
        if field is None:
            problems.append(f"unknown option {key!r}; {known_names(key, _FIELDS)}")
            continue
        try:
            read[key] = msgspec.convert(value, field.type)
        except msgspec.ValidationError as problem:
            problems.append(f"option {key!r}: {wrong_value(problem, field.type)}")
            continue
        problems += refused(key, read[key])
    if problems:
        raise BadOpen("; ".join(problems))
    return msgspec.structs.replace(defaults or Options(), **read)


def wrong_value(problem: msgspec.MsgspecError, kind: Any) -> str:
    """Return what is wrong with a value, and the allowed words of its type, if it has such."""
    words = _words(kind)
    return f"{problem}; known are {', '.join(words)}" if words else str(problem)


def _words(kind: Any) -> list[str]:
    """Return the words of a `Literal`, also where it is one of several types."""
    return [word for one in get_args(kind) for word in ([one] if isinstance(one, str) else _words(one))]


def refused(key: str, value: Any) -> list[str]:
    """Return what is wrong with a value of the right type."""
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        return [f"option {key!r}: must not be negative"]
    if key == "format" and isinstance(value, list) and len(value) > FORMATS_AT_ONCE:
        return [f"option 'format': at most {FORMATS_AT_ONCE} formats live at once, these are {len(value)}"]
    if key == "max_buffer_chars" and value > BUFFER_CHARS:
        return [f"option {key!r}: at most {BUFFER_CHARS}"]
    if key in _CHARS and value and len(value) > _CHARS[key]:
        return [f"option {key!r}: longer than {_CHARS[key]} characters"]
    if key not in _LARGE and len(repr(value)) > DETAIL_BYTES:
        return [f"option {key!r}: longer than {DETAIL_BYTES} characters"]
    return []


def chosen_tool(options: Options) -> str:
    """Return the one tool that `tool_choice` asks for, in any of the forms in use; empty if it asks for none."""
    choice = options.tool_choice
    named = choice.get("function", choice) if isinstance(choice, dict) else {}
    name = named.get("name", named.get("toolName")) if isinstance(named, dict) else None
    return name if isinstance(name, str) else ""
