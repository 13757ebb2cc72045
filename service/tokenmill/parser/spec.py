"""What a format is: plain data. `compile` turns it into tables, and `parser` runs them.

A format names its markers and how they nest; it holds no code. The nesting is always the same:

    text ── region (reasoning)
         └─ section ── call ── header ── body
         └─ header (channels) ── block of text or reasoning, section, or body

1. A *marker* is a literal, with other spellings and white space that is allowed. Only text that can still become a
   marker that is live in the current mode is held back.
2. A *region* is text of another kind between two markers.
3. A *section* wraps calls: one or many. Where a format has a pair of tags around each call, the pair is the section;
   what closes a call after its body is framing of the section.
4. A *call* has an opening (a marker, or the first character of its body), an optional header that names the tool, and a
   *body*: the grammar of its arguments.
5. *Channels* are blocks after headers: patterns decide where a header leads.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from tokenmill.parser.bodies import Body
from tokenmill.parser.markers import Marker
from tokenmill.parser.options import Options, UnknownTool


class Region(msgspec.Struct, frozen=True):
    """Reasoning between two markers; a repeated opener inside it is swallowed."""

    open: Marker | None
    """Begins it. After the end of the reasoning it is text there, and so is the close, unless `again` allows more.
    None: only a stream that begins inside it has it."""
    close: Marker
    """Ends it; visible text follows."""
    before: Marker | None = None
    """Ends the region, too, and belongs to the text that follows."""
    label: tuple[Marker, ...] = ()
    """What the region may begin with where the stream begins inside it: the end of an opening whose beginning is in the
    prompt."""
    quotes: bool = False
    """Whether calls that stand alone in it are quoted also where the reasoning is not parsed: its markers are text
    then."""
    again: Literal["text", "reasoning"] = "text"
    """What its opening begins where an answer has had reasoning: it is text, or more reasoning follows."""


class Header(msgspec.Struct, frozen=True):
    """What stands between the opening of a call and its body."""

    until: Marker
    """Ends the header and belongs to it."""
    before: Marker | None = None
    """Ends the header, too, and belongs to what follows."""
    pattern: str = r"\s*(?P<name>\S+)\s*"
    """What the whole header must look like: a regular expression with the group `name`.

    Where that is left out, the call goes to the only tool that can be meant, if there is one.

    Its other groups, if any: `id`, the call's own; `whole`, not empty if the header is the whole call, without a body;
    `short`, the name if it counts only as that of a declared tool.
    """
    unescape: bool = False
    """Whether the name is an attribute in which quotes and the like are entities."""


class Call(msgspec.Struct, frozen=True):
    """One call."""

    open: Marker
    """Begins it."""
    body: Body
    header: Header | None = None
    """What names the tool. None: the opening is the first character of the body, which names it."""
    tag: bool = False
    """Whether, also without a header, the opening is a marker of its own, after which the body begins."""
    short: Marker | None = None
    """Begins it, too, but only where nothing but a call can stand. In the text of a broken section it is content."""
    inside: bool = False
    """Whether it stands only inside its section, whatever `Section.bare` allows for the others."""


Bare: TypeAlias = Literal["never", "declared", "always", "alone"]
Layer: TypeAlias = Literal["tools", "always"]


class Section(msgspec.Struct, frozen=True):
    """The wrapper around calls, or calls that stand together without one.

    Of calls with the same opening, the first that fits what follows wins (`Marker.ahead`).
    """

    open: Marker | None
    """Begins it; a call must follow. None: the call's own opening does."""
    close: Marker | None
    """Ends it. None: anything but a call or framing ends it."""
    calls: tuple[Call, ...]
    framing: tuple[Marker, ...] = ()
    """What may stand around calls besides white space: brackets and commas of a list."""
    leads: tuple[Marker, ...] = ()
    """Framing that begins a call: after what the section can't hold, reading continues from there."""
    bare: Bare = "never"
    """Whether a call is also recognized without the section's opening: if it names a declared tool, or always; or each
    stands alone, so that text between two of them is text."""
    in_reasoning: Literal["section", "calls"] = "section"
    """What ends the reasoning, where calls in it are honored: only the section's opening, as a call without it is a
    draft; or also that of a call, where calls may stand without the section."""
    layer: Layer = "tools"
    """When it is parsed: with tool calls, or whatever `parse` is, as to the model it is not a tool call."""
    block: Marker | None = None
    """Ends a block of text that a call turned out to open (`Verdict.BLOCK`)."""
    again: Literal["nothing", "close", "body"] = "close"
    """What models repeat after its end, where it means nothing: its close, if that is longer than a character; or also
    what stood in it, and then the close."""
    listed: bool = False
    """Whether the first of the framing, the bracket of a list, must stand before the first call."""
    quoted: bool = False
    """Whether prose has its tags, too: a pair after text, with nothing between them and on one line, is text."""


BlockKind: TypeAlias = Literal["text", "reasoning", "drop"]


class Route(msgspec.Struct, frozen=True):
    """Where a channel's header leads."""

    pattern: str
    """What the whole header looks like, its markers included: a regular expression, with the groups of a `Header`'s if
    the header names the tool."""
    to: BlockKind | Section | Body
    """A block of text; or a section, whose opening is the header; or the arguments of the call that the header
    names."""


class Channels(msgspec.Struct, frozen=True):
    """Blocks in any order, each after a header that gives its kind."""

    open: Marker
    """Begins a header."""
    until: Marker
    """Ends the header and belongs to it."""
    close: Marker
    """Ends a block; outside a block it means nothing."""
    shape: str
    """What an incomplete header looks like: a regular expression that matches every beginning of one, markers included,
    also that of a stream which begins inside a header."""
    routes: tuple[Route, ...]
    """Routes: the first whose pattern fits decides what the block is; where none fits, the header was text."""
    within: Marker | None = None
    """Other markers that may stand inside a header."""
    unopened: bool = False
    """Whether a header may be its end marker alone."""
    reopens: tuple[BlockKind, ...] = ("text", "reasoning", "drop")
    """Blocks that end where a new header begins; in the others it is quoted."""
    unparsed_framing: bool = False
    """Whether reasoning that is not parsed is text without its header and close; otherwise these are text, too."""
    alone: Marker | None = None
    """Begins a header, too, but only inside those blocks: the model leaves it when it forgets to end one."""
    repeats: Marker | None = None
    """A repeated announcement of a block of text, inside such a block: it is swallowed there."""


class Answer(msgspec.Struct, frozen=True):
    """The whole answer is one JSON object with a text and a call."""

    text: str
    """The key of the text, a string."""
    call: str
    """The key of the call, an object."""
    body: Body
    """The grammar of the call."""


class WholeCall(msgspec.Struct, frozen=True):
    """The whole answer is one JSON object with name and arguments, and becomes a call whatever it looks like."""


class Notation(Protocol):
    """Writes the arguments of a call: the inverse of a body's grammar."""

    def write(self, arguments: Mapping[str, Any]) -> str:
        """Write all arguments, without what surrounds them."""


class History(msgspec.Struct, frozen=True):
    """How the history shows a model its own calls and their results. See `formats.history` for what templates
    contain.
    """

    call: str
    result: str
    notation: Notation


CallsInReasoning: TypeAlias = Literal["honour", "ignore"]
TextAfterCalls: TypeAlias = Literal["keep", "drop"]


class Format(msgspec.Struct, frozen=True):
    """The grammar in which a model writes reasoning and tool calls."""

    name: str
    summary: str
    sample: str
    """A complete answer in this format; shown by `tokenmill formats` and in the docs."""
    models: tuple[str, ...] = ()
    """Models that write it, as their repositories name them; `*` stands for anything. See `formats.models`."""
    aliases: tuple[str, ...] = ()
    """Names that other servers give this format's parser."""
    regions: tuple[Region, ...] = ()
    strays: tuple[Marker, ...] | None = None
    """Markers of regions that mean nothing in visible text and are swallowed there. None: what closes the regions."""
    noise: tuple[Marker, ...] = ()
    """Markers that are swallowed in visible text and in reasoning whatever is parsed, such as ends of turns."""
    sections: tuple[Section, ...] = ()
    channels: Channels | None = None
    history: History | None = None
    """How calls are shown in the history. None: the format has no calls."""
    answer: Answer | WholeCall | None = None
    """Form of a whole answer. Only of the first format, where several live at once."""
    prompt: str = ""
    """The end of the prompt, where it belongs to the answer: it is read as if the model had written it."""
    start: Literal["text", "reasoning", "header"] = "text"
    """Where an answer begins."""
    unknown_tool: UnknownTool = "call"
    """How a call to a tool that is not declared is treated, if any tools are declared."""
    calls_in_reasoning: CallsInReasoning = "ignore"
    """Whether a call inside the reasoning counts and ends it, or is a draft."""
    text_after_calls: TextAfterCalls = "keep"
    """What becomes of text after a complete call."""
    first_call_only: bool = False
    """Whether parsing stops after the first complete call: what looks like another one is text, too."""
    configured: Callable[["Format", Options], "Format"] | None = None
    """Returns the format for the options of a message, where they set more than its markers' suffix. Pure. Raises
    `BadOpen` for a value that it does not know."""


def strays_of(format_: Format) -> tuple[Marker, ...]:
    """Return the markers of regions that are swallowed in visible text."""
    return tuple(region.close for region in format_.regions) if format_.strays is None else format_.strays
