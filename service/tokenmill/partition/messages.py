"""`Messages`: the messages of a partition, found by id, or as the unnamed one of a conversation.

Every change of an open message goes through here, so the low-water mark, the digest and the list of changes for the
next snapshot can't miss one.
"""

from collections import deque
from collections.abc import Iterable, Iterator

from tokenmill.parser import Grammar
from tokenmill.partition.low_water import LowWater
from tokenmill.partition.message import NEVER, Choice, Ended, Ident, Lost, Message, Open
from tokenmill.partition.packed import Packed, Used

_MASK = (1 << 64) - 1


class Messages:
    """Index, counts and digest of the messages of one partition."""

    def __init__(self, low_water: LowWater, ended_offsets: int) -> None:
        self._low_water = low_water
        self._ended_offsets = ended_offsets
        self._by_id: dict[Ident, Message] = {}
        self._unnamed: dict[bytes, Message] = {}
        self._graves: deque[tuple[int, Message, Choice]] = deque()
        self._touched: list[Message] = []
        self._used: dict[str, Used] = {}
        self.count = 0
        """Number of open and lost choices."""
        self.forget_at = NEVER
        """The first offset at which an ended choice is forgotten."""
        self._digest = 0
        self._held = 0

    def __iter__(self) -> Iterator[Message]:
        return iter(self._by_id.values())

    @property
    def known(self) -> int:
        """Number of messages, including ended ones that are remembered."""
        return len(self._by_id)

    # Finding

    def find(self, key: bytes, message_id: str | None) -> Message | None:
        """The message with that id, or the open unnamed one."""
        return self._by_id.get((key, message_id)) if message_id else self._unnamed.get(key)

    def get(self, ident: Ident) -> Message | None:
        """The message at that place of the index."""
        return self._by_id.get(ident)

    # Changes

    def touch(self, message: Message) -> None:
        """Note that the message has changed."""
        if not message.touched:
            message.touched = True
            self._touched.append(message)

    def add(self, message: Message, choice: Choice) -> None:
        """Add a new choice of a new or known message, in place of an ended or lost one of the same number."""
        previous = message.choice(choice.index)
        if previous is not None:
            self._remove(message, previous)
        message.choices.append(choice)
        self._take(message, choice)
        self.touch(message)

    def restore(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Take over the messages of a snapshot, one per step of the iterator."""
        ended = []
        for message in messages:
            for choice in message.choices:
                self._take(message, choice)
                if isinstance(choice.state, Ended):
                    ended.append((choice.state.offset, message, choice))
                else:
                    self._weigh(choice)
            yield message
        self._graves.extend(sorted(ended, key=lambda grave: grave[0]))
        self._set_alarm()

    def _take(self, message: Message, choice: Choice) -> None:
        self._by_id[message.key, message.id] = message
        self._low_water.hold(choice.root)
        used = self._used.get(choice.grammar.key)
        if used is None:
            used = self._used[choice.grammar.key] = Used()
        used.take(choice.grammar)
        if not isinstance(choice.state, Ended):
            self.count += 1
            if not message.named:
                self._unnamed[message.key] = message

    def end(self, message: Message, choice: Choice, offset: int) -> None:
        """End a choice with the record at `offset`; it is remembered for a while."""
        self._uncount(choice)
        choice.end(offset, self._used[choice.grammar.key].end(choice.compiled()))
        if not message.named and not message.going_on():
            del self._unnamed[message.key]
        self._graves.append((offset, message, choice))
        self._set_alarm()
        self.touch(message)

    def lose(self, message: Message, choice: Choice, *, announced: bool = False) -> None:
        """Mark an open choice as lost: nothing is kept of its progress."""
        choice.state = Lost(announced=announced)
        choice.position, choice.seq, choice.opener = -1, 0, choice.first
        self.touch(message)

    def forget(self, offset: int) -> None:
        """Forget choices that ended long enough before the record at `offset`."""
        while self._graves and self._graves[0][0] + self._ended_offsets < offset:
            _, message, choice = self._graves.popleft()
            if choice in message.choices:
                self._remove(message, choice)
        self._set_alarm()

    def _set_alarm(self) -> None:
        self.forget_at = self._graves[0][0] + self._ended_offsets + 1 if self._graves else NEVER

    def _remove(self, message: Message, choice: Choice) -> None:
        if not isinstance(choice.state, Ended):
            self._uncount(choice)
        message.choices.remove(choice)
        self._low_water.release(choice.root)
        used = self._used[choice.grammar.key]
        used.drop(choice.grammar)
        if not used.choices:
            del self._used[choice.grammar.key]
        if not message.choices:
            del self._by_id[message.ident]
        self.touch(message)

    def _uncount(self, choice: Choice) -> None:
        self.count -= 1
        self._digest = self._digest - choice.counted & _MASK
        self._held -= choice.held
        choice.counted = choice.held = 0

    @property
    def grammars(self) -> dict[str, Grammar]:
        """The grammars of unfinished choices, by key."""
        return {key: used.grammar for key, used in self._used.items() if used.grammar is not None}

    @property
    def packed_bytes(self) -> int:
        """About how many bytes the options of ended choices take."""
        return sum(used.packed.memory for used in self._used.values() if used.packed is not None)

    @property
    def options(self) -> dict[str, Grammar | Packed]:
        """The options of all choices, ended ones included, by key."""
        return {key: used.form for key, used in self._used.items()}

    # Sums over all messages

    def settle(self) -> Iterable[Message]:
        """Bring `digest` and `held` up to date; returns the messages that have changed since the last call."""
        touched, self._touched = self._touched, []
        for message in touched:
            message.touched = False
            for choice in message.choices:
                if not isinstance(choice.state, Ended):
                    self._weigh(choice)
        return touched

    def _weigh(self, choice: Choice) -> None:
        weight = choice.weight()
        held = 0
        if isinstance(choice.state, Open):
            held = choice.state.parser.memory
            if choice.state.states:  # from dialects that keep the answer
                held += sum(getattr(state, "memory", 0) for state in choice.state.states)
        self._digest = self._digest + weight - choice.counted & _MASK
        self._held += held - choice.held
        choice.counted, choice.held = weight, held

    @property
    def digest(self) -> int:
        """Hash of the open and lost choices and of each one's progress, as of the last `settle`."""
        return self._digest

    @property
    def held(self) -> int:
        """About how many bytes parsers and dialects hold, as of the last `settle`."""
        return self._held

    def in_state(self, kind: type[Open | Ended | Lost]) -> list[tuple[Message, Choice]]:
        """The choices in this kind of state, oldest first."""
        found = [(message, choice) for message in self for choice in message.choices if isinstance(choice.state, kind)]
        return sorted(found, key=lambda pair: (pair[1].first, pair[1].index))
