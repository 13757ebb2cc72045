"""What is known of the calls of one partition: a function of the records of `tool-state`, and of nothing else.

1. A call is in the book from its first record on, in the order of the calls' latest records. So what lies before the
   oldest one that still counts need not be read by whoever takes over.
2. One that is done stays for as long as its record may come again, and is not run again.
3. One that is claimed and not done, when nobody is left who runs it, is in doubt: it may have been run.
"""

import msgspec

from tokenmill.tools.call import Call, Stage, Written


class _Known(msgspec.Struct):
    stage: Stage
    time: int
    call: Call | None
    offset: int = -1
    """Of its latest record on `tool-state`; -1: it is being written."""


class Book:
    """The calls of one partition by their keys."""

    def __init__(self, keep_ms: int) -> None:
        """`keep_ms`: for how long a call that is done may come again."""
        self._known: dict[bytes, _Known] = {}
        self._keep_ms = keep_ms
        self._end = 0
        """Behind the latest record that is known to be on `tool-state`."""

    def __contains__(self, key: bytes) -> bool:
        return key in self._known

    def read(self, key: bytes, value: bytes | None, offset: int) -> None:
        """A record of `tool-state`. What is none of ours is passed over."""
        self._end = offset + 1
        self._known.pop(key, None)
        try:
            written = msgspec.json.decode(value or b"", type=Written)
        except msgspec.DecodeError:
            return
        self._known[key] = _Known(written.stage, written.time, written.call, offset)

    def write(self, call: Call, stage: Stage, now: int) -> bytes:
        """The record that says where a call is, which the book knows from now on."""
        kept = None if stage == "done" else call
        self._known.pop(call.key, None)
        self._known[call.key] = _Known(stage, now, kept)
        return msgspec.json.encode(Written(stage, now, kept))

    def placed(self, key: bytes, offset: int) -> None:
        """The call's latest record stands there."""
        self._known[key].offset = offset
        self._end = max(self._end, offset + 1)

    def at(self, stage: Stage) -> list[Call]:
        """The calls at a stage that is not the last one, in order."""
        return [known.call for known in self._known.values() if known.stage == stage and known.call is not None]

    def first_needed(self, now: int) -> int:
        """The offset on `tool-state` from which on everything has to be read to know this book.

        What is done, and can't come again, is forgotten.
        """
        while self._known:
            key, known = next(iter(self._known.items()))
            if known.stage != "done" or known.time > now - self._keep_ms:
                return known.offset if known.offset >= 0 else self._end
            del self._known[key]
        return self._end
