"""`Message` and `Choice`: what is kept of an answer. Plain data; what happens to it is in `partition`."""

from hashlib import blake2b
from typing import Any, Final, TypeAlias

from tokenmill.dialects import Envelope
from tokenmill.parser import Grammar, MessageParser
from tokenmill.partition.low_water import Root
from tokenmill.partition.packed import Packed
from tokenmill.partition.trace_context import TraceContext

NEVER: Final = 1 << 63
"""No offset comes that far."""

Ident: TypeAlias = tuple[bytes, str]
"""A message's place in the index: key and message id."""

_MASK = (1 << 64) - 1


class Open:
    """A choice that goes on."""

    __slots__ = ("parser", "reason", "states", "stop_sequence", "usage")

    def __init__(self, parser: MessageParser, states: tuple[Any, ...]) -> None:
        self.parser = parser
        self.states = states
        """State of each output's dialect; empty where no dialect keeps any."""
        self.usage: dict[str, Any] | None = None
        self.reason: str | None = None
        """The provider's finish reason, once it came."""
        self.stop_sequence: str | None = None
        """What came with it."""


class Ended:
    """A choice that is remembered for a while, so that late chunks do not open it again."""

    __slots__ = ("offset",)

    def __init__(self, offset: int) -> None:
        self.offset = offset
        """Of the record that ended it."""


class Lost:
    """A choice that goes on without its state, which can't be had: its chunks are counted until its end."""

    __slots__ = ("announced",)

    def __init__(self, *, announced: bool = False) -> None:
        self.announced = announced
        """Its loss has been published."""


class Choice:
    """One of the alternative answers of a message, as far as it has come. `state` is given by who makes it."""

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
        """A replay that starts here, or before, opens it: its last record with text and without `seq` and `open`."""
        self.pinned = first
        """Offset of the record that its options come from."""
        self.grammar = grammar
        """Its options: packed once it has ended."""
        self.envelope = envelope
        self.id_header = ("tm-message-id", envelope.message_id.encode())
        """A header that all its outputs share."""
        self.trace_context: TraceContext = ()
        """Headers of the message's first record that all outputs have."""
        self.opened_header = ("tm-opened", b"%d" % envelope.created)
        """When its message began, by the first record's time in milliseconds: the first offset of an output that is not
        older lies at or before the message's first event."""
        self.position = -1
        """`seq` of its last chunk that had one."""
        self.seq = 0
        """`seq` of its next event."""
        self.base = 0
        self.counted = 0
        """Its part in the partition's digest."""
        self.held = 0
        """Its part in the partition's size."""

    def compiled(self) -> Grammar:
        """Its grammar, while it goes on."""
        assert isinstance(self.grammar, Grammar)  # see `end`
        return self.grammar

    def end(self, offset: int, packed: Packed) -> None:
        """It has ended with the record at `offset`: nothing that is large stays."""
        self.state = Ended(offset)
        self.grammar = packed
        self.envelope.request = packed.request

    def weight(self) -> int:
        """Its part in the digest: who it is and how far it has come; 0 once it has ended."""
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
        """Its id came from the producer."""
        self.choices: list[Choice] = []
        self.last = 0
        """Offset of the last record that was for it."""
        self.closed = False
        """Ended as a whole, by a `control` for all choices: choices not seen yet are late, too."""
        self.touched = False
        """Changed since the partition last looked."""
        self.watched = False
        """Looked at from time to time, whether chunks still come."""

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
        """Where the oldest of its choices that have not ended was opened; past every offset if all have."""
        return min((choice.first for choice in self.going_on()), default=NEVER)

    @property
    def begun(self) -> bool:
        """A choice of it was seen from its beginning: one that is lost, or was when it ended, has made no event."""
        return any(choice.seq for choice in self.choices)

    def going_on(self) -> list[Choice]:
        """The choices that have not ended."""
        return [choice for choice in self.choices if not isinstance(choice.state, Ended)]
