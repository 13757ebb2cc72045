"""What changed in a partition since its last snapshot."""

from collections.abc import Iterable

from tokenmill.parser import Grammar
from tokenmill.partition.intake import Intake
from tokenmill.partition.message import Ident, Message
from tokenmill.partition.messages import Messages
from tokenmill.partition.packed import Packed
from tokenmill.partition.snapshot import (
    encode_grammar,
    encode_kept,
    encode_message,
    grammar_field,
    kept_field,
    message_field,
)

NOTES_SPARE = 10_000
"""Notes allowed beyond two for each message and stream. With more, as in a long replay, most are of messages that came
and went since, and a full write is smaller."""


class Fields:
    """Fields of a snapshot to write, and fields to remove."""

    __slots__ = ("changed", "removed")

    def __init__(self) -> None:
        self.changed: dict[bytes, bytes] = {}
        self.removed: list[bytes] = []

    def put(self, name: bytes, value: bytes | None) -> None:
        """Write a field, or remove it if it has no value."""
        if value is None:
            self.removed.append(name)
        else:
            self.changed[name] = value


class Unsaved:
    """Notes what changes, from the first snapshot on."""

    def __init__(self, messages: Messages, intake: Intake) -> None:
        self._messages = messages
        self._intake = intake
        self._idents: dict[Ident, None] = {}
        self._options: set[str] = set()
        self.base = False
        """Whether there is a snapshot that a delta can build on."""

    def note(self, messages: Iterable[Message]) -> None:
        """Note that these messages have changed."""
        if not self.base:
            return
        self._idents.update((message.ident, None) for message in messages)
        known = self._messages.known + len(self._intake)
        if len(self._idents) + len(self._intake.changed) > 2 * known + NOTES_SPARE:
            self._begin(base=False)

    def reset(self) -> None:
        """Note that the current state has been saved."""
        self._begin(base=True)

    def _begin(self, *, base: bool) -> None:
        self.base = self._intake.noting = base
        self._idents.clear()
        self._intake.changed.clear()
        self._options = set(self._messages.options)

    def everything(self) -> Fields:
        """All fields of a full snapshot."""
        fields = Fields()
        for message in self._messages:
            fields.put(message_field(message.ident), encode_message(message))
        for kept in self._intake:
            fields.put(kept_field(kept.place), encode_kept(kept))
        for key, options in self._messages.options.items():
            fields.put(grammar_field(key), _encoded(options))
        return fields

    def changes(self) -> Fields:
        """The fields that differ from the last snapshot."""
        fields = Fields()
        for ident in self._idents:
            message = self._messages.get(ident)
            fields.put(message_field(ident), encode_message(message) if message is not None else None)
        for place in self._intake.changed:
            kept = self._intake.get(place)
            fields.put(kept_field(place), encode_kept(kept) if kept is not None else None)
        options = self._messages.options
        for key in sorted(options.keys() ^ self._options):
            fields.put(grammar_field(key), _encoded(options[key]) if key in options else None)
        return fields


def _encoded(options: Grammar | Packed) -> bytes:
    return options.encoded if isinstance(options, Packed) else encode_grammar(options)
