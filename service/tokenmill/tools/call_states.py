"""What is known of the calls of one partition: a function of the records of `tool-state`, and of nothing else.

1. Calls are kept in the order of their latest records. The next owner need not read what lies before the oldest one
   that still counts.
2. A call that is done is kept for as long as its record may come again, and is not run again.
3. A call that is claimed and not done, and that no runner has any longer, is in doubt: it may have been run.
"""

from collections import Counter, defaultdict

import msgspec

from tokenmill.errors import NOT_JSON
from tokenmill.tools.call import Call, Stage, Written
from tokenmill.tools.pending_approvals import AskedCall


class _Known(msgspec.Struct):
    answer: bytes
    """Key of the answer that the call is part of."""
    written: Written
    offset: int = -1
    """Offset of its latest record on `tool-state`; -1 while that is being written."""


class CallStates:
    """The calls of one partition by their keys."""

    def __init__(self, keep_ms: int) -> None:
        """`keep_ms` is how long the record of a call that is done may come again."""
        self._known: dict[bytes, _Known] = {}
        self._answers: Counter[bytes] = Counter()
        self._unfinished: defaultdict[bytes, dict[bytes, None]] = defaultdict(dict)
        """Keys of calls that are not done, in order, by their answers."""
        self._keep_ms = keep_ms
        self.end = 0
        """Offset after the latest known record of `tool-state`; before the first one, where reading began."""

    def __contains__(self, key: bytes) -> bool:
        return key in self._known

    def calls_beside(self, call: Call) -> int:
        """How many calls of the same answer are known."""
        return self._answers[call.answer]

    def read(self, key: bytes, value: bytes | None, offset: int) -> None:
        """Take a record of `tool-state`. Records of others are passed over."""
        self.end = offset + 1
        try:
            self._put(key, _Known(_answer(key), msgspec.json.decode(value or b"", type=Written), offset))
        except NOT_JSON:
            self._forget(key)

    def expect(self, call: Call, now: int) -> None:
        """Note that a call has arrived, and that a record of it will be written."""
        self._put(call.key, _Known(call.answer, Written("waiting", now, call)))

    def write(self, call: Call, stage: Stage, now: int, asked: AskedCall | None = None) -> bytes:
        """Note the stage of a call; return the record of it."""
        kept = None if stage == "done" else call
        written = Written(stage, now, kept, asked.fingerprint if asked else "", asked.until if asked else 0)
        self._put(call.key, _Known(call.answer, written))
        return msgspec.json.encode(written)

    def _put(self, key: bytes, known: _Known) -> None:
        self._forget(key)
        self._known[key] = known
        self._answers[known.answer] += 1
        if known.written.stage != "done":
            self._unfinished[known.answer][key] = None

    def _forget(self, key: bytes) -> None:
        if (known := self._known.pop(key, None)) is not None:
            self._answers[known.answer] -= 1
            if not self._answers[known.answer]:
                del self._answers[known.answer]
            if known.written.stage != "done":
                self._unfinished[known.answer].pop(key)
                if not self._unfinished[known.answer]:
                    del self._unfinished[known.answer]

    def placed(self, key: bytes, offset: int) -> None:
        """Note where a call's latest record stands."""
        self._known[key].offset = offset
        self.end = max(self.end, offset + 1)

    def at(self, stage: Stage) -> list[tuple[Call, Written]]:
        """Return the calls at a stage other than the last one, in order, with their records."""
        found = (known.written for known in self._known.values())
        return [(written.call, written) for written in found if written.stage == stage and written.call is not None]

    def unfinished(self, answer: bytes) -> list[Call]:
        """Return the calls of an answer that are not done."""
        found = (self._known[key].written.call for key in self._unfinished.get(answer, ()))
        return [call for call in found if call is not None]

    def first_needed(self, now: int) -> int:
        """Return the offset on `tool-state` from which the next owner has to read.

        Calls that are done, and can't come again, are forgotten.
        """
        while self._known:
            key, known = next(iter(self._known.items()))
            if known.written.stage != "done" or known.written.time > now - self._keep_ms:
                return known.offset if known.offset >= 0 else self.end
            self._forget(key)
        return self.end


def _answer(key: bytes) -> bytes:
    """Return what the keys of an answer's calls begin with: all but the call's id."""
    try:
        return msgspec.json.encode(msgspec.json.decode(key, type=list)[:-1])[:-1]
    except NOT_JSON:
        return b""  # not a key of ours
