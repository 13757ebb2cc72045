"""Every cap, with the reason for its size. Lengths of text are in characters, of records in bytes.

A cap that a message hits makes one `error` event `limit` and turns the rest of the message into plain text. A cap of a
record sends it to the dead-letter topic. Caps of a partition or a worker pause input; they never make events.
"""

import msgspec

KIB = 1024
MIB = 1024 * KIB


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Caps that change what comes out of a message: part of the configuration's fingerprint."""

    record_bytes: int = 1 * MIB
    """Largest input value that is parsed. The broker's own default for one record (`message.max.bytes`)."""
    output_bytes: int = 1_000_000
    """Largest output record, key and headers included: a little under the broker's default of 1,048,588 bytes for a
    batch, because one refused record poisons an idempotent producer. Lowered to what the output topics allow."""
    call_chars: int = 256 * KIB
    """Source text of one call. Four times the longest tool call seen in agents' logs of whole-file writes (64 KiB),
    and its arguments fit one output record."""
    message_chars: int = 16 * MIB
    """Text of one message: a million-token answer is about 4 MiB."""
    calls: int = 1_000
    """Calls in one message. Parallel calls come by the dozen; more is a model in a loop."""
    delta_chars: int = 64 * KIB
    """One text, reasoning or source delta; longer ones are split. Readers may keep it in one web-socket frame."""

    @property
    def payload_bytes(self) -> int:
        """Largest payload of an output record: what the longest key, the message's id and other headers leave of it."""
        return self.output_bytes - 3 * KEY_BYTES - HEADER_BYTES


HEADER_BYTES = 1 * KIB
"""What the names and numbers of an output record's headers take at most, tracing included, with room to spare."""

TRACE_STATE_BYTES = 512
"""A `tracestate` header: as much as W3C Trace Context asks everybody to pass on. A longer one is left out."""

KEY_BYTES = 1 * KIB
"""A record's key (the conversation id) and a message id: both come back in every output record."""

PAYLOAD_BYTES = Limits().payload_bytes
"""That of the limits as they are by default."""

RAW_CHARS = 4 * KIB
"""Source text quoted in an `error` event: enough to see what was wrong."""

CHOICES = 128
"""Alternative answers of one message: the most that OpenAI's API allows to ask for; Gemini's allows 8. Whatever is done
to a message looks at all of them."""

NAME_CHARS = 256
"""A tool's name or an argument's name before it stops being one: OpenAI allows 64, MCP servers prefix theirs."""

JSON_DEPTH = 128
"""Nesting of JSON in arguments: far above what tools declare, far below a recursive reader's stack."""

DETAIL_BYTES = 16 * KIB
"""A message's `usage` and one `open` option that is not `tools`: they are small, or they are not what they claim."""

ENDED_OFFSETS = 10_000
"""For how many records of its partition an ended message is remembered, so that late chunks do not open it again.
A quarter to half a second at full load; the memory is part of the low-water mark, so it also bounds a replay from
below."""

SNAPSHOT_PAGE_FIELDS = 500
"""Fields in one Redis command of a snapshot: about a millisecond of the server's single thread."""

SNAPSHOT_PAGE_BYTES = 256 * KIB
"""Bytes in one Redis command of a snapshot, for the same reason."""

COMMIT_METADATA_BYTES = 4 * KIB
"""The broker's default for `offset.metadata.max.bytes`."""
