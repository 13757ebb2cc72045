"""What is known of the calls of one partition: a function of the records of `tool-state`, and of nothing else.

1. Calls are kept in the order of their latest records. The next owner need not read what lies before the oldest one
   that still counts.
2. A call that is done is kept for as long as its record may come again, and is not run again. There may be many: of
   each, only a hash, its answer, time and offset are kept.
3. A call that is claimed and not done, and that no runner has any longer, is in doubt: it may have been run.
"""

from collections import Counter, OrderedDict, defaultdict
from hashlib import blake2b

import msgspec

from tokenmill.errors import NOT_JSON
from tokenmill.tools.call import Call, Stage, Written
from tokenmill.tools.pending_approvals import AskedCall

HASH_BYTES = 15
"""Length of the hashes that stand for the keys of calls and answers: with it, an object of Python takes 48 bytes."""


class _Known(msgspec.Struct, gc=False):
    answer: bytes
    """Hash of the answer that the call is part of."""
    time: int
    """When its latest record was written, in milliseconds since the epoch."""
    written: Written | None = None
    """Its latest record; None if it is done."""
    offset: int = -1
    """Offset of that record on `tool-state`; -1 while it is being written."""


class CallStates:
    """The calls of one partition by their keys."""

    def __init__(self, keep_ms: int) -> None:
        """`keep_ms` is how long the record of a call that is done may come again."""
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        """Calls by the hashes of their keys. A plain dictionary looks for its first one among all that were removed."""
        self._answers: Counter[bytes] = Counter()
        self._unfinished: defaultdict[bytes, dict[bytes, None]] = defaultdict(dict)
        """Hashes of calls that are not done, in order, by those of their answers."""
        self._keep_ms = keep_ms
        self.end = 0
        """Offset after the latest known record of `tool-state`; before the first one, where reading began."""

    def __contains__(self, key: bytes) -> bool:
        return _hash(key) in self._known

    def calls_beside(self, call: Call) -> int:
        """How many calls of the same answer are known."""
        return self._answers[_hash(call.answer)]

    def read(self, key: bytes, value: bytes | None, offset: int) -> None:
        """Take a record of `tool-state`. What is not ours ends what its key had."""
        self.end = offset + 1
        written = _written(key, value or b"")
        if written is not None:
            self._put(key, _answer(key), written, offset)
        else:
            self._forget(_hash(key))

    def expect(self, call: Call, now: int) -> None:
        """Note that a call has arrived, and that a record of it will be written."""
        self._put(call.key, call.answer, Written("waiting", now, call))

    def write(self, call: Call, stage: Stage, now: int, asked: AskedCall | None = None) -> bytes:
        """Note the stage of a call; return the record of it."""
        kept = None if stage == "done" else call
        written = Written(stage, now, kept, asked.fingerprint if asked else "", asked.until if asked else 0)
        self._put(call.key, call.answer, written)
        return msgspec.json.encode(written)

    def _put(self, key: bytes, answer: bytes, written: Written, offset: int = -1) -> None:
        call, of = _hash(key), _hash(answer)
        self._forget(call)
        going_on = written if written.stage != "done" else None
        self._known[call] = _Known(of, written.time, going_on, offset)
        self._answers[of] += 1
        if going_on:
            self._unfinished[of][call] = None

    def _forget(self, call: bytes) -> None:
        if (known := self._known.pop(call, None)) is not None:
            self._answers[known.answer] -= 1
            if not self._answers[known.answer]:
                del self._answers[known.answer]
            if known.written:
                self._unfinished[known.answer].pop(call)
                if not self._unfinished[known.answer]:
                    del self._unfinished[known.answer]

    def placed(self, key: bytes, offset: int) -> None:
        """Note where a call's latest record stands."""
        self._known[_hash(key)].offset = offset
        self.end = max(self.end, offset + 1)

    def at(self, stage: Stage) -> list[tuple[Call, Written]]:
        """Return the calls at a stage other than the last one, in order, with their records."""
        found = (known.written for known in self._known.values() if known.written)
        return [(written.call, written) for written in found if written.stage == stage and written.call is not None]

    def unfinished(self, answer: bytes) -> list[Call]:
        """Return the calls of an answer that are not done."""
        found = (self._known[call].written for call in self._unfinished.get(_hash(answer), ()))
        return [written.call for written in found if written and written.call is not None]

    def first_needed(self, now: int) -> int:
        """Return the offset on `tool-state` from which the next owner has to read.

        Calls that are done, and can't come again, are forgotten.
        """
        while self._known:
            call, known = next(iter(self._known.items()))
            if known.written or known.time > now - self._keep_ms:
                return known.offset if known.offset >= 0 else self.end
            self._forget(call)
        return self.end


def _hash(key: bytes) -> bytes:
    return blake2b(key, digest_size=HASH_BYTES).digest()


def _written(key: bytes, value: bytes) -> Written | None:
    """Return a record; None if it is not ours. That of a call under way has the call's key: under another one it would
    never be replaced.
    """
    try:
        written = msgspec.json.decode(value, type=Written)
        ours = written.stage == "done" or (written.call is not None and written.call.key == key)
    except (*NOT_JSON, UnicodeEncodeError):
        return None
    return written if ours else None


def _answer(key: bytes) -> bytes:
    """Return what the keys of an answer's calls begin with: all but the call's id."""
    try:
        return msgspec.json.encode(msgspec.json.decode(key, type=list)[:-1])[:-1]
    except NOT_JSON:
        return b""  # not a key of ours
