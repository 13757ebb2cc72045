"""What is known of a message while it is parsed: its options, and its tools. Bodies and modes need nothing else.

`Rules` are made once for all messages with the same options, and never changed. `grammar` adds the tables that the
machine runs. A tool's schema comes from the producer and may be anything: what can't be understood is not checked, and
no tool raises.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from tokenmill.limits import Limits
from tokenmill.parser.options import Options, UnknownTool, chosen_tool
from tokenmill.parser.values.coerce import coerce
from tokenmill.parser.values.conform import Check, conform, kept
from tokenmill.parser.values.schema import NO_SHAPE, WRAPPER, Shape, kinds, lists_key, value_shapes

TEXT = 0
"""Number of the mode of visible text."""

_NO_TYPES: frozenset[str] = frozenset()


class Rules:
    """Immutable and shared.

    Args:
        options: of the message.
        limits: of the partition.
        unknown_tool: how a call to a tool that is not declared is treated.
        drops_text_after_calls: whether text after a complete call is dropped.
        first_call_only: whether parsing stops after the first complete call.
        reasoning: numbers of the modes whose text is reasoning.
        answers: numbers of the modes of visible text after it; none if that is `TEXT`.
        traced: whether spans of source are recorded among the events.
    """

    __slots__ = (  # each chunk reads some of it, and a cache in `__dict__` makes all of it slower
        "_answer",
        "_answers",
        "_content",
        "_reasoning_modes",
        "boundary_chars",
        "drops_text_after_calls",
        "first_call_only",
        "limits",
        "message_chars",
        "only_tool",
        "options",
        "streams_input",
        "tools",
        "traced",
        "unknown_tool",
        "watches_arguments",
    )

    def __init__(
        self,
        options: Options,
        limits: Limits,
        *,
        unknown_tool: UnknownTool,
        drops_text_after_calls: bool,
        first_call_only: bool,
        reasoning: frozenset[int],
        answers: frozenset[int],
        traced: bool,
    ) -> None:
        self.options = options
        self.limits = limits
        self.message_chars = limits.message_chars
        self.traced = traced
        self.unknown_tool = unknown_tool
        self.drops_text_after_calls = drops_text_after_calls
        self.first_call_only = first_call_only
        self.streams_input = options.stream_tool_input is not False
        self.watches_arguments = bool(options.content_arguments)
        self.boundary_chars = boundary_chars(options)
        self.tools: Mapping[str, Tool] = read_tools(options.tools, options.original_schemas)
        """The declared tools by name."""
        self._content = frozenset(options.content_arguments)
        self._reasoning_modes = reasoning
        self._answers = answers
        self._answer = min(answers, default=TEXT)
        self.only_tool = chosen_tool(options) or ("".join(self.tools) if len(self.tools) == 1 else "")
        """The one tool that can be meant where a call names none: that of `tool_choice`, else the only one declared.
        Empty if there is none."""

    def knows(self, name: str) -> bool:
        """Whether a tool has this name; without a tool list, any name is a tool's."""
        return not self.tools or name in self.tools

    def declares(self, name: str) -> bool:
        """Whether the tool list names this tool."""
        return name in self.tools

    def types(self, name: str, parameter: str) -> frozenset[str]:
        """Return the JSON types that a parameter may have; empty if the schema gives none."""
        tool = self.tools.get(name)
        return tool.types(parameter) if tool else _NO_TYPES

    def parameters(self, name: str) -> frozenset[str]:
        """Return the parameters that the tool's schema names; empty if it names none."""
        tool = self.tools.get(name)
        return tool.parameters if tool else _NO_TYPES

    def takes(self, name: str, parameter: str) -> bool:
        """Whether the tool's schema has the parameter, by name or otherwise; it has all where it names none."""
        own = self.parameters(name)
        return not own or parameter in own or self.tools[name].has(parameter)

    def shape(self, name: str) -> Shape:
        """Return the schema of the tool's arguments; an empty one for a tool that is not known."""
        tool = self.tools.get(name)
        return tool.shape if tool else NO_SHAPE

    def allows_text(self, name: str, parameter: str) -> bool:
        """Whether the parameter may be a string, by its schema."""
        types = self.types(name, parameter)
        return not types or "string" in types

    def coerced(self, name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """Return the arguments with strings read as the values that the schema wants, and whether there are any."""
        read = {
            key: value
            for key, text in arguments.items()
            if isinstance(text, str) and not self.allows_text(name, key)
            if (value := coerce(text, self.types(name, key))) != text
        }
        return ({**arguments, **read}, True) if read else (arguments, False)

    def conformed(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments made to fit the tool's schema, without those that it does not know.

        Raises `ValueError` if it refuses all.
        """
        shape = self.shape(name)
        if shape.schema is False:
            raise ValueError("the tool refuses all arguments")
        conformed = kept(conform(arguments, shape), shape)
        return conformed if isinstance(conformed, dict) else arguments

    def required(self, name: str) -> frozenset[str]:
        """Return the parameters without which the tool can't be called."""
        tool = self.tools.get(name)
        return tool.required if tool else _NO_TYPES

    def mismatch(self, name: str, arguments: Mapping[str, Any], most: int) -> str | None:
        """Return why the arguments, of `most` parts at most, do not fit the tool's schema, or None."""
        tool = self.tools.get(name)
        return tool.mismatch(arguments, most) if tool else None

    def wants(self, name: str, argument: str) -> bool:
        """Whether decoded deltas of this argument are asked for."""
        return self.watches_arguments and not self._content.isdisjoint((f"{name}.{argument}", "*"))

    def is_reasoning(self, mode: int) -> bool:
        """Whether the mode's text is reasoning."""
        return mode in self._reasoning_modes

    def behind(self, mode: int) -> int:
        """Return the mode of the text after a call that was found in this mode: a call ends the reasoning around it."""
        if mode in self._answers:
            return mode
        return self._answer if mode in self._reasoning_modes else TEXT


def boundary_chars(options: Options) -> int:
    """Return how many characters of text may wait for a natural boundary; 0: text does not wait."""
    return max(1, options.max_buffer_chars) if options.text_mode == "smart" else 0


# The tools: which names are known, which types their parameters may have, and whether arguments fit.

NO_PARAMETER = "\0"
"""A name that no schema lists."""


class Tool:
    """One tool and its schema."""

    def __init__(self, name: str, schema: Any, coercion_schema: Any = None) -> None:
        """`schema` is an object, or False if it allows no arguments."""
        self.name = name
        self._schema: Mapping[str, Any] = schema if schema is not False else {}
        self._said = schema if coercion_schema is None else coercion_schema
        self._coercion: Mapping[str, Any] = self._said if self._said is not False else {}
        self._types: dict[str, frozenset[str]] = {}

    def types(self, parameter: str) -> frozenset[str]:
        """Return every JSON type that the parameter may have; empty if the schema gives none, by `type` or by its
        keywords.
        """
        if parameter not in self._types:
            found = frozenset[str]().union(*(kinds(inner) for inner in value_shapes(self.shape, parameter)))
            if len(self._types) == 1000:  # noqa: PLR2004 # names come from the model: no cache without a bound
                return found
            self._types[parameter] = found
        return self._types[parameter]

    @cached_property
    def shape(self) -> Shape:
        """The schema of the arguments, as it is used to read values."""
        return Shape(self._said, self._coercion)

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The parameters that the schema names, whatever it is composed of."""
        properties = [schema.get("properties") for schema in self.shape.alternatives]
        return frozenset(name for named in properties if isinstance(named, Mapping) for name in named)

    def has(self, parameter: str) -> bool:
        """Whether the schema knows the parameter by name, by pattern or because it lists none."""
        return lists_key(self.shape, parameter)

    @cached_property
    def others(self) -> bool:
        """Whether arguments may have names other than those of `parameters`; False where patterns restrict them."""
        patterns = any("patternProperties" in schema for schema in self.shape.alternatives)
        return not patterns and self._said is not False and self.has(NO_PARAMETER)

    @cached_property
    def required(self) -> frozenset[str]:
        """The parameters that the schema requires."""
        names = self._schema.get("required")
        return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()

    @cached_property
    def _check(self) -> Check:
        return Check(self._schema)

    def mismatch(self, arguments: Mapping[str, Any], most: int) -> str | None:
        """Return why the arguments do not fit the schema; None if they do, or if it can't be checked.

        `most` is the maximum number of parts in the arguments: those of a short source need not be counted.
        """
        return self._check.mismatch(arguments, most)


def read_tools(tools: Sequence[Mapping[str, Any]], originals: Mapping[str, Mapping[str, Any]]) -> dict[str, Tool]:
    """Return the tools by name, from an OpenAI tool list: entries in the form `{"function": {…}}` or flat."""
    read = {}
    for entry in tools:
        function = entry.get("function", entry)
        name = function.get("name") if isinstance(function, Mapping) else None
        if isinstance(name, str):
            schema = bare_schema(function.get("parameters"))
            read[name] = Tool(name, schema, bare_schema(originals.get(name, schema)))
    return read


def bare_schema(schema: Any) -> Any:
    """Return a schema without the wrapper that some libraries put around it; an empty one for anything else."""
    if isinstance(schema, Mapping) and "type" not in schema and isinstance(schema.get(WRAPPER), Mapping):
        return schema[WRAPPER]
    return schema if isinstance(schema, Mapping) or schema is False else {}
