"""Options that no choice goes on with: packed, for a compiled tool list takes five to thirty times as much.

What has ended is remembered for thousands of records, and nothing but those can make it go; so it must not be large.
"""

import msgspec
from msgspec import UNSET

from tokenmill.events import Request
from tokenmill.parser import Grammar, Options

PACKED_BYTES = 512
"""Of packed options beside their bytes."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Options).decode


class Packed:
    """Options of choices that have ended, enough to compile them again: another choice of the message may follow."""

    __slots__ = ("encoded", "key", "message_start", "request")

    def __init__(self, grammar: Grammar) -> None:
        start = grammar.message_start
        self.request = msgspec.structs.replace(Request() if start.request is UNSET else start.request, tools={})
        """What envelopes keep of what was asked: no call of an ended choice is shown any more."""
        self.key = grammar.key
        self.encoded = _encode(grammar.options)
        """As snapshots have them."""
        self.message_start = msgspec.structs.replace(start, request=self.request)
        """The first event, with as much."""

    @property
    def options(self) -> Options:
        """The options as they were."""
        return _decode(self.encoded)

    @property
    def memory(self) -> int:
        """About how many bytes they take."""
        return PACKED_BYTES + len(self.encoded)


class Used:
    """One set of options: compiled as long as a choice goes on with it, packed for the choices that have ended."""

    __slots__ = ("choices", "going_on", "grammar", "packed")

    def __init__(self) -> None:
        self.choices = 0
        """That use it, ended ones included."""
        self.going_on = 0
        self.grammar: Grammar | None = None
        self.packed: Packed | None = None

    @property
    def form(self) -> Grammar | Packed:
        """One of the two: some choice uses it."""
        form = self.grammar or self.packed
        assert form is not None  # nobody keeps one that no choice uses
        return form

    def take(self, form: Grammar | Packed) -> None:
        """One more choice uses it: it has ended if what it has of it is packed."""
        self.choices += 1
        if isinstance(form, Packed):
            self.packed = self.packed or form
        else:
            self.going_on += 1
            self.grammar = form

    def end(self, grammar: Grammar) -> Packed:
        """A choice that went on with it has ended: returns what that keeps."""
        if self.packed is None:
            self.packed = Packed(grammar)
        self._stop()
        return self.packed

    def drop(self, form: Grammar | Packed) -> None:
        """A choice that used it is no more."""
        self.choices -= 1
        if not isinstance(form, Packed):
            self._stop()

    def _stop(self) -> None:
        self.going_on -= 1
        if not self.going_on:
            self.grammar = None
