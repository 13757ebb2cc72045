"""The parser as a library: no broker, no I/O, no global state.

1. What the pure parser leaves to its host is decided here, as the worker decides it for records: from what ids are
   derived, what comes of text that has no bytes, and that a message that has ended is not gone on with.
2. Here alone a random number is drawn: for the ids of a parser that was given no `identity`.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import msgspec
from msgspec import UNSET, UnsetType

from tokenmill import parser
from tokenmill.errors import BadOpen, MessageEnded, SnapshotError
from tokenmill.events import AnyEvent
from tokenmill.formats import compile_grammar
from tokenmill.limits import Limits
from tokenmill.parser.compile.grammar import Grammar
from tokenmill.parser.options import MessageOptions, Options, read_options
from tokenmill.parser.run.state import State
from tokenmill.parser.spec import Format
from tokenmill.parser.values.repair import single_halves

SNAPSHOT_VERSION = 5

IDENTITY_BYTES = 12
"""Of a random identity: as many as an id made of it has."""


class _Snapshot(msgspec.Struct):
    version: int
    options: Options
    limits: Limits
    state: bytes


class Parser(parser.MessageParser):
    """Parses one message of a model.

    `format` is a name, several names that live at once, or a `Format` of your own; `tools` is an OpenAI tool list;
    `options` are those of a message (`tokenmill.parser.Options` says what they do). `limits` are the caps and
    `identity` the text from which ids of calls are derived: the same text gives the same ids. Without it each parser's
    ids are its own. Raises `BadOpen` on a wrong option, and `MessageEnded` when it is fed behind `finish`; whatever the
    model writes raises nothing.
    """

    __slots__ = ()

    def __init__(
        self,
        format: str | Sequence[str] | Format = "plain",  # noqa: A002 # the option's name
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        limits: Limits | None = None,
        identity: str | None = None,
        **options: Unpack[MessageOptions],
    ) -> None:
        name = format.name if isinstance(format, Format) else format if isinstance(format, str) else list(format)
        read = read_options({"format": name, "tools": list(tools or ()), **options})
        if isinstance(format, Format):
            grammar = Grammar(read, [format], limits or Limits())
        else:
            grammar = compile_grammar(read, limits or Limits())
        known = secrets.token_hex(IDENTITY_BYTES) if identity is None else identity
        self.grammar, self.state, self.chars, self.quick = grammar, State(known, grammar.start), 0, None

    def feed(self, text: str) -> list[AnyEvent]:
        """The events of more model text. Half a surrogate pair, which has no bytes, becomes U+FFFD."""
        self._still_open()
        return super().feed(text if text.isascii() else single_halves(text))

    def reasoning(self, text: str) -> list[AnyEvent]:
        """The events of reasoning that the provider separated itself."""
        self._still_open()
        return super().reasoning(single_halves(text))

    def tool_calls(self, deltas: Sequence[Mapping[str, Any]]) -> list[AnyEvent]:
        """The events of OpenAI tool-call deltas."""
        self._still_open()
        return super().tool_calls([single_halves(delta) for delta in deltas])

    def part(self, kind: str, value: Any, id: str | UnsetType = UNSET) -> list[AnyEvent]:  # noqa: A002 # the field's name
        """Other provider content, in its place."""
        self._still_open()
        return super().part(kind, single_halves(value), id)

    def fail(self, message: str, status: int | UnsetType = UNSET, raw: str | UnsetType = UNSET) -> list[AnyEvent]:
        """The provider failed: an `error` `upstream`, with the status and the body of its answer."""
        self._still_open()
        return super().fail(single_halves(message), status, raw if isinstance(raw, UnsetType) else single_halves(raw))

    def _still_open(self) -> None:
        if self.state.finished:
            raise MessageEnded("the message has ended; make a new Parser for the next one")

    def snapshot(self) -> bytes:
        """All that is needed to go on elsewhere."""
        grammar = self.grammar
        return msgspec.msgpack.encode(_Snapshot(SNAPSHOT_VERSION, grammar.options, grammar.limits, self.encode_state()))

    @classmethod
    def restore(cls, data: bytes, format: Format | None = None) -> "Parser":  # noqa: A002 # the option's name
        """The parser that made the snapshot; one with a format of your own needs it again. Raises `SnapshotError`."""
        try:
            snapshot = msgspec.msgpack.decode(data, type=_Snapshot)
            if snapshot.version != SNAPSHOT_VERSION:
                raise SnapshotError(f"the snapshot is of version {snapshot.version}, this is {SNAPSHOT_VERSION}")
            grammar = (
                Grammar(snapshot.options, [format], snapshot.limits)
                if format
                else compile_grammar(snapshot.options, snapshot.limits)
            )
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, BadOpen) as problem:
            raise SnapshotError(f"the snapshot can't be read: {problem}") from problem
        return cls.of_state(grammar, snapshot.state)
