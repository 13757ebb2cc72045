"""The compiled options of a message: the tables that the machine runs, and what is known of its tools.

Made once for all messages with the same options, and never changed.
"""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from tokenmill.events import MessageStart
from tokenmill.limits import Limits
from tokenmill.parser.coerce import coerce
from tokenmill.parser.compiler import compile_modes
from tokenmill.parser.fit import fit, kept
from tokenmill.parser.modes import TEXT, Mode
from tokenmill.parser.options import Options, chosen_tool
from tokenmill.parser.request import request_of
from tokenmill.parser.schema import NO_SHAPE, Shape
from tokenmill.parser.spec import Format, UnknownTool
from tokenmill.parser.suffix import with_suffix
from tokenmill.parser.tools import Tool, read_tools

_NO_TYPES: frozenset[str] = frozenset()

_UNPARSED = {"parse": "none", "tool_choice": "none"}
"""Options under which every marker stays text."""


class Grammar:
    """Compiled options; immutable and shared."""

    __slots__ = (  # each chunk asks for some of it: what is cached in a `__dict__` makes all of it dearer
        "_answer",
        "_answers",
        "_content",
        "_reasoning_modes",
        "_tools",
        "drops_text_after_calls",
        "first_call_only",
        "format_names",
        "key",
        "limits",
        "message_chars",
        "message_start",
        "mode_names",
        "modes",
        "natural_chars",
        "only_tool",
        "options",
        "prompt",
        "start",
        "streams_input",
        "traced",
        "unknown_tool",
        "watches_arguments",
    )

    def __init__(self, options: Options, formats: Sequence[Format], limits: Limits, *, traced: bool = False) -> None:
        self.options = options
        self.limits = limits
        self.message_chars = limits.message_chars
        self.traced = traced
        """Spans of source are recorded among the events."""
        self.unknown_tool: UnknownTool = options.unknown_tool or formats[0].unknown_tool
        self.drops_text_after_calls = (options.text_after_calls or formats[0].text_after_calls) == "drop"
        self.first_call_only = any(format_.first_call_only for format_ in formats)
        self.streams_input = options.stream_tool_input is not False
        self.watches_arguments = bool(options.content_arguments)
        self.format_names = [format_.name for format_ in formats]
        self._tools = read_tools(options.tools, options.original_schemas)
        self._content = frozenset(options.content_arguments)
        configured = [format_.configured(format_, options) if format_.configured else format_ for format_ in formats]
        suffixed = [with_suffix(format_, options.markers_suffix) for format_ in configured]
        self.natural_chars = max(1, options.max_buffer_chars) if options.text_mode == "smart" else 0
        """Text waits for a natural boundary, or until there are more characters of it; 0: it does not wait."""
        careful = msgspec.structs.replace(limits, delta_chars=0) if self.natural_chars else limits
        parsed = _UNPARSED if options.text_mode == "passthrough" else {}
        compiled = compile_modes(msgspec.structs.replace(options, **parsed), suffixed, careful)
        self.modes: Sequence[Mode] = compiled.modes
        self.mode_names: Sequence[str] = compiled.names
        """What people call each mode, as the diagrams of formats do."""
        self.start: int = compiled.start
        """Number of the mode in which the stream begins."""
        self._reasoning_modes = compiled.reasoning
        self._answers = compiled.answers
        self._answer = min(compiled.answers, default=TEXT)
        given = options.start in (None, formats[0].start) and options.parse != "none" and not parsed
        self.prompt = formats[0].prompt if given else ""
        """Text that is read in front of the model's first."""
        self.key = options_key(options)
        """Content hash of the options: what snapshots intern them by."""
        names = self.format_names
        format_ = names[0] if len(names) == 1 else names
        self.message_start = MessageStart(options.model, format_, request_of(options, self._tools, limits))
        """The first event of every message with these options."""
        self.only_tool = chosen_tool(options) or ("".join(self._tools) if len(self._tools) == 1 else "")
        """The one tool that can be meant where a call names none: that of `tool_choice`, else the only one declared.
        Empty if there is none."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The declared tools by name."""
        return self._tools

    def knows(self, name: str) -> bool:
        """Whether a tool has this name; without a tool list any name is one."""
        return not self._tools or name in self._tools

    def declares(self, name: str) -> bool:
        """Whether the tool list names this tool."""
        return name in self._tools

    def types(self, name: str, parameter: str) -> frozenset[str]:
        """JSON types that a parameter may have; empty if nothing says."""
        tool = self._tools.get(name)
        return tool.types(parameter) if tool else _NO_TYPES

    def parameters(self, name: str) -> frozenset[str]:
        """The parameters that the tool's schema names; empty if nothing says."""
        tool = self._tools.get(name)
        return tool.parameters if tool else _NO_TYPES

    def shape(self, name: str) -> Shape:
        """The schema of the tool's arguments; one that says nothing for a tool that is not known."""
        tool = self._tools.get(name)
        return tool.shape if tool else NO_SHAPE

    def allows_text(self, name: str, parameter: str) -> bool:
        """Whether the parameter may be a string, as far as its schema says."""
        types = self.types(name, parameter)
        return not types or "string" in types

    def coerced(self, name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """The arguments with values written as strings read as what the schema wants, and whether there are any."""
        read = {
            key: value
            for key, text in arguments.items()
            if isinstance(text, str) and not self.allows_text(name, key)
            if (value := coerce(text, self.types(name, key))) != text
        }
        return ({**arguments, **read}, True) if read else (arguments, False)

    def fitted(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments made to fit the tool's schema, without those that it does not know.

        Raises `ValueError` if it refuses all.
        """
        shape = self.shape(name)
        if shape.schema is False:
            raise ValueError("the tool refuses all arguments")
        fitted = kept(fit(arguments, shape), shape)
        return fitted if isinstance(fitted, dict) else arguments

    def required(self, name: str) -> frozenset[str]:
        """The parameters without which the tool can't be called."""
        tool = self._tools.get(name)
        return tool.required if tool else _NO_TYPES

    def mismatch(self, name: str, arguments: Mapping[str, Any], most: int) -> str | None:
        """Why the arguments, of `most` parts at most, do not fit the tool's schema, or None."""
        tool = self._tools.get(name)
        return tool.mismatch(arguments, most) if tool else None

    def wants(self, name: str, argument: str) -> bool:
        """Whether decoded deltas of this argument are asked for."""
        return self.watches_arguments and not self._content.isdisjoint((f"{name}.{argument}", "*"))

    def is_reasoning(self, mode: int) -> bool:
        """Whether the mode's text is reasoning."""
        return mode in self._reasoning_modes

    def behind(self, mode: int) -> int:
        """The mode of the text behind a call that was found in this mode: a call ends the reasoning around it."""
        if mode in self._answers:
            return mode
        return self._answer if mode in self._reasoning_modes else TEXT


def options_key(options: Options) -> str:
    """Content hash of options."""
    return blake2b(msgspec.msgpack.encode(options), digest_size=12).hexdigest()
