"""What the topic `tokens` says of one answer: whether it goes on, who writes it, and what has come."""

from tokenmill.caller.answer import TAKEOVER_PART
from tokenmill.caller.writing import RANGE, RANGES, SIGN_RANGE
from tokenmill.codecs import Chunk
from tokenmill.codecs.native import NATIVE
from tokenmill.errors import RecordError
from tokenmill.limits import MIB
from tokenmill.partition.identity import choice_index, has_content
from tokenmill.partition.idle import condition_of
from tokenmill.records import InputRecord, PlacedRecord, header

TEXT_CHARS = 4 * MIB
"""Of an answer that may be gone on with: a million tokens."""

RANGE_DIGITS = 10
"""Of the number of a range, to be read at all."""


class AnswerProgress:
    """A function of the answer's records, but for the times at which they were seen."""

    def __init__(self, at: float) -> None:
        """`at`: when it was heard of last, in monotonic seconds; at first, when it is looked after."""
        self.at = at
        self.taken_at = at
        """When the first record of its range was seen, in the same way."""
        self.range = -1
        """The number of the writer that has it."""
        self.content = False
        """Something has come."""
        self.text: list[str] | None = []
        """Its text; None if it is more than text of one choice, or too long."""
        self.ended = False
        self.stopped = False
        """It was stopped before it had begun, which no worker takes for its end."""
        self._size = 0
        self._open = set[int]()
        """Choices that have not ended."""
        self._reasoned = set[int]()
        """Those that have said why they end, or have ended."""
        self._last = -1
        """Offset of its last record."""

    def all_there(self, choices: int) -> bool:
        """Whether of so many choices, and of all that are open, nothing but the end can be missing."""
        return self._open.union(range(choices)) <= self._reasoned

    def take(self, record: PlacedRecord, message_id: str, at: float) -> int | None:
        """A record of its conversation. Returns the number of a writer whose first record it is."""
        if header(record.headers, "tm-codec") not in (None, b"native"):
            return None
        try:
            _, (chunk,) = NATIVE.decode(b"", _as_input(record))
        except RecordError:
            return None
        if chunk.message_id != message_id or self.ended:
            return None
        if chunk.control is not None:
            self._control(chunk, record)
            return None
        self._last = record.offset  # whoever wrote it: no time-out that was written before takes effect
        number = _range_of(record, self.range) if chunk.seq is None else chunk.seq // RANGE
        if not self.range <= number < RANGES:
            return None  # somebody writes who has it no more, or never had it
        self.at = max(self.at, at)
        return None if chunk.seq is None else self._read(chunk, number)

    def _control(self, chunk: Chunk, record: PlacedRecord) -> None:
        """Its end, if a worker ends it here: not before it has begun, and not by a time-out that comes too late."""
        self.stopped |= self.range < 0 and chunk.control == "cancel"
        condition = condition_of(_as_input(record)) if chunk.control == "timeout" else None
        self.ended = self.range >= 0 and (condition is None or condition.holds(0, self._last))

    def _read(self, chunk: Chunk, number: int) -> int | None:
        """One that is more than a sign of life; returns what `take` does."""
        begins, self.range = number > self.range, number
        if begins:
            self.taken_at = self.at
        choice = choice_index(chunk)
        self._open.add(choice)
        if chunk.finish_reason is not None or chunk.end is True:
            self._reasoned.add(choice)
        if chunk.end is True:
            self._open.discard(choice)
            self.ended = not self._open
        self.content |= has_content(chunk) or chunk.finish_reason is not None
        part = chunk.part is not None and chunk.part.kind != TAKEOVER_PART  # which a caller said, and no server
        only_text = not (choice or chunk.reasoning or chunk.tool_calls or part)
        self._keep(chunk.delta or "", only_text=only_text)
        return number if begins else None

    def _keep(self, text: str, *, only_text: bool) -> None:
        self._size += len(text)
        if not only_text or self._size > TEXT_CHARS:
            self.text = None
        elif self.text is not None and text:
            self.text.append(text)


def _range_of(record: PlacedRecord, otherwise: int) -> int:
    """Whose sign of life it is; `otherwise` for one that does not say, as of an older version."""
    value = header(record.headers, SIGN_RANGE) or b""
    return int(value) if value.isdigit() and len(value) <= RANGE_DIGITS else otherwise


def _as_input(record: PlacedRecord) -> InputRecord:
    headers = list(record.headers)
    return InputRecord(
        record.topic, record.partition, record.offset, record.timestamp, record.key, record.value, headers
    )
