"""Options that only ended choices use: packed, because a compiled tool list takes five to thirty times as much memory.

An ended choice is remembered for thousands of records, and cannot be dropped sooner; so it must not be large.
"""

import msgspec
from msgspec import UNSET

from tokenmill.events import Request
from tokenmill.parser import Grammar, Options

PACKED_BYTES = 512
"""Bytes that packed options take besides their encoded form."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Options).decode


class Packed:
    """Options of ended choices, from which they can be compiled again for another choice of the message."""

    __slots__ = ("encoded", "key", "message_start", "request")

    def __init__(self, grammar: Grammar) -> None:
        start = grammar.message_start
        self.request = msgspec.structs.replace(Request() if start.request is UNSET else start.request, tools={})
        """The request as envelopes keep it, without tools: an ended choice shows no more calls."""
        self.key = grammar.key
        self.encoded = _encode(grammar.options)
        """The options in the form that snapshots hold."""
        self.message_start = msgspec.structs.replace(start, request=self.request)
        """The first event, with this request."""

    @property
    def options(self) -> Options:
        """The options as they were."""
        return _decode(self.encoded)

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        return PACKED_BYTES + len(self.encoded)


class Used:
    """One set of options: compiled while an unfinished choice uses it, packed for the choices that have ended."""

    __slots__ = ("choices", "going_on", "grammar", "packed")

    def __init__(self) -> None:
        self.choices = 0
        """Number of choices that use it, including ended ones."""
        self.going_on = 0
        self.grammar: Grammar | None = None
        self.packed: Packed | None = None

    @property
    def form(self) -> Grammar | Packed:
        """One of the two forms; some choice uses it."""
        form = self.grammar or self.packed
        assert form is not None  # it is dropped once no choice uses it
        return form

    def take(self, form: Grammar | Packed) -> None:
        """Count one more choice, which has ended if its form is packed."""
        self.choices += 1
        if isinstance(form, Packed):
            self.packed = self.packed or form
        else:
            self.going_on += 1
            self.grammar = form

    def end(self, grammar: Grammar) -> Packed:
        """Note that a choice that used it has ended; returns the form that the choice keeps."""
        if self.packed is None:
            self.packed = Packed(grammar)
        self._stop()
        return self.packed

    def drop(self, form: Grammar | Packed) -> None:
        """Count one choice less."""
        self.choices -= 1
        if not isinstance(form, Packed):
            self._stop()

    def _stop(self) -> None:
        self.going_on -= 1
        if not self.going_on:
            self.grammar = None
