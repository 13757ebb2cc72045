"""White space at the sides of a value that belongs to the layout: how much is trimmed, and what of a value is certain.

What may be trimmed is bounded, so what waits at the end of a growing value is bounded, too.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from tokenmill.parser.bodies.json_body import as_arguments
from tokenmill.parser.markers import Marker, marker
from tokenmill.parser.run.rules import Rules
from tokenmill.parser.values.coerce import read_typed
from tokenmill.parser.values.repair import decode_json

Trim: TypeAlias = Literal["none", "line", "lines", "breaks", "strip"]
"""Nothing; one new line at each side; the same, but only if there is one in front; all new lines at both sides; all
white space at both sides."""

STRIP_CHARS = 256
"""What `breaks` and `strip` take from each side: more than any indentation."""


class Layout(NamedTuple):
    """One rule."""

    characters: str | None
    """What is trimmed; None: white space."""
    most: int
    """How many at each side."""
    paired: bool = False
    """A value that does not begin with layout does not end with it."""

    def leading(self, text: str, most: int) -> int:
        """How many of the first characters are layout, of `most` that still may be."""
        return min(len(text) - len(text.lstrip(self.characters)), most)

    def certain(self, text: str) -> str:
        """The text without what may be layout at its end."""
        trailing = min(len(text) - len(text.rstrip(self.characters)), self.most)
        return text[: len(text) - trailing]

    def whole(self, text: str) -> str:
        """A complete value without its layout."""
        leading = self.leading(text, self.most)
        return text if self.paired and not leading else self.certain(text[leading:])


LAYOUTS: dict[Trim, Layout] = {
    "none": Layout("", 0),
    "line": Layout("\n", 1),
    "lines": Layout("\n", 1, paired=True),
    "breaks": Layout("\n", STRIP_CHARS),
    "strip": Layout(None, STRIP_CHARS),
}


# Escapes inside of a value: characters that stand for others, and sections in which nothing stands for anything else.


class Escapes(msgspec.Struct, frozen=True):
    """The escapes of one kind of markup. Values that have them are not trimmed."""

    raw: tuple[Marker, Marker]
    """Begin and end of a section whose text is as it stands."""
    characters: dict[str, str]
    """What stands for what."""

    def decoder(self) -> Callable[[str], str]:
        """The text that a whole value stands for."""
        begin, end = (re.escape(side.spellings[0]) for side in self.raw)
        signs = "|".join(re.escape(sign) for sign in self.characters)
        pattern = re.compile(f"{begin}(?P<raw>.*?){end}|(?P<sign>{signs})", re.DOTALL)

        def text_of(found: re.Match[str]) -> str:
            return self.characters[found["sign"]] if found["raw"] is None else found["raw"]

        firsts = {self.raw[0].spellings[0], *(sign[0] for sign in self.characters)}

        def decode(text: str) -> str:
            return pattern.sub(text_of, text) if any(first in text for first in firsts) else text

        return decode


XML = Escapes(
    raw=(marker("<![CDATA["), marker("]]>")),
    characters={"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&apos;": "'"},
)


# Tagged parameters against the tool: arguments one level too deep, as JSON instead, unknown, missing or repeated.

WRAPPERS = frozenset({"arguments", "input", "parameters", "properties"})
"""Names that models give to a single parameter that holds all arguments."""

_OBJECT = frozenset({"object"})


def may_wrap(rules: Rules, tool: str, key: str) -> bool:
    """Whether a parameter is not the tool's own and may hold all of its arguments."""
    own = rules.parameters(tool)
    return key in WRAPPERS and bool(own) and key not in own


def unwrapped(rules: Rules, tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The arguments without a wrapper around them: a parameter without a name, or one of which the tool knows all that
    it holds.

    And whether what it held had to be repaired. Raises `ValueError` if a parameter without a name holds no arguments.
    """
    key = next(iter(arguments), "") if "" not in arguments else ""
    if key not in arguments or (key and (len(arguments) > 1 or not may_wrap(rules, tool, key))):
        return arguments, False
    value = arguments[key]
    inner, repaired = read_typed(value, _OBJECT) if isinstance(value, str) else (value, False)
    if not key and (len(arguments) > 1 or not isinstance(inner, dict)):
        raise ValueError("a parameter has no name")
    if key and not (isinstance(inner, Mapping) and inner.keys() <= rules.parameters(tool)):
        return arguments, False
    return dict(inner), repaired


def read_object(text: str) -> tuple[dict[str, Any], bool]:
    """The arguments of a call without parameters: the JSON object in their place, or none.

    Raises `ValueError` if what begins like an object can't be read as one.
    """
    if not text.lstrip().startswith("{"):
        return {}, False
    value, repaired = decode_json(text)
    return as_arguments(value), repaired


def fitting(rules: Rules, tool: str, arguments: dict[str, Any], repeated: int = 0) -> dict[str, Any]:
    """The arguments that the tool has. Raises `ValueError` if one is repeated or one that is required is missing."""
    if repeated:
        raise ValueError("a parameter is repeated")
    if missing := sorted(rules.required(tool) - arguments.keys()):
        raise ValueError(f"required parameters are missing: {', '.join(missing)}")
    return {key: value for key, value in arguments.items() if rules.takes(tool, key)}
