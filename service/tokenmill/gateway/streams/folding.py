"""Merges neighbouring deltas for clients that come late: the past is not typed again letter by letter.

1. Only whole frames are merged, and only neighbours that differ in one text: of one message, one block, one kind. A
   parser may cut an answer anywhere, so a longer delta means the same.
2. A merged frame has the place of its last one: a client that comes back with its id continues right after it.
3. Payloads of `openai_responses`, `agent` and others that number what they send are not merged: after a resume the
   numbers would not fit. The native `seq` and `time` are those of the last delta.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tokenmill.dialects import Dialect
from tokenmill.dialects.dialect import Path
from tokenmill.errors import NOT_JSON
from tokenmill.gateway.event_log.view import Frame

FOLDED_CHARACTERS = 16 * 1024
"""Characters of one merged text: most answers come as one frame, and proxies and clients read as much at once."""

LATEST = ("seq", "time", "timestamp")
"""Fields about the place of a delta, not its content: those of the last one count."""


def folded(dialect: Dialect, frames: Sequence[Frame]) -> list[Frame]:
    """Return the frames of this dialect with neighbouring deltas merged."""
    if not dialect.pieces:
        return list(frames)
    groups: list[_Group] = []
    for frame in frames:
        delta = _delta(frame, dialect.pieces)
        if not (groups and groups[-1].takes(frame, delta)):
            groups.append(_Group(frame, delta))
    return [group.frame() for group in groups]


class _Delta:
    """A payload with one text that grows; the text is taken out, so that what is left can be compared."""

    __slots__ = ("latest", "path", "rest", "text")

    def __init__(self, payload: dict[str, Any], path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.latest = {name: payload[name] for name in LATEST if name in payload}
        put(payload, path, "")
        self.rest = payload | dict.fromkeys(self.latest)


class _Group:
    """Frames that become one."""

    __slots__ = ("_delta", "_frame", "_only", "_size", "_texts")

    def __init__(self, frame: Frame, delta: _Delta | None) -> None:
        self._frame = frame
        self._delta = delta
        self._only = True
        self._texts = [delta.text] if delta else []
        self._size = len(delta.text) if delta else 0

    def takes(self, frame: Frame, delta: _Delta | None) -> bool:
        """Whether the frame continues these; if so, it is added to them."""
        mine = self._delta
        if mine is None or delta is None or frame.message != self._frame.message:
            return False
        if self._size + len(delta.text) > FOLDED_CHARACTERS or (mine.path, mine.rest) != (delta.path, delta.rest):
            return False
        self._texts.append(delta.text)
        self._size += len(delta.text)
        self._frame, self._delta, self._only = frame, delta, False
        return True

    def frame(self) -> Frame:
        """Return all of them as one frame, at the place of the last."""
        delta = self._delta
        if self._only or delta is None:
            return self._frame
        payload = delta.rest | delta.latest
        put(payload, delta.path, "".join(self._texts))
        return self._frame._replace(payload=msgspec.json.encode(payload))


def _delta(frame: Frame, paths: Sequence[Path]) -> _Delta | None:
    if frame.ends or frame.first:
        return None
    try:
        payload = msgspec.json.decode(frame.payload)
    except NOT_JSON:
        return None
    for path in paths:
        text = at(payload, path)
        if isinstance(text, str):
            return _Delta(payload, path, text)
    return None


def at(payload: Any, path: Path) -> Any:
    """Return the value at a path in a payload; None if there is nothing."""
    for step in path:
        try:
            payload = payload[step]
        except (LookupError, TypeError):
            return None
    return payload


def put(payload: Any, path: Path, text: str) -> None:
    """Replace the value at a path in a payload."""
    *way, last = path
    for step in way:
        payload = payload[step]
    payload[last] = text
