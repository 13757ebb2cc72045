"""The compiled options of a message: its rules, and the tables that the machine runs.

Made once for all messages with the same options, and never changed.
"""

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from tokenmill.errors import BadOpen
from tokenmill.events import MessageStart
from tokenmill.limits import KIB, Limits
from tokenmill.parser.compile.modes import compile_modes
from tokenmill.parser.compile.request import request_of
from tokenmill.parser.compile.weight import PARAMETER_BYTES, weight
from tokenmill.parser.markers import Marker
from tokenmill.parser.modes.call import CallMode
from tokenmill.parser.modes.native import NATIVE_BODY
from tokenmill.parser.modes.text import Mode
from tokenmill.parser.options import Options
from tokenmill.parser.run.rules import Rules, boundary_chars
from tokenmill.parser.run.state import OpenCall
from tokenmill.parser.spec import Format

_UNPARSED = {"parse": "none", "tool_choice": "none"}
"""Options under which every marker stays text."""


GRAMMAR_BYTES = 8 * KIB
"""Of a grammar beside its options: the tables of most formats."""


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
        """What people call each mode, as the diagrams of formats do."""
        self.start: int = compiled.start
        """Number of the mode in which the stream begins."""
        given = options.start in (None, formats[0].start) and options.parse != "none" and not parsed
        self.prompt = formats[0].prompt if given else ""
        """Text that is read in front of the model's first."""
        self.quick_chars = 0 if boundary_chars(options) else limits.delta_chars
        """A chunk up to so long may be read without care, if it is content through and through."""
        encoded = _encoded(options)
        self.key = _hashed(encoded)
        """Content hash of the options: what snapshots intern them by."""
        said = [options.tools, options.original_schemas, options.response_template]
        parameters = sum(len(tool.parameters) for tool in self.tools.values())
        self.memory = GRAMMAR_BYTES + weight(said, len(encoded)) + parameters * PARAMETER_BYTES
        """About how many bytes it takes, all of it together."""
        names = self.format_names = [format_.name for format_ in formats]
        format_ = names[0] if len(names) == 1 else names
        self.message_start = MessageStart(options.model, format_, request_of(options, self.tools, limits))
        """The first event of every message with these options."""

    def body_type(self, call: OpenCall) -> type[msgspec.Struct]:
        """What the body of an open call keeps. Raises `msgspec.ValidationError` for a call that is of no mode here."""
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
    TypeError: "a value that JSON can't say: give what `json.loads` would",
}
"""What no snapshot can hold, by what the encoder says of it. Codecs let none of it in; libraries and pages may."""


def options_key(options: Options) -> str:
    """Content hash of options. Raises `BadOpen` for options that can't be kept."""
    return _hashed(_encoded(options))


def _hashed(encoded: bytes) -> str:
    return blake2b(encoded, digest_size=12).hexdigest()


def _encoded(options: Options) -> bytes:
    try:
        return msgspec.msgpack.encode(options)
    except tuple(_UNKEPT) as problem:
        raise BadOpen(f"the options hold {_UNKEPT[type(problem)]} ({problem})") from problem


# Markers with a checkpoint's suffix: `<think>` becomes `<think:6124c78e>`, in all markers of a format.

_TAG_END = re.compile(r"(?<=\w)(?=\|?>)")


def with_suffix(format_: Format, suffix: str) -> Format:
    """The format with `suffix` at the end of every tag's name, behind a colon if it begins with a letter or a digit."""
    if not suffix:
        return format_
    changed: Format = _suffixed(format_, suffix if not suffix[0].isalnum() else f":{suffix}")
    return changed


def with_suffix_or_not(format_: Format, suffix: str) -> Format:
    """The format with a second spelling of every marker, in which tags have this suffix."""
    changed: Format = _suffixed(format_, suffix, keep=True)
    return changed


def _suffixed(node: Any, suffix: str, *, keep: bool = False) -> Any:
    """The same data with other markers, or with more spellings of them."""
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
