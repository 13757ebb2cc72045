"""The progress of one answer, by its records on `tokens`: which writer it has, what it has written, and when."""

from tokenmill.caller.answer import TAKEOVER_PART
from tokenmill.caller.writing import RANGE, RANGES, SIGN_RANGE
from tokenmill.codecs import Chunk
from tokenmill.codecs.native import NATIVE
from tokenmill.errors import RecordError
from tokenmill.limits import MIB
from tokenmill.partition.identity import choice_index, has_content
from tokenmill.partition.idle import condition_of
from tokenmill.records import InputRecord, PlacedRecord, header, number_in

TEXT_CHARS = 4 * MIB
"""Characters of text that an answer may have to be continued: a million tokens."""


class AnswerProgress:
    """The progress of one answer: a function of its records, and of the times at which they were read."""

    def __init__(self, at: float) -> None:
        """`at` is the time at which watching begins, in monotonic seconds."""
        self.at = at
        """When the answer's current writer was last heard of, in monotonic seconds; before that, when watching
        began."""
        self.taken_at = at
        """When the first record of the current range was read, in monotonic seconds; before that, as `at`."""
        self.range = -1
        """Number of the current writer's range; -1 before the first record."""
        self.content = False
        """Whether content or a finish reason has come."""
        self.text: list[str] | None = []
        """The answer's text so far; None if it has more than the text of one choice, or is too long."""
        self.ended = False
        """Whether the message has ended."""
        self.stopped = False
        """Whether it was stopped before it was open: workers ignore such a stop, so the message has not ended."""
        self._size = 0
        self._open = set[int]()
        """Choices that have not ended."""
        self._with_reason = set[int]()
        """Choices that have a finish reason, or have ended."""
        self._last = -1
        """Offset of the answer's last record."""

    def all_there(self, choices: int) -> bool:
        """Whether nothing but the end can be missing: of the first `choices` choices, and of all that are open."""
        return self._open.union(range(choices)) <= self._with_reason

    def take(self, record: PlacedRecord, message_id: str, at: float) -> int | None:
        """Take a record of the conversation, which may be of another message; `at` is in monotonic seconds.

        Return the number of the record's range if it is the first of that range; else None.
        """
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
        self._last = record.offset  # from any writer: a time-out that was written before has no effect
        # Signs of life of older versions have no range.
        number = number_in(record.headers, SIGN_RANGE, self.range) if chunk.seq is None else chunk.seq // RANGE
        if not self.range <= number < RANGES:
            return None  # the writer was overtaken, or is no caller
        self.at = max(self.at, at)
        return None if chunk.seq is None else self._read(chunk, number)

    def _control(self, chunk: Chunk, record: PlacedRecord) -> None:
        """Take a control chunk: the end, if the worker ends the message by it. Like the worker, it ignores a control
        before the message is open, and a time-out whose condition no longer holds.
        """
        self.stopped |= self.range < 0 and chunk.control == "cancel"
        condition = condition_of(_as_input(record)) if chunk.control == "timeout" else None
        self.ended = self.range >= 0 and (condition is None or condition.holds(0, self._last))

    def _read(self, chunk: Chunk, number: int) -> int | None:
        """Take a chunk that is more than a sign of life. Return as `take` does."""
        begins, self.range = number > self.range, number
        if begins:
            self.taken_at = self.at
        choice = choice_index(chunk)
        self._open.add(choice)
        if chunk.finish_reason is not None or chunk.end is True:
            self._with_reason.add(choice)
        if chunk.end is True:
            self._open.discard(choice)
            self.ended = not self._open
        self.content |= has_content(chunk) or chunk.finish_reason is not None
        part = chunk.part is not None and chunk.part.kind != TAKEOVER_PART  # that one is a caller's, and no content
        only_text = not (choice or chunk.reasoning or chunk.tool_calls or part)
        self._keep(chunk.delta or "", only_text=only_text)
        return number if begins else None

    def _keep(self, text: str, *, only_text: bool) -> None:
        self._size += len(text)
        if not only_text or self._size > TEXT_CHARS:
            self.text = None
        elif self.text is not None and text:
            self.text.append(text)


def _as_input(record: PlacedRecord) -> InputRecord:
    headers = list(record.headers)
    return InputRecord(
        record.topic, record.partition, record.offset, record.timestamp, record.key, record.value, headers
    )
