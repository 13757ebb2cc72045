"""The parser's state: plain data that can be encoded after every chunk, at any place in the text.

Positions are characters counted from the start of the call's source. Modes and frames are numbers into the compiled
grammar, which is the same wherever the message's options are the same.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import msgspec

from tokenmill.parser.values.repair import whole_characters


class JsonState(msgspec.Struct, array_like=True, gc=False):
    """The position in a JSON text."""

    stack: str = ""
    """Open brackets."""
    phase: int = 0
    quote: str = ""
    """Quote of the open string."""
    escaped: bool = False
    """The character before was a backslash that escapes, or a slash that may begin a comment. Outside strings and
    comments: a string ended in a strict text, and only white space has come since."""
    capture: bool = False
    """The open string or scalar is wanted: its raw text is collected."""
    text: str = ""
    """Raw text captured so far."""
    key: str = ""
    """Key of the value at depth 1."""
    argument: str = ""
    """Key of the value at depth 2, where arguments are watched."""
    name: str | None = None
    id: str | None = None
    root: int = 0
    """Where the JSON text begins in the call's source."""
    begin: int = -1
    """Where the value of the arguments begins."""
    end: int = -1
    """Where it ends, exclusive."""
    stringy: bool = False
    """The arguments are a string that holds JSON."""
    sending: bool = False
    """The value of the arguments is open, and its source is sent as it arrives."""
    tail: str = ""
    """Incomplete escape at the end of a string that is being decoded."""
    spelling: int = 0
    """Spelling of strings from here on: a `repair.Spelling`."""
    strict: bool = False
    """A character that can't follow a string breaks the text immediately."""


class Growing(msgspec.Struct, array_like=True, gc=False):
    """A string argument whose decoded text is being sent."""

    argument: str
    waiting: str = ""
    """Decoded text below `min_delta_chars`; or all of it, while it can still be `null`."""
    undecided: bool = False
    """Whether it can still be `null`."""


WIDE = 4
"""Bytes of a character in a text that is not all ASCII, at most; two are common."""

PIECE_BYTES = 68
"""Bytes of a text in memory besides its characters, with its place in a list."""

BLOCK_PIECES = 64
"""Pieces that are joined to a block: each character is copied twice in all, and few pieces are kept alone."""


class Source(msgspec.Struct, array_like=True, gc=False):
    """The source of a call so far, in pieces: joined in two steps, so that adding to it stays cheap."""

    size: int = 0
    pieces: list[str] = []
    blocks: list[str] = []

    def add(self, text: str) -> None:
        """Append `text`."""
        if text:
            self.size += len(text)
            self.pieces.append(text)
            if len(self.pieces) >= BLOCK_PIECES:
                self.fold()

    def fold(self) -> None:
        """Join the pieces to a block."""
        self.blocks.append("".join(self.pieces))
        self.pieces.clear()

    @property
    def last(self) -> str:
        """The last character, or an empty text."""
        pieces = self.pieces or self.blocks
        return pieces[-1][-1:] if pieces else ""

    @property
    def memory(self) -> int:
        """About how many bytes it takes, estimated from its last part."""
        parts = self.blocks or self.pieces
        width = 1 if not parts or parts[-1].isascii() else WIDE
        return self.size * width + (len(self.blocks) + len(self.pieces)) * PIECE_BYTES

    def text(self) -> str:
        """Return the whole source."""
        return "".join(self.blocks) + "".join(self.pieces)


class OpenCall(msgspec.Struct, array_like=True, gc=False):
    """A call whose source is still arriving."""

    source: Source
    frame: int = -1
    """The grammar's mode of this call; -1 for a call of a provider's own tool stream."""
    bare: bool = False
    """Whether it was found outside a section."""
    header: str = ""
    """Text of the header so far."""
    body: Any = None
    """State of its reader, a `Reader.state_type`; None until the header is read."""
    name: str = ""
    id: str = ""
    begun: bool = False
    """The name is accepted and the id fixed: the call can't become plain text without an `error`."""
    dropped: bool = False
    """An unknown tool whose call leaves no trace but an `error`."""
    growing: Growing | None = None
    grown: dict[str, bool] = {}
    """String arguments of which deltas were sent, as keys."""
    doubtful: bool = False
    """Whether nothing shows yet that it is a call: cut off here, it is text."""


class NativeCall(msgspec.Struct, array_like=True, gc=False):
    """A call of a provider's own tool stream, by the provider's index."""

    index: int
    call: OpenCall
    complete: bool = False


class OpenAnswer(msgspec.Struct, array_like=True, gc=False):
    """The object that is the whole answer."""

    json: JsonState
    in_text: bool = False
    """Whether the string that is its text is open."""


class Rest(msgspec.Struct, array_like=True, gc=False):
    """What is known of a failed call while the rest of its source arrives. The source itself is not kept."""

    bare: bool
    """Whether it was found outside a section."""
    whole: bool
    """Whether it was read to an end: its close or its section's may follow, or another call."""
    closed: bool = False
    """Whether its close has come; if it is not whole, words follow that."""
    call: str | None = None
    """Its id, where its source is a block of its own that is still open; empty if it had none yet."""


class State(msgspec.Struct, array_like=True, gc=False):
    """The state of the parser for one message and choice."""

    identity: str
    """Text from which the ids of calls are derived."""
    mode: int
    held: str = ""
    """Text that can still become a marker."""
    room: int = 0
    """White space that may follow it without being looked at."""
    pending: str = ""
    """Framing of a section that belongs to its next call, or becomes text if there is none."""
    origin: int = 0
    """Mode in which the open section was found."""
    answered: bool = False
    """The open section has had a complete call."""
    spoiled: bool = False
    """The last call of the open section failed: its closing is text, too."""
    block: str = ""
    """Id of the open text or reasoning block."""
    reasoning: bool = False
    """The open block is reasoning."""
    blocks: int = 0
    chars: int = 0
    calls: int = 0
    """Calls begun."""
    complete: int = 0
    """Calls completed."""
    dropped: int = 0
    """Complete calls to unknown tools that the options drop."""
    started: bool = False
    finished: bool = False
    call: OpenCall | None = None
    native: list[NativeCall] | None = None
    wire_ids: tuple[str, ...] = ()
    """Ids that the model or the provider gave to calls of this message."""
    waiting: str = ""
    """Visible text that waits for a natural boundary."""
    answer: OpenAnswer | None = None
    """State inside the object that is the whole answer."""
    body: str = ""
    """Content of the section that ended, or of the open one so far, where that may be repeated."""
    repeated: int = 0
    """How much of it was repeated."""
    rest: Rest | None = None
    """A call failed and its source continues, up to what closes it."""

    def open_calls(self) -> list[OpenCall]:
        """Return the calls whose source is still arriving, or about which something is still to be sent."""
        calls = [native.call for native in self.native or ()]
        return [*calls, self.call] if self.call else calls

    def hold(self, text: str, room: Callable[[str], int]) -> None:
        """Keep text that can still become a marker; `room` returns how much white space may follow it."""
        self.held, self.room = text, room(text)


def encode_state(state: State) -> bytes:
    """Return the state as MessagePack; half a surrogate pair, which has no bytes, becomes U+FFFD."""
    try:
        return msgspec.msgpack.encode(state)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(whole_characters(msgspec.to_builtins(state)))


StructT = TypeVar("StructT", bound=msgspec.Struct)


def looked_at(kind: type[StructT]) -> type[StructT]:
    """Return a type after msgspec has looked at it: two threads that use one for the first time crash msgspec 0.22."""
    msgspec.msgpack.Decoder(kind)
    return kind


BodyType: TypeAlias = Callable[[OpenCall], type[msgspec.Struct]]
"""Returns the state type of a call's body: the state does not know which readers there are."""


def decode_state(data: bytes, body_type: BodyType) -> State:
    """The inverse of `encode_state`. Raises `msgspec.DecodeError`."""
    state = _decoder.decode(data)
    for call in state.open_calls():
        if call.body is not None:
            call.body = msgspec.convert(call.body, body_type(call))
    return state


_decoder: msgspec.msgpack.Decoder[State] = msgspec.msgpack.Decoder(State)
