"""What became of each piece of the source: for `parse --explain`, and for the proof that no character is lost."""

from typing import Literal, TypeAlias

import msgspec

SpanKind: TypeAlias = Literal["marker", "call", "dropped", "coded"]
"""`coded` is the source of the text in front of it, where it is written otherwise than it reads."""


class Span(msgspec.Struct, frozen=True):
    """Source text that came out neither as text nor as reasoning."""

    kind: SpanKind
    source: str
    ahead: int = 0
    """Characters of text in front of it that still wait for a natural boundary: their events come later."""
