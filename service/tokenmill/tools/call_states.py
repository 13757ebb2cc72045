"""What is known of the calls of one partition: a function of the records of `tool-state`, and of nothing else.

1. A call is known from its first record on, in the order of the calls' latest records. So what lies before the
   oldest one that still counts need not be read by whoever takes over.
2. One that is done stays for as long as its record may come again, and is not run again.
3. One that is claimed and not done, when nobody is left who runs it, is in doubt: it may have been run.
"""

from collections import Counter, defaultdict

import msgspec

from tokenmill.errors import NOT_JSON
from tokenmill.tools.call import Call, Stage, Written
from tokenmill.tools.pending_approvals import AskedCall


class _Known(msgspec.Struct):
    answer: bytes
    """The answer that the call is part of."""
    written: Written
    offset: int = -1
    """Of its latest record on `tool-state`; -1: it is being written."""


class CallStates:
    """The calls of one partition by their keys."""

    def __init__(self, keep_ms: int) -> None:
        """`keep_ms`: for how long a call that is done may come again."""
        self._known: dict[bytes, _Known] = {}
        self._answers: Counter[bytes] = Counter()
        self._unfinished: defaultdict[bytes, dict[bytes, None]] = defaultdict(dict)
        """Keys of calls that are not done, in order, by their answers."""
        self._keep_ms = keep_ms
        self.end = 0
        """Behind the latest record that is known to be on `tool-state`; before the first one, where reading began."""

    def __contains__(self, key: bytes) -> bool:
        return key in self._known

    def calls_beside(self, call: Call) -> int:
        """How many calls of the same answer are known."""
        return self._answers[call.answer]

    def read(self, key: bytes, value: bytes | None, offset: int) -> None:
        """A record of `tool-state`. What is none of ours is passed over."""
        self.end = offset + 1
        try:
            self._put(key, _Known(_answer(key), msgspec.json.decode(value or b"", type=Written), offset))
        except NOT_JSON:
            self._forget(key)

    def expect(self, call: Call, now: int) -> None:
        """A call has come, and something will be written of it."""
        self._put(call.key, _Known(call.answer, Written("waiting", now, call)))

    def write(self, call: Call, stage: Stage, now: int, asked: AskedCall | None = None) -> bytes:
        """The record that says where a call is, as is known from now on."""
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
        """The calls at a stage that is not the last one, and what is written of them, in order."""
        found = (known.written for known in self._known.values())
        return [(written.call, written) for written in found if written.stage == stage and written.call is not None]

    def unfinished(self, answer: bytes) -> list[Call]:
        """The calls of an answer that are not done."""
        found = (self._known[key].written.call for key in self._unfinished.get(answer, ()))
        return [call for call in found if call is not None]

    def first_needed(self, now: int) -> int:
        """The offset on `tool-state` from which on everything has to be read to know all this.

        What is done, and can't come again, is forgotten.
        """
        while self._known:
            key, known = next(iter(self._known.items()))
            if known.written.stage != "done" or known.written.time > now - self._keep_ms:
                return known.offset if known.offset >= 0 else self.end
            self._forget(key)
        return self.end


def _answer(key: bytes) -> bytes:
    """What the keys of an answer's calls begin with: all but the call's id."""
    try:
        return msgspec.json.encode(msgspec.json.decode(key, type=list)[:-1])[:-1]
    except NOT_JSON:
        return b""  # no key of ours
