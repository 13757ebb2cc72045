"""How often an answer is read: the longer Kafka takes for a record, the more tokens become one.

1. A record costs caller, broker, worker and front the same, whether it brings one token or ten. So where they are busy,
   which the time until an acknowledgement shows, an answer is left alone for some such times, and what came meanwhile
   is written together. With little to do that is shorter than a token takes, and every token has its own record.
2. The first piece of an answer is written at once, and nothing is ever held that has been read.
3. Only what brings text or reasoning of one choice, and nothing else, is joined: a parser does not see cuts.
"""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from tokenmill.codecs import Chunk

TIMES = 8
"""A pause is as long as this many acknowledgements take: far longer than a record is on its way."""

MOST_S = 0.05
"""Twenty pieces of text a second are read as a flow."""

LEAST_S = 0.005
"""Shorter is no pause: a timer has its cost, too."""


def pause_s(acknowledged_s: float) -> float:
    """For how long an answer is left alone behind what was read of it; 0 for not at all."""
    pause = min(TIMES * acknowledged_s, MOST_S)
    return pause if pause >= LEAST_S else 0.0


def joined(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
    """The same text in fewer chunks, in its order."""
    if len(chunks) == 1:  # as nearly always where there is little to do
        return chunks
    found = list[Chunk]()
    for chunk in chunks:
        if found and (both := _together(found[-1], chunk)) is not None:
            found[-1] = both
        else:
            found.append(chunk)
    return found


def _together(first: Chunk, second: Chunk) -> Chunk | None:
    """Both as one, if they may be. A chunk's reasoning comes before its text, so none comes behind text."""
    if (
        first.choice != second.choice
        or (first.delta and second.reasoning)
        or not (_is_text(first) and _is_text(second))
    ):
        return None
    return msgspec.structs.replace(
        first,
        reasoning=(first.reasoning or "") + (second.reasoning or ""),
        delta=(first.delta or "") + (second.delta or ""),
    )


def _is_text(chunk: Chunk) -> bool:
    """Whether it brings text or reasoning, and nothing else that counts."""
    further = (chunk.part, chunk.usage, chunk.finish_reason, chunk.control, chunk.error, chunk.open)
    return not chunk.tool_calls and chunk.end is UNSET and all(each is None for each in further)
