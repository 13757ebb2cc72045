"""Opening a choice: its message's id, its options, and from where the log must be read to open it again."""

from collections.abc import Callable
from typing import Any, TypeAlias

from tokenmill.codecs import Chunk
from tokenmill.codecs.plain import check_plain, read_object
from tokenmill.dialects import Envelope
from tokenmill.errors import BadKey, BadOpen, Undecodable
from tokenmill.formats import compile_grammar
from tokenmill.limits import KEY_BYTES, MIB, MODEL_CHARS
from tokenmill.parser import Grammar, MessageParser, Options, read_options
from tokenmill.parser.compile.grammar import weight
from tokenmill.partition.identity import choice_index
from tokenmill.partition.low_water import LowWater, Root
from tokenmill.partition.message import Choice, Message
from tokenmill.partition.packed import Packed
from tokenmill.partition.settings import PartitionSettings
from tokenmill.partition.trace_context import TraceContext, trace_context
from tokenmill.recent import Recent
from tokenmill.records import Record, header

OPEN = "tm-open"
"""Header with options as JSON, for codecs whose protocol has no place for them. They apply to a message that the
record opens. The header opens none by itself, so it may be on every record of a stream."""

HEADERS_KEPT = 256
"""Values of that header that are cached: one for each set of tools in use."""

HEADERS_BYTES = 16 * MIB
"""Bytes of all cached values: a list of large tools takes a few hundred KiB, and a millisecond to read."""

Opened: TypeAlias = tuple[Message, Choice]


def conversation_of(key: bytes) -> str:
    """The key as a conversation id. Raises `BadKey`."""
    try:
        return key.decode()
    except UnicodeDecodeError as problem:
        raise BadKey("the key is not UTF-8") from problem


class Opener:
    """Makes the messages and choices of one partition."""

    def __init__(
        self,
        settings: PartitionSettings,
        number: int,
        low_water: LowWater,
        oldest_stream: Callable[[bytes], Root | None],
    ) -> None:
        self._defaults = settings.defaults
        self._resolved = settings.resolved
        self._limits = settings.limits
        self._traced = settings.traced
        self._default_grammar = self._compiled(self._defaults)
        self._id_prefix = f"o{number}-"
        self._low_water = low_water
        self._oldest_stream = oldest_stream
        self._named_at = self._named = -1

    def _compiled(self, options: Options) -> Grammar:
        return compile_grammar(self._resolved(options), self._limits, traced=self._traced)

    def reserved(self, message_id: str) -> bool:
        """Whether the id has the form of those that unnamed messages of this partition get."""
        prefix = self._id_prefix
        return message_id.startswith(prefix) and message_id[len(prefix) :].replace("-", "", 1).isdecimal()

    def _generated(self, offset: int) -> str:
        """The id of an unnamed message, made of the record's offset, with a number for all but the record's first."""
        self._named = self._named + 1 if self._named_at == offset else 0
        self._named_at = offset
        return f"{self._id_prefix}{offset}-{self._named}" if self._named else f"{self._id_prefix}{offset}"

    def check(self, options: dict[str, Any]) -> None:
        """Raise `BadOpen` for options that no message could have, even where they come too late to count."""
        read_options(options, self._defaults)

    def grammar(self, chunk: Chunk, message: Message | None, record: Record) -> Grammar:
        """The chunk's options over those of the record's header over the defaults.

        A choice without options of its own has those of the message's other choices. Raises `BadOpen`.
        """
        if chunk.open is None and message is not None:
            return self._again(message.choices[-1].grammar)
        said = {"model": chunk.model[:MODEL_CHARS]} if chunk.model else {}
        if (given := header(record.headers, OPEN)) is not None:
            said |= _read_options(given)
        if not said and chunk.open is None:
            return self._default_grammar
        return self._compiled(read_options(said | (chunk.open or {}), self._defaults))

    def _again(self, known: Grammar | Packed) -> Grammar:
        """The grammar of a choice, even of one that has ended."""
        return compile_grammar(known.options, self._limits, traced=self._traced) if isinstance(known, Packed) else known

    def choice(
        self, message: Message | None, grammar: Grammar, chunk: Chunk, record: Record, root: Root | None
    ) -> Opened:
        """A new choice, of a new message if there is none; `root` is that of the codec's state, if it kept any.

        A choice that reuses a remembered id continues the numbering of its events: otherwise readers that drop repeats
        by `seq` would drop them. So it depends on the log of the earlier choice, too.
        """
        if message is None:
            message = self._message(chunk, record)
        roots = [self._low_water.root(record.offset)]
        roots += [each for each in (root, self._oldest_stream(message.key)) if each is not None]
        previous = message.choice(choice_index(chunk))
        own, shared = trace_context(record.headers), _shared_trace_context(message, chunk, previous)
        if chunk.open is None or not message.named or (shared is not None and (own or shared)):
            roots.extend(choice.root for choice in message.choices)
        if previous is not None:
            roots.append(previous.root)
        envelope = Envelope(
            message.conversation,
            message.id,
            choice_index(chunk),
            record.timestamp,
            grammar.message_start,
        )
        oldest = min(roots, key=lambda root: root.offset)
        choice = Choice(message.key, oldest, record.offset, grammar, envelope)
        choice.opener = record.offset if root is None else root.offset
        choice.trace_context = own if shared is None else shared
        if going_on := message.going_on():
            choice.opened_header = going_on[0].opened_header
        if previous is not None:
            choice.seq = previous.seq
        if chunk.open is None and message.choices:
            choice.pinned = message.choices[-1].pinned
        return message, choice

    def _message(self, chunk: Chunk, record: Record) -> Message:
        assert record.key is not None  # the intake refuses records without
        conversation = conversation_of(record.key)
        if not chunk.message_id:
            return Message(record.key, conversation, self._generated(record.offset), named=False)
        if len(chunk.message_id.encode()) > KEY_BYTES:
            raise Undecodable(f"message_id is longer than {KEY_BYTES} bytes")
        return Message(record.key, conversation, chunk.message_id, named=True)


def _shared_trace_context(message: Message, chunk: Chunk, previous: Choice | None) -> TraceContext | None:
    """The tracing headers of the existing choices; None if this is the first, or the id is used again."""
    again = chunk.open is not None and previous is not None and not message.going_on()
    return None if again or not message.choices else message.choices[-1].trace_context


_recent: Recent[bytes, dict[str, Any]] = Recent(HEADERS_KEPT, HEADERS_BYTES)


def _read_options(value: bytes) -> dict[str, Any]:
    if (known := _recent.get(value)) is not None:
        return known
    try:
        options = read_object(value, "options")
        check_plain(options, OPEN)
    except Undecodable as problem:
        raise BadOpen(f"the header {OPEN}: {problem}") from problem
    _recent.put(value, options, len(value) + weight(options, len(value)))
    return options


def parser_of(choice: Choice) -> MessageParser:
    """A new parser for the choice."""
    return MessageParser.of(choice.compiled(), identity_of(choice))


def identity_of(choice: Choice) -> str:
    """The text that ids of calls are derived from: conversation, message and choice.

    Where the message id is used again, the position is added, because the calls are different ones.
    """
    envelope = choice.envelope
    identity = f"{envelope.conversation_id}\n{envelope.message_id}\n{envelope.choice}"
    return f"{identity}\n{choice.seq}" if choice.seq else identity
