"""The rules of identity: whether a chunk continues a message, opens one, or has no effect.

    the choice is   chunk                                                   verdict
    unknown         `seq` > 0, and not `resumes`                            ORPHAN
                    `open`, `seq` 0 or content                              OPEN
                    anything else                                           NO_MESSAGE
    open            no `message_id`, `seq` 0 and `open`                     RENEW
                    no `seq`, the next `seq`, or the first one given        APPLY
                    a `seq` it has seen                                     DUPLICATE
                    a later `seq`                                           GAP
    ended or lost   `open`, no `seq` or 0                                   OPEN; without `message_id` RENEW
                    anything else                                           LATE or LOST

RENEW ends the conversation's unnamed message and opens another. An unknown choice of a message that was ended as a
whole is treated as ended, one of a lost message as lost. During a replay that lacks the beginning of the log, an
unknown choice that is not opened by `open` or `seq` 0 may have been opened before: LOSE. The same holds while messages
are missing, for a message of which no other choice was seen from its beginning. Ids that the service gave to unnamed
messages open nothing: ORPHAN, and LATE after the end.
"""

from enum import Enum, auto

from tokenmill.codecs import Chunk
from tokenmill.partition.message import Choice, Ended, Lost, Message, Open


class Verdict(Enum):
    """What to do with a chunk."""

    APPLY = auto()
    GAP = auto()
    OPEN = auto()
    RENEW = auto()
    LOSE = auto()
    ORPHAN = auto()
    NO_MESSAGE = auto()
    DUPLICATE = auto()
    LATE = auto()
    LOST = auto()


def has_content(chunk: Chunk) -> bool:
    """Whether the chunk brings content of a message."""
    return bool(chunk.delta or chunk.reasoning or chunk.tool_calls or chunk.part is not None or chunk.error is not None)


def opens(chunk: Chunk) -> bool:
    """Whether the chunk would open an unknown message."""
    if chunk.seq is not None:
        return chunk.seq == 0 or _takes_over(chunk)
    return chunk.open is not None or has_content(chunk)


def _takes_over(chunk: Chunk) -> bool:
    """Whether another writer continues the message; this opens it if the writer before it did not get that far."""
    return chunk.resumes is True and chunk.open is not None


def may_go_on(chunk: Chunk) -> bool:
    """Whether an unknown choice may have been opened by a chunk before this one."""
    return chunk.open is None and chunk.seq != 0 and bool(chunk.seq or opens(chunk))


def choice_index(chunk: Chunk) -> int:
    """The choice that a chunk is about."""
    return chunk.choice if isinstance(chunk.choice, int) else 0


def judge(message: Message | None, choice: Choice | None, chunk: Chunk, *, unseen: bool, reserved: bool) -> Verdict:
    """What to do with a chunk for `choice` of `message`.

    `unseen`: the opening may not have been read; `reserved`: the id has the form that the service generates.
    """
    unnamed = not chunk.message_id
    again = chunk.open is not None and not chunk.seq and (message is None or message.named or unnamed)
    if choice is None and unseen and may_go_on(chunk):
        return Verdict.LOSE
    kind = _kind_of_unknown(message) if choice is None else type(choice.state)
    if kind in (Ended, Lost):
        if again:
            return Verdict.RENEW if unnamed else Verdict.OPEN
        return Verdict.LATE if kind is Ended else Verdict.LOST
    if choice is None:
        return _judge_unknown(chunk, reserved=reserved)
    if unnamed and again and chunk.seq == 0:
        return Verdict.RENEW
    return _judge_position(choice.position, chunk.seq)


def _kind_of_unknown(message: Message | None) -> type[Open | Ended | Lost] | None:
    """The state that an unknown choice is treated as having, because of its message; None if it has none."""
    if message is None:
        return None
    if message.closed or not (message.named or message.going_on()):
        return Ended
    return Lost if any(isinstance(choice.state, Lost) for choice in message.choices) else None


def _judge_unknown(chunk: Chunk, *, reserved: bool) -> Verdict:
    if (chunk.seq and not _takes_over(chunk)) or (reserved and opens(chunk)):
        return Verdict.ORPHAN
    return Verdict.OPEN if opens(chunk) else Verdict.NO_MESSAGE


def _judge_position(position: int, seq: int | None) -> Verdict:
    if seq is None or seq == position + 1 or position < 0:
        return Verdict.APPLY
    return Verdict.DUPLICATE if seq <= position else Verdict.GAP
