"""What of a partition changed since its last snapshot."""

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
"""Notes that may be there beside two for each thing that there is. With more, most are of what came and went since, as
in a long replay: to write the whole is less."""


class Fields:
    """Fields of a snapshot to write, and fields to remove."""

    __slots__ = ("changed", "removed")

    def __init__(self) -> None:
        self.changed: dict[bytes, bytes] = {}
        self.removed: list[bytes] = []

    def put(self, name: bytes, value: bytes | None) -> None:
        """Write a field, or remove it if there is nothing to say."""
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
        """There is a snapshot that a delta can build on."""

    def note(self, messages: Iterable[Message]) -> None:
        """These have changed."""
        if not self.base:
            return
        self._idents.update((message.ident, None) for message in messages)
        known = self._messages.known + len(self._intake)
        if len(self._idents) + len(self._intake.changed) > 2 * known + NOTES_SPARE:
            self._begin(base=False)

    def reset(self) -> None:
        """What there is now has been saved."""
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
        """The fields that are not as the last snapshot has them."""
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
