"""The pace at which answers are read: the longer Kafka takes for a record, the more tokens are joined into one chunk.

1. A record costs caller, broker, worker and front the same, whether it has one token or ten. So if they are busy, which
   the time until an acknowledgement shows, an answer is not read for a pause, and what came meanwhile is read and
   written together. The pause is the square of that time (over `SQUARE_S`): in an idle system it is shorter than a
   token takes, so that every token has its own record, and it grows fast as queues form.
2. The pauses of all answers end at the same moments, so that one request to Kafka brings tokens of several answers.
3. The first piece of an answer is written at once, and nothing that was read is held back.
4. Only chunks with nothing but text or reasoning, and of the same choice, are joined: a parser does not see the cuts.
"""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET

from tokenmill.codecs import Chunk

SQUARE_S = 0.00025
"""The pause is the square of an acknowledgement's seconds divided by this: 16 ms for one of 2 ms, 64 ms for 4 ms."""

MOST_S = 0.1
"""Seconds of the longest pause: people see ten pieces of text a second as a flow."""

LEAST_S = 0.005
"""Seconds of the shortest pause: a timer has its cost, too."""

TOGETHER_S = 0.01
"""Seconds between two moments at which pauses end. With 200 answers, some twenty end at each moment; compared with
pauses that end at any time, caller, worker and broker had a fifth less to do."""


def pause_s(acknowledged_s: float) -> float:
    """Return the pause after a read, in seconds; 0 for none. `acknowledged_s` is the time for an acknowledgement."""
    pause = min(acknowledged_s**2 / SQUARE_S, MOST_S)
    return pause if pause >= LEAST_S else 0.0


def together(pause: float, now_s: float) -> float:
    """Return a pause that begins at `now_s`, shortened by less than `TOGETHER_S` to end at a moment common to all
    answers. A pause that is too short for that stays as it is.
    """
    return pause - (now_s + pause) % TOGETHER_S if pause > 2 * TOGETHER_S else pause


def joined(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
    """Return chunks with the same content, with neighboring text of a choice joined."""
    if len(chunks) == 1:  # nearly always, in a system that is not busy
        return chunks
    found, run = list[Chunk](), list[Chunk]()
    for chunk in chunks:
        text = _is_text(chunk)
        if run and not (text and _continues(run, chunk)):
            found.append(_merged(run))
            run = []
        (run if text else found).append(chunk)
    return [*found, _merged(run)] if run else found


def _continues(run: Sequence[Chunk], chunk: Chunk) -> bool:
    """Whether a chunk may be joined to a run.

    Reasoning in a chunk counts as before its text, so it can't follow text.
    """
    return run[0].choice == chunk.choice and not (chunk.reasoning and any(each.delta for each in run))


def _merged(run: Sequence[Chunk]) -> Chunk:
    """Return one chunk with the text and reasoning of a run."""
    if len(run) == 1:
        return run[0]
    return msgspec.structs.replace(
        run[0],
        reasoning="".join([chunk.reasoning or "" for chunk in run]),
        delta="".join([chunk.delta or "" for chunk in run]),
    )


def _is_text(chunk: Chunk) -> bool:
    """Whether a chunk has nothing but text or reasoning."""
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
