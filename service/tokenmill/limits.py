"""Every cap, with the reason for its size. Lengths of text are in characters, of records in bytes.

A message over a cap gets one `error` event `limit`, and the rest of it becomes plain text. A record over a cap goes to
the dead-letter topic. Caps of a partition or a worker pause input; they never make events.
"""

from collections.abc import Iterator

import msgspec

KIB = 1024
MIB = 1024 * KIB


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Caps that change the events of a message: part of the configuration's fingerprint."""

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

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each cap that is below 1, and what is wrong with it."""
        for name in self.__struct_fields__:
            if getattr(self, name) < 1:
                yield name, f"limits.{name}: must be at least 1"

    @property
    def payload_bytes(self) -> int:
        """Largest payload of an output record: the room that the longest key, message id and other headers leave."""
        return self.output_bytes - 3 * KEY_BYTES - HEADER_BYTES


HEADER_BYTES = 1 * KIB
"""Bytes that an output record's headers take at most, besides the message id, with tracing and some reserve."""

TRACE_STATE_BYTES = 512
"""Longest `tracestate` header: what W3C Trace Context asks everybody to pass on. A longer one is left out."""

KEY_BYTES = 1 * KIB
"""Longest key of a record (the conversation id) and longest message id: both are in every output record."""

PAYLOAD_BYTES = Limits().payload_bytes
"""Largest payload with the default limits."""

RAW_CHARS = 4 * KIB
"""Longest source text quoted in an `error` event: enough to see what was wrong."""

CHOICES = 128
"""Alternative answers of one message: the most that OpenAI's API allows; Gemini's allows 8. Every operation on a
message walks all of them."""

NAME_CHARS = 256
"""Longest name of a tool or an argument: OpenAI allows 64, MCP servers prefix theirs."""

MODEL_CHARS = 256
"""Longest name of a model, which some dialects repeat in every payload: the longest are paths of checkpoints."""

JSON_DEPTH = 128
"""Nesting of JSON in arguments: far above what tools declare, far below a recursive reader's stack."""

RECORD_DEPTH = 2 * JSON_DEPTH
"""Nesting of a whole record of JSON: deeper than what is kept of it, in fields that nobody reads. Without this cap the
interpreter's stack decides, of which a replay may have less left."""

DETAIL_BYTES = 16 * KIB
"""Largest `usage` of a message, and largest `open` option other than `tools`: sound ones are small."""

ENDED_OFFSETS = 10_000
"""Records of its partition for which an ended message is remembered, so that late chunks do not open it again: a
quarter to half a second at full load. The low-water mark includes these messages, so every replay is at least this
long."""

SNAPSHOT_PAGE_FIELDS = 500
"""Fields in one Redis command of a snapshot: about a millisecond of the server's single thread."""

SNAPSHOT_PAGE_BYTES = 256 * KIB
"""Bytes in one Redis command of a snapshot, for the same reason."""

COMMIT_METADATA_BYTES = 4 * KIB
"""Bytes of a commit's metadata: the broker's default for `offset.metadata.max.bytes`."""
