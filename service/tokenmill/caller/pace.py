"""How often an answer is read: the longer Kafka takes for a record, the more tokens become one.

1. A record costs caller, broker, worker and front the same, whether it brings one token or ten. So where they are busy,
   which the time until an acknowledgement shows, an answer is left alone for a while, and what came meanwhile is read
   and written together. That time waits in line several times, so it grows slowly at first and fast in the end, and the
   pause with its square: with little to do it is shorter than a token takes, and every token has its own record.
2. Answers that are left alone are read again at the same moments: one request to Kafka brings tokens of several.
3. The first piece of an answer is written at once, and nothing is ever held that has been read.
4. Only what brings text or reasoning of one choice, and nothing else, is joined: a parser does not see cuts.
"""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from tokenmill.codecs import Chunk

SQUARE_S = 0.00025
"""An acknowledgement of so long would have a pause of as long. One of 2 ms has 16 ms, one of 4 ms has 64 ms."""

MOST_S = 0.1
"""Ten pieces of text a second are read as a flow."""

LEAST_S = 0.005
"""Shorter is no pause: a timer has its cost, too."""

TOGETHER_S = 0.01
"""Between two moments at which answers are read again. With 200 of them, each moment has some twenty: beside answers
that each came at a time of their own, caller, worker and broker had a fifth less to do."""


def pause_s(acknowledged_s: float) -> float:
    """For how long an answer is left alone behind what was read of it; 0 for not at all."""
    pause = min(acknowledged_s**2 / SQUARE_S, MOST_S)
    return pause if pause >= LEAST_S else 0.0


def together(pause: float, now_s: float) -> float:
    """A pause from `now_s` on that ends at a moment of all: less than `TOGETHER_S` earlier, if it is long enough."""
    return pause - (now_s + pause) % TOGETHER_S if pause > 2 * TOGETHER_S else pause


def joined(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
    """The same text in fewer chunks, in its order."""
    if len(chunks) == 1:  # as nearly always where there is little to do
        return chunks
    found, run = list[Chunk](), list[Chunk]()
    for chunk in chunks:
        text = _is_text(chunk)
        if run and not (text and _goes_on(run, chunk)):
            found.append(_one(run))
            run = []
        (run if text else found).append(chunk)
    return [*found, _one(run)] if run else found


def _goes_on(run: Sequence[Chunk], chunk: Chunk) -> bool:
    """Whether they may be one. A chunk's reasoning comes before its text, so none comes behind text."""
    return run[0].choice == chunk.choice and not (chunk.reasoning and any(each.delta for each in run))


def _one(run: Sequence[Chunk]) -> Chunk:
    """All chunks of a run as one chunk."""
    if len(run) == 1:
        return run[0]
    return msgspec.structs.replace(
        run[0],
        reasoning="".join([chunk.reasoning or "" for chunk in run]),
        delta="".join([chunk.delta or "" for chunk in run]),
    )


def _is_text(chunk: Chunk) -> bool:
    """Whether it brings text or reasoning, and nothing else that counts."""
    return (
        not chunk.tool_calls
        and chunk.end is UNSET
        and chunk.finish_reason is None
        and chunk.part is None
        and chunk.usage is None
        and chunk.control is None
        and chunk.error is None
        and chunk.open is None
    )
