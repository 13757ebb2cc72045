"""Rows of the dialect `agent`: their kinds, and the ids that they have.

What is the same in all rows of a kind is made into a template once for each message; for a row there is only left to
fill in its id, its time and what it says.
"""

from hashlib import blake2b
from typing import Any

import msgspec

from tokenmill.dialects.agent_state import AgentState
from tokenmill.dialects.dialect import Envelope, Payloads
from tokenmill.dialects.json_text import json_bytes

MADE = 2048
_DIGITS = {seq << 16: b"%012x" % (seq << 16) for seq in range(MADE)}
"""How the id of most rows ends, the first ones of their events, made once: to write it costs a tenth of a row."""


class Row:
    """A kind of row: its type, and the members of its JSON object, with `%b` for what is its own."""

    __slots__ = ("members", "name", "type")

    def __init__(self, kind: str, members: bytes = b"%b") -> None:
        self.type = kind.encode()
        self.members = members
        self.name = f"agent {kind} {members.decode()}"
        """Of the template among the envelope's constants."""

    def template(self, envelope: Envelope) -> bytes:
        """A row of this message, to be filled with the end of its id, its time and what is its own."""
        head, message = envelope.constant("agent head", _head), envelope.constant("agent message", _message)
        return b'%b%b","timestamp":%%d,%b,%b}' % (head, self.type, message, self.members)


def _head(envelope: Envelope) -> bytes:
    return b'{"id":"%b%%b","type":"' % id_prefix(envelope)


def _message(envelope: Envelope) -> bytes:
    return b'"messageId":' + message_id(envelope).replace(b"%", b"%%")


STREAMED_TEXT = Row("assistant_streaming_message", b'"content":%b,"isComplete":false')
STREAMED_THOUGHT = Row("assistant_streaming_thinking_message", b'"content":%b,"isComplete":false')
STREAMED_CALL = Row("assistant_streaming_tool_call", b'%b,"isComplete":false')
COMPLETE_CALL = Row("assistant_streaming_tool_call", b'%b"","isComplete":true')
THOUGHT = Row("assistant_thinking_message")
MESSAGE = Row("assistant_message")
TOOL_CALL = Row("tool_call")
TOOL_RESULT = Row("tool_result")
ERROR = Row("error")


class Rows(msgspec.Struct):  # faster to make than other objects
    """The rows of one event."""

    state: AgentState
    envelope: Envelope
    first: int
    """Number of the first, as its id has it."""
    time: int
    payloads: Payloads = []

    def add(self, row: Row, own: bytes) -> None:
        """One row more, with what is its own."""
        payloads = self.payloads
        number = self.first + len(payloads)
        digits = _DIGITS.get(number) or b"%012x" % number
        payloads.append(self.envelope.constant(row.name, row.template) % (digits, self.time, own))

    def add_object(self, row: Row, **fields: Any) -> None:
        """The same, with these as its members."""
        self.add(row, json_bytes(fields)[1:-1])


def message_id(envelope: Envelope) -> bytes:
    """The id of the message, and of the choice if it has several, as JSON."""
    return json_bytes(f"{envelope.message_id}/{envelope.choice}" if envelope.choice else envelope.message_id)


def id_prefix(envelope: Envelope) -> bytes:
    """The part of a UUID (version 8: of one's own making) that all rows of a message share."""
    who = f"{envelope.conversation_id}\n{envelope.message_id}\n{envelope.choice}"
    digest = blake2b(who.encode(errors="replace"), digest_size=9).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[12:15]}-a{digest[15:18]}-".encode()
