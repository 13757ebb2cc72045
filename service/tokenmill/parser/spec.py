"""What a format is: plain data that `compile` makes tables of, which `parser` runs.

A format names its markers and how they nest; it holds no code. The nesting is always the same:

    text ── region (reasoning)
         └─ section ── call ── header ── body
         └─ header (channels) ── block of text or reasoning, section, or body

1. A *marker* is a literal, with other spellings and tolerated white space. Nothing is held back but what can still
   become a marker that is live in the current mode.
2. A *region* is text of another kind between two markers.
3. A *section* wraps calls: one or many. Where a format has a tag pair around each call, the pair is the section; what
   closes a call behind its body is framing of the section.
4. A *call* has an opening (a marker, or the first character of its body), an optional header that names the tool, and a
   *body*: the grammar of its arguments.
5. *Channels* are blocks behind headers: where a header leads is told by patterns.
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
    """Begins it. Behind the end of the reasoning it is text, as what closes it there, unless `again` says otherwise.
    None: only a stream that begins inside it has it."""
    close: Marker
    """Ends it; visible text follows."""
    before: Marker | None = None
    """Ends the region, too, and belongs to the text that follows."""
    label: tuple[Marker, ...] = ()
    """What the region may begin with where the stream begins inside of it: the end of an opening that the prompt has
    the beginning of."""
    quotes: bool = False
    """Calls that stand alone in it are quoted also where the reasoning is not parsed: its markers are text then."""
    again: Literal["text", "reasoning"] = "text"
    """What its opening begins where an answer has had reasoning: it is text, or more reasoning follows."""


class Header(msgspec.Struct, frozen=True):
    """What stands between the opening of a call and its body."""

    until: Marker
    """Ends the header and belongs to it."""
    before: Marker | None = None
    """Ends the header, too, and belongs to what follows."""
    pattern: str = r"\s*(?P<name>\S+)\s*"
    """What the header must look like as a whole: a regular expression with the group `name`.

    Where that is left out, the call is of the only tool that can be meant, if there is one.

    Its other groups, if any: `id`, the call's own; `whole`, not empty if the header is the whole call, without a body;
    `short`, the name if only that is a declared tool's.
    """
    unescape: bool = False
    """The name is an attribute in which quotes and the like are entities."""


class Call(msgspec.Struct, frozen=True):
    """One call."""

    open: Marker
    """Begins it."""
    body: Body
    header: Header | None = None
    """What names the tool. None: the opening is the first character of the body, which does so itself."""
    tag: bool = False
    """Without a header, too, the opening is a marker of its own, behind which the body begins."""
    short: Marker | None = None
    """Begins it, too, but only where nothing but a call can stand: in the text of a broken section it is content."""
    inside: bool = False
    """It stands only inside of its section, whatever `Section.bare` says of the others."""


Bare: TypeAlias = Literal["never", "declared", "always", "alone"]
Layer: TypeAlias = Literal["tools", "always"]


class Section(msgspec.Struct, frozen=True):
    """The wrapper around calls, or calls that stand together without one.

    Of calls with the same opening the first wins that fits what follows (`Marker.ahead`).
    """

    open: Marker | None
    """Begins it; a call must follow. None: the call's own opening does."""
    close: Marker | None
    """Ends it. None: whatever is no call and no framing ends it."""
    calls: tuple[Call, ...]
    framing: tuple[Marker, ...] = ()
    """What may stand around calls besides white space: brackets and commas of a list."""
    leads: tuple[Marker, ...] = ()
    """Framing that begins a call: behind what the section can't hold it is read on from there."""
    bare: Bare = "never"
    """Whether a call is also recognised without the section's opening: if it names a declared tool, or always; or each
    stands alone, so that what is between two of them is text."""
    in_reasoning: Literal["section", "calls"] = "section"
    """What ends the reasoning, where calls in it are honoured: its opening alone, as a call without it is a draft; or
    that of a call, too, where calls may stand without it."""
    layer: Layer = "tools"
    """When it is parsed: with tool calls, or whatever `parse` says, as it is no tool call to the model."""
    block: Marker | None = None
    """Ends a block of text that a call turned out to open (`Verdict.BLOCK`)."""
    again: Literal["nothing", "close", "body"] = "close"
    """What models write once more behind its end, where it means nothing: its close, if that is more than a character;
    or what stood in it, too, and then the close."""
    listed: bool = False
    """The first of the framing, the bracket of a list, must stand in front of the first call."""


BlockKind: TypeAlias = Literal["text", "reasoning", "drop"]


class Route(msgspec.Struct, frozen=True):
    """Where a channel's header leads."""

    pattern: str
    """What the whole header looks like, its markers included: a regular expression, with the groups of a `Header`'s
    if the header names the tool."""
    to: BlockKind | Section | Body
    """A block of text; or a section, of which the header is the opening; or the arguments of the call that the header
    names."""


class Channels(msgspec.Struct, frozen=True):
    """Blocks in any order, each behind a header that says what it is."""

    open: Marker
    """Begins a header."""
    until: Marker
    """Ends the header and belongs to it."""
    close: Marker
    """Ends a block; outside of one it means nothing."""
    shape: str
    """What a header looks like as far as it has come: a regular expression that matches every beginning of one, markers
    included, that of a stream which begins inside a header, too."""
    routes: tuple[Route, ...]
    """The first whose pattern fits tells what the block is; where none does, the header was text."""
    within: Marker | None = None
    """Other markers that may stand inside a header."""
    unopened: bool = False
    """A header may be its end marker alone."""
    reopens: tuple[BlockKind, ...] = ("text", "reasoning", "drop")
    """Blocks that end where a new header begins; in the others it is quoted."""
    unparsed_framing: bool = False
    """Reasoning that is not parsed is text without its header and close; otherwise these are text, too."""
    alone: Marker | None = None
    """Begins a header, too, but only inside of those blocks: what the model leaves when it forgets to end one."""
    repeats: Marker | None = None
    """What says once more, inside of a block of text, that it is one: it is swallowed there."""


class Answer(msgspec.Struct, frozen=True):
    """The whole answer is one JSON object with a text and a call."""

    text: str
    """The key of the text, a string."""
    call: str
    """The key of the call, an object."""
    body: Body
    """What the call is."""


class WholeCall(msgspec.Struct, frozen=True):
    """The whole answer is one JSON object with name and arguments, and becomes a call whatever it looks like."""


class Notation(Protocol):
    """Writes the arguments of a call: the inverse of a body's grammar."""

    def write(self, arguments: Mapping[str, Any]) -> str:
        """All arguments, without what stands around them."""


class History(msgspec.Struct, frozen=True):
    """How the history shows a model its own calls and their results. See `formats.history` for what templates hold."""

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
    """Models that write it, as their repositories call them; `*` stands for anything. See `formats.models`."""
    aliases: tuple[str, ...] = ()
    """Names that other servers give this format's parser."""
    regions: tuple[Region, ...] = ()
    strays: tuple[Marker, ...] = ()
    """Markers of regions that mean nothing in visible text and are swallowed there."""
    noise: tuple[Marker, ...] = ()
    """Markers that are swallowed in visible text and in reasoning whatever is parsed: ends of turns and the like."""
    sections: tuple[Section, ...] = ()
    channels: Channels | None = None
    history: History | None = None
    """None: it has no calls."""
    answer: Answer | WholeCall | None = None
    """Only of the first format, where several live at once."""
    prompt: str = ""
    """What the prompt ends with although it belongs to the answer: it is read as if the model had written it."""
    start: Literal["text", "reasoning", "header"] = "text"
    """Where an answer begins."""
    unknown_tool: UnknownTool = "call"
    """What a call to a tool that is not declared is, where tools are."""
    calls_in_reasoning: CallsInReasoning = "ignore"
    """Whether a call inside the reasoning is one and ends it, or a draft."""
    text_after_calls: TextAfterCalls = "keep"
    """What becomes of text behind a complete call."""
    first_call_only: bool = False
    """Behind the first complete call nothing is parsed: what looks like another one is text, too."""
    configured: Callable[["Format", Options], "Format"] | None = None
    """What the format is under the options of a message, where they say more than its markers' suffix. Pure. Raises
    `BadOpen` for a value that it does not know."""
