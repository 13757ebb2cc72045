"""What a model says in one answer: its text as tokens, some of which a server hides, joins, sorts out or cuts off."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

Fail = Literal["", "refuse", "drop", "error", "hang", "junk", "no-finish"]
Kind = Literal["content", "reasoning", "call"]


class Call(msgspec.Struct, frozen=True):
    """A call as a server with a parser tells it; servers of raw text have it in their text only."""

    name: str
    arguments: str = "{}"
    id: str = "call_1"


class Script(msgspec.Struct):
    """What one generation says, and how it goes wrong."""

    text: str
    """The model's raw text."""
    pieces: list[str] | None = None
    """Its tokens, if it matters where they end."""
    cut: int = 4
    """Characters of a token otherwise."""
    finish: str = "stop"
    pause_s: float = 0.0
    """Before each token."""
    first_s: float = 0.0
    """Before the first, besides."""
    usage: bool = True
    """Whether the server counts tokens if it is asked to."""
    fail: Fail = ""
    after: int = 0
    """So many tokens are sent before it fails."""
    status: int = 500
    """Of a refusal."""
    retry_after: int | None = None
    hidden: int = 0
    """Tokens of a text that the server has removed, and counts."""
    reasoning: str = ""
    """For servers that have it beside the text: hosted ones."""
    calls: list[Call] = []
    """For servers that tell them beside the text."""


class Rules(msgspec.Struct, frozen=True):
    """What the request and the server's settings make of a text."""

    special: Sequence[str] = ()
    """Markers that are one token each, and special ones."""
    keep: Collection[str] = ()
    """Those that are not hidden."""
    spaced: bool = False
    """A space between two special tokens that are shown."""
    stop: Sequence[str] = ()
    limit: int | None = None
    """Tokens at most."""
    think: tuple[str, str] | None = None
    """What encloses reasoning, if the server sorts it out."""
    native: bool = False
    """Calls are told beside the text."""


class Piece(msgspec.Struct, frozen=True):
    """One token of an answer."""

    text: str
    kind: Kind = "content"
    number: int = 0
    """Which call it belongs to."""
    opens: Call | None = None
    """The call that begins here."""


class Speech(msgspec.Struct):
    """One choice of an answer."""

    pieces: list[Piece]
    finish: str
    matched: str | None = None
    """The stop string that ended it."""
    tokens: int = 0
    """How many the server counts: that of the end, too."""

    def told(self, kind: Kind) -> str:
        """All text of a kind."""
        return "".join(piece.text for piece in self.pieces if piece.kind == kind)

    @property
    def calls(self) -> list[Call]:
        """All calls."""
        return [piece.opens for piece in self.pieces if piece.opens is not None]


def speech(script: Script, rules: Rules) -> Speech:
    """What a server with these rules sends of a script."""
    pieces = list(_sorted_out(_tokens(script, rules.special), rules.think))
    pieces = [msgspec.structs.replace(piece, text=_shown(piece.text, rules)) for piece in pieces]
    pieces = _spaced(pieces, rules) if rules.spaced else pieces
    pieces, matched = _stopped(pieces, rules.stop)
    finish = "stop" if matched is not None else script.finish
    if rules.limit is not None and len(pieces) > rules.limit:
        pieces, finish, matched = pieces[: rules.limit], "length", None
    if rules.native and script.calls:
        pieces += _calls(script)
        finish = "tool_calls" if finish == "stop" else finish
    return Speech(pieces, finish, matched, len(pieces) + (finish != "length") + script.hidden)


def _tokens(script: Script, special: Sequence[str]) -> Iterator[Piece]:
    """Markers are never cut, as real tokenizers have a token for each."""
    for text in _cut(script.reasoning, script.cut):
        yield Piece(text, "reasoning")
    if script.pieces is not None:
        yield from map(Piece, script.pieces)
        return
    markers = "|".join([*map(re.escape, special), r"<[^<>\s]{1,60}>"])
    for position, part in enumerate(re.split(f"({markers})", script.text)):
        yield from map(Piece, [part] if position % 2 else _cut(part, script.cut))


def _cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _sorted_out(pieces: Iterable[Piece], think: tuple[str, str] | None) -> Iterator[Piece]:
    kind: Kind = "content"
    for piece in pieces:
        if think is None or piece.kind != "content":
            yield piece
        elif piece.text in think:
            kind = "reasoning" if piece.text == think[0] else "content"
        else:
            yield Piece(piece.text, kind)


def _shown(text: str, rules: Rules) -> str:
    for marker in rules.special:
        if marker not in rules.keep:
            text = text.replace(marker, "")
    return text


def _spaced(pieces: list[Piece], rules: Rules) -> list[Piece]:
    behind = {later for earlier, later in pairwise(range(len(pieces))) if pieces[earlier].text in rules.special}
    return [
        Piece(f" {piece.text}", piece.kind) if at in behind and piece.text in rules.special else piece
        for at, piece in enumerate(pieces)
    ]


def _stopped(pieces: list[Piece], stop: Sequence[str]) -> tuple[list[Piece], str | None]:
    text = "".join(piece.text for piece in pieces)
    found = min(((text.find(word), word) for word in stop if word in text), default=None)
    if found is None:
        return pieces, None
    kept, left = list[Piece](), found[0]
    for piece in pieces:
        if left > 0:
            kept.append(msgspec.structs.replace(piece, text=piece.text[:left]))
        left -= len(piece.text)
    return kept, found[1]


def _calls(script: Script) -> Iterator[Piece]:
    for number, call in enumerate(script.calls):
        yield Piece("", "call", number, call)
        for text in _cut(call.arguments, script.cut):
            yield Piece(text, "call", number)
