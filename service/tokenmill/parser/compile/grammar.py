"""The compiled options of a message: its rules, the tables that the machine runs, and what consumers see of them.

Made once for all messages with the same options, and never changed.
"""

import gc
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate
from sys import getsizeof
from types import BuiltinMethodType, MethodType
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from tokenmill.errors import BadOpen
from tokenmill.events import DeclaredTool, MessageStart, Request
from tokenmill.limits import KIB, PAYLOAD_BYTES, Limits
from tokenmill.parser.compile.modes import compile_modes
from tokenmill.parser.markers import Marker
from tokenmill.parser.modes.call import CallMode
from tokenmill.parser.modes.native import NATIVE_BODY
from tokenmill.parser.modes.text import Mode
from tokenmill.parser.options import Options
from tokenmill.parser.run.rules import Rules, Tool, boundary_chars
from tokenmill.parser.run.state import OpenCall
from tokenmill.parser.spec import Format

_UNPARSED = {"parse": "none", "tool_choice": "none"}
"""Options under which every marker stays text."""


GRAMMAR_BYTES = 8 * KIB
"""Bytes of a grammar without its options: the tables of most formats."""


class Grammar(Rules):
    """Compiled options; immutable and shared."""

    __slots__ = (
        "__weakref__",
        "format_names",
        "key",
        "memory",
        "message_start",
        "mode_names",
        "modes",
        "prompt",
        "quick_chars",
        "start",
    )

    def __init__(self, options: Options, formats: Sequence[Format], limits: Limits, *, traced: bool = False) -> None:
        encoded = _encoded(options)
        options = _decoded(encoded)  # the caller may change what it passed, and tools are compiled on their first call
        configured = [format_.configured(format_, options) if format_.configured else format_ for format_ in formats]
        suffixed = [with_suffix(format_, options.markers_suffix) for format_ in configured]
        parsed = _UNPARSED if options.text_mode == "passthrough" else {}
        compiled = compile_modes(msgspec.structs.replace(options, **parsed), suffixed, limits)
        one = options.text_after_calls == "drop-all"
        super().__init__(
            options,
            limits,
            unknown_tool=options.unknown_tool or formats[0].unknown_tool,
            drops_text_after_calls=one or (options.text_after_calls or formats[0].text_after_calls) == "drop",
            first_call_only=one or any(format_.first_call_only for format_ in formats),
            reasoning=compiled.reasoning,
            answers=compiled.answers,
            traced=traced,
        )
        self.modes: Sequence[Mode] = compiled.modes
        self.mode_names: Sequence[str] = compiled.names
        """Readable name of each mode, as in the diagrams of formats."""
        self.start: int = compiled.start
        """Number of the mode in which the stream begins."""
        given = options.start in (None, formats[0].start) and options.parse != "none" and not parsed
        self.prompt = formats[0].prompt if given else ""
        """Text that is read before the model's first."""
        self.quick_chars = 0 if boundary_chars(options) else limits.delta_chars
        """Characters that a chunk may have to be read without care, if it is nothing but content."""
        self.key = _hashed(encoded)
        """Content hash of the options: snapshots intern them by it."""
        said = [options.tools, options.original_schemas, options.response_template]
        parameters = sum(len(tool.parameters) for tool in self.tools.values())
        own = any(used is not format_ for used, format_ in zip(suffixed, formats, strict=True))
        patterns = pattern_bytes(self.modes) if own else 0
        self.memory = GRAMMAR_BYTES + weight(said, len(encoded)) + parameters * PARAMETER_BYTES + patterns
        """About how many bytes the whole grammar takes. Patterns that all messages of a format share do not count."""
        names = self.format_names = [format_.name for format_ in formats]
        format_ = names[0] if len(names) == 1 else names
        self.message_start = MessageStart(options.model, format_, request_of(options, self.tools, limits))
        """The first event of every message with these options."""

    def body_type(self, call: OpenCall) -> type[msgspec.Struct]:
        """Return the state type of an open call's body. Raises `msgspec.ValidationError` for a call without a mode
        here.
        """
        if call.frame < 0:
            return NATIVE_BODY
        mode = self.modes[call.frame] if call.frame < len(self.modes) else None
        if not isinstance(mode, CallMode):
            raise msgspec.ValidationError(f"its options have no call {call.frame}")
        return mode.body_type


_UNKEPT: dict[type[Exception], str] = {
    OverflowError: "an integer of more than 64 bits: write it with a fraction or an exponent, or leave it out",
    UnicodeEncodeError: "half a surrogate pair in a text: write the whole character, or leave it out",
    RecursionError: "a value that is nested too deep: make it flatter",
    TypeError: "a value that JSON can't express: give what `json.loads` would",
}
"""What no snapshot can hold, by the encoder's error. Codecs let none of it in; libraries and pages may."""


def options_key(options: Options) -> str:
    """Return the content hash of options. Raises `BadOpen` for options that can't be kept."""
    return _hashed(_encoded(options))


def _hashed(encoded: bytes) -> str:
    return blake2b(encoded, digest_size=12).hexdigest()


def _encoded(options: Options) -> bytes:
    try:
        return msgspec.msgpack.encode(options)
    except tuple(_UNKEPT) as problem:
        raise BadOpen(f"the options hold {_UNKEPT[type(problem)]} ({problem})") from problem


def _decoded(encoded: bytes) -> Options:
    try:
        return _options.decode(encoded)
    except RecursionError as problem:
        raise BadOpen(f"the options hold {_UNKEPT[RecursionError]} ({problem})") from problem
    except msgspec.ValidationError as problem:
        raise BadOpen(f"the options: {problem}") from problem


_options = msgspec.msgpack.Decoder(Options)


# Markers with a checkpoint's suffix: `<think>` becomes `<think:6124c78e>`, in all markers of a format.

_TAG_END = re.compile(r"(?<=\w)(?=\|?>)")


def with_suffix(format_: Format, suffix: str) -> Format:
    """Return the format with `suffix` after every tag's name, after a colon if it begins with a letter or a digit."""
    if not suffix:
        return format_
    changed: Format = _suffixed(format_, suffix if not suffix[0].isalnum() else f":{suffix}")
    return changed


def with_suffix_or_not(format_: Format, suffix: str) -> Format:
    """Return the format with a second spelling of every marker, in which tags have this suffix."""
    changed: Format = _suffixed(format_, suffix, keep=True)
    return changed


def _suffixed(node: Any, suffix: str, *, keep: bool = False) -> Any:
    """Return the same data with other markers, or with more spellings of them."""
    if isinstance(node, Marker):
        kept = node.spellings if keep else ()
        changed = (_TAG_END.sub(suffix.replace("\\", r"\\"), text) for text in node.spellings)
        return msgspec.structs.replace(node, spellings=tuple(dict.fromkeys((*kept, *changed))))
    if isinstance(node, msgspec.Struct):
        fields = {name: _suffixed(getattr(node, name), suffix, keep=keep) for name in node.__struct_fields__}
        return msgspec.structs.replace(node, **fields)
    if isinstance(node, tuple):
        return tuple(_suffixed(item, suffix, keep=keep) for item in node)
    return node


# What `message-start` contains of the request: the options that dialects need, and what they must know of the tools.
#
# It is in every message, so it has a cap. Above that, the tools are described with less: without what `describe_tools`
# adds, then by name alone, then only as many as fit. A dialect that lacks a tool's types waits for the complete call.
# Dialects that show whether a tool is known treat a tool that is not named as unknown.

TOOLS_BYTES = 64 * KIB
"""Bytes of all tools without descriptions: some hundred large ones. A reader gets them with each message."""

TYPES_BYTES = len('"":[]')
"""Bytes of a parameter without types, at least, beside its name."""

DESCRIBED_BYTES = 64 * KIB
"""Bytes of one tool with its description and schema. A call's arguments must fit an output record next to it."""

ALL_DESCRIBED_BYTES = 256 * KIB
"""Bytes of all described tools: a quarter of the default of an output record."""

_SAME = tuple(name for name in Request.__struct_fields__ if name not in ("tools", "payload_bytes"))


def request_of(options: Options, tools: Mapping[str, Tool], limits: Limits) -> Request | UnsetType:
    """Return what dialects need of these options; nothing where all have their defaults."""
    same = {name: getattr(options, name) for name in _SAME}
    room = min(TOOLS_BYTES, limits.payload_bytes // 4)
    payload_bytes = UNSET if limits.payload_bytes == PAYLOAD_BYTES else limits.payload_bytes
    request = Request(tools=_declared(options, tools, room), payload_bytes=payload_bytes, **same)
    return UNSET if request == Request() else request


def _declared(options: Options, tools: Mapping[str, Tool], room: int) -> dict[str, DeclaredTool]:
    plain = _plain(tools, room)
    if plain is None or _size(plain) > room:
        plain = _by_name(tools, room)
    elif options.describe_tools:
        described = _described(options, plain)
        if _size(described) <= ALL_DESCRIBED_BYTES // TOOLS_BYTES * room:
            return described
    return plain


def _plain(tools: Mapping[str, Tool], room: int) -> dict[str, DeclaredTool] | None:
    """Return the types of all parameters; None, as soon as it is certain that there is no room for them."""
    plain = {}
    for name, tool in tools.items():
        types = {}
        for parameter in sorted(tool.parameters):
            if tool.has(parameter):
                types[parameter] = sorted(tool.types(parameter))
                room -= len(parameter) + TYPES_BYTES
            if room < 0:
                return None
        plain[name] = DeclaredTool(types, tool.others)
    return plain


def _by_name(tools: Mapping[str, Tool], room: int) -> dict[str, DeclaredTool]:
    sizes = accumulate(_size({name: DeclaredTool()}) for name in tools)
    return {name: DeclaredTool() for name, size in zip(tools, sizes, strict=True) if size <= room}


def _described(options: Options, plain: Mapping[str, DeclaredTool]) -> dict[str, DeclaredTool]:
    """Return the tools with their declarations. A tool that is too large goes without, but its calls stay."""
    described = dict(plain)
    for entry in options.tools:
        function = entry.get("function", entry)
        name = function.get("name") if isinstance(function, Mapping) else None
        if isinstance(name, str) and name in plain:
            tool = msgspec.structs.replace(plain[name], **_said(function))
            described[name] = tool if _size(tool) <= DESCRIBED_BYTES else plain[name]
    return described


def _said(function: Mapping[str, Any]) -> dict[str, Any]:
    description, parameters = function.get("description"), function.get("parameters")
    return {
        "description": description if isinstance(description, str) else UNSET,
        "parameters": dict(parameters) if isinstance(parameters, Mapping) else UNSET,
    }


def _size(tools: Any) -> int:
    """Return the size as JSON in bytes."""
    return len(msgspec.json.encode(tools))


# About how much memory options take: a tool list is by far the largest part of a small message.
#
# Measured with the allocator, for tools with long descriptions, many parameters, enumerations and deep schemas: these
# numbers are from a third to four fifths above what Python holds. A tool's validator, which its first call makes and
# Python's allocator does not see, is about as large as the difference.

BYTE = 1.5
"""Bytes of memory for each encoded byte: all texts."""

SCALAR_BYTES = 70
"""Bytes of a key, text or number without its characters."""

CONTAINER_BYTES = 230
"""Bytes of an object or a list without its content."""

PARAMETER_BYTES = 1500
"""Bytes of a tool's parameter besides the list: its types, for lookups and in `message-start`."""


def weight(value: Any, encoded: int) -> int:
    """Return the memory of a JSON value that takes `encoded` bytes encoded."""
    containers, scalars, level = 0, 0, [value]
    while level:
        inner: list[Any] = []
        for item in level:
            if isinstance(item, Mapping):
                containers += 1
                scalars += len(item)
                inner += item.values()
            elif isinstance(item, list):
                containers += 1
                inner += item
            else:
                scalars += 1
        level = inner
    return int(encoded * BYTE) + scalars * SCALAR_BYTES + containers * CONTAINER_BYTES


_LEADS_ON = (list, tuple, dict, MethodType, BuiltinMethodType)


def pattern_bytes(root: object) -> int:
    """Return the bytes of all compiled patterns that modes and their readers keep."""
    size, seen, stack = 0, set[int](), [root]
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, re.Pattern):
            size += getsizeof(item) + len(item.pattern)
        elif isinstance(item, _LEADS_ON) or type(item).__module__.startswith("tokenmill."):
            stack += gc.get_referents(item)
    return size
