"""`Message` and `Choice`: the state of an answer. Plain data; `partition` holds the logic."""

from hashlib import blake2b
from typing import Any, Final, TypeAlias

from tokenmill.dialects import Envelope
from tokenmill.parser import Grammar, MessageParser
from tokenmill.partition.low_water import Root
from tokenmill.partition.packed import Packed
from tokenmill.partition.trace_context import TraceContext

NEVER: Final = 1 << 63
"""An offset past all others."""

Ident: TypeAlias = tuple[bytes, str]
"""A message's place in the index: key and message id."""

_MASK = (1 << 64) - 1


class Open:
    """A choice that has not ended."""

    __slots__ = ("parser", "reason", "states", "stop_sequence", "usage")

    def __init__(self, parser: MessageParser, states: tuple[Any, ...]) -> None:
        self.parser = parser
        self.states = states
        """State of each output's dialect; empty if no dialect keeps any."""
        self.usage: dict[str, Any] | None = None
        self.reason: str | None = None
        """The provider's finish reason, once it has arrived."""
        self.stop_sequence: str | None = None
        """The stop sequence that came with it."""


class Ended:
    """A choice that is remembered for a while, so that late chunks do not open it again."""

    __slots__ = ("offset",)

    def __init__(self, offset: int) -> None:
        self.offset = offset
        """Offset of the record that ended it."""


class Lost:
    """An unfinished choice whose state can't be recovered: its chunks are only counted until its end."""

    __slots__ = ("announced",)

    def __init__(self, *, announced: bool = False) -> None:
        self.announced = announced
        """Whether its loss has been published."""


class Choice:
    """One of the alternative answers of a message, as far as it has come. Its maker sets `state`."""

    __slots__ = (
        "base",
        "counted",
        "envelope",
        "first",
        "grammar",
        "held",
        "id_header",
        "index",
        "key",
        "opened_header",
        "opener",
        "pinned",
        "position",
        "root",
        "seq",
        "state",
        "trace_context",
    )

    state: Open | Ended | Lost

    def __init__(self, key: bytes, root: Root, first: int, grammar: Grammar | Packed, envelope: Envelope) -> None:
        self.key = key
        self.index = envelope.choice
        self.root = root
        """From where the log must be read to rebuild it."""
        self.first = first
        """Offset of the record that opened it."""
        self.opener = first
        """Offset of its last record with text and without `seq` and `open`: a replay that starts no later opens it."""
        self.pinned = first
        """Offset of the record that gave its options."""
        self.grammar = grammar
        """Its options, packed once it has ended."""
        self.envelope = envelope
        self.id_header = ("tm-message-id", envelope.message_id.encode())
        """Header of all its outputs."""
        self.trace_context: TraceContext = ()
        """Headers of the message's first record, copied to all its outputs."""
        self.opened_header = ("tm-opened", b"%d" % envelope.created)
        """Header with the start of its message, the first record's time in milliseconds: in an output topic, the first
        offset that is not older lies at or before the message's first event."""
        self.position = -1
        """`seq` of its last chunk that had one."""
        self.seq = 0
        """`seq` of its next event."""
        self.base = 0
        self.counted = 0
        """Its share of the partition's digest."""
        self.held = 0
        """Its share of the partition's size."""

    def compiled(self) -> Grammar:
        """Its grammar, while it has not ended."""
        assert isinstance(self.grammar, Grammar)  # see `end`
        return self.grammar

    def end(self, offset: int, packed: Packed) -> None:
        """End it with the record at `offset`, and keep nothing large."""
        self.state = Ended(offset)
        self.grammar = packed
        self.envelope.request = packed.request

    def weight(self) -> int:
        """Its share of the digest, made of its identity and progress; 0 once it has ended."""
        if isinstance(self.state, Ended):
            return 0
        if not self.base:
            who = b"%b\n%b\n%d\n%d" % (self.key, self.id_header[1], self.index, self.first)
            self.base = int.from_bytes(blake2b(who, digest_size=8).digest(), "big")
        return self.base * (1 if isinstance(self.state, Lost) else 2 * self.seq + 3) & _MASK


class Message:
    """One assistant answer in a conversation."""

    __slots__ = ("choices", "closed", "conversation", "id", "key", "last", "named", "touched", "watched")

    def __init__(self, key: bytes, conversation: str, message_id: str, *, named: bool) -> None:
        self.key = key
        self.conversation = conversation
        """The key as text."""
        self.id = message_id
        self.named = named
        """Whether its id came from the producer."""
        self.choices: list[Choice] = []
        self.last = 0
        """Offset of the last record that was for it."""
        self.closed = False
        """Whether it was ended as a whole, by a `control` for all choices: choices not seen yet are late, too."""
        self.touched = False
        """Whether it has changed since the partition last looked."""
        self.watched = False
        """Whether it is checked from time to time for new chunks."""

    @property
    def ident(self) -> Ident:
        """Its place in the index."""
        return self.key, self.id

    def choice(self, index: int) -> Choice | None:
        """The choice with that number, open or remembered."""
        for choice in self.choices:
            if choice.index == index:
                return choice
        return None

    @property
    def opened(self) -> int:
        """Offset where the oldest of its unfinished choices opened; past every offset if all have ended."""
        return min((choice.first for choice in self.going_on()), default=NEVER)

    @property
    def begun(self) -> bool:
        """Whether a choice of it was seen from its beginning; one that is lost, or ended as lost, made no event."""
        return any(choice.seq for choice in self.choices)

    def going_on(self) -> list[Choice]:
        """The choices that have not ended."""
        return [choice for choice in self.choices if not isinstance(choice.state, Ended)]
