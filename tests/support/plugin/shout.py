"""Dialect `shout`: the text of an answer in capitals, a line for each delta, numbered."""

from collections.abc import Sequence

import msgspec

from tokenmill.dialects.dialect import Dialect, Envelope
from tokenmill.events import Event, TextDelta


class Shouted(msgspec.Struct):
    lines: int = 0


class ShoutDialect(Dialect):
    name = "shout"
    summary = "text in capitals"
    state_type = Shouted

    def encode(self, state: Shouted, envelope: Envelope, event: Event, seq: int | None, time: int) -> Sequence[bytes]:  # noqa: ARG002 -- needs the text only
        if not isinstance(event, TextDelta):
            return ()
        state.lines += 1
        return (msgspec.json.encode({"line": state.lines, "text": event.delta.upper()}),)


SHOUT = ShoutDialect()
