"""The parser as a library: no broker, no I/O, no global state.

1. Decisions that the pure parser leaves to its host are made here, as the worker makes them for records: what ids are
   derived from, what becomes of text that can't be encoded, and that a message can't continue after its end.
2. This is the only place with a random number: for the ids of a parser without an `identity`.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Unpack
from weakref import WeakSet

import msgspec
from msgspec import UNSET, UnsetType

from tokenmill import parser
from tokenmill.errors import BadOpen, ConfigError, MessageEnded, SnapshotError
from tokenmill.events import AnyEvent
from tokenmill.formats import GRAMMARS_BYTES, GRAMMARS_KEPT, compile_grammar
from tokenmill.limits import Limits
from tokenmill.parser.compile.grammar import Grammar, options_key
from tokenmill.parser.options import MessageOptions, Options, read_options
from tokenmill.parser.run.state import State
from tokenmill.parser.spec import Format
from tokenmill.parser.values.repair import single_halves
from tokenmill.recent import Recent

SNAPSHOT_VERSION = 6

IDENTITY_BYTES = 12
"""Bytes of a random identity: as many as in an id made of it."""


class _Snapshot(msgspec.Struct):
    version: int
    options: Options
    limits: Limits
    state: bytes


_snapshots = msgspec.msgpack.Decoder(_Snapshot)


def _compiled(options: Options, limits: Limits, own: Format | None) -> Grammar:
    """Return the grammar, kept for the next parser, of a format by name or of the caller's own."""
    if own is None:
        return compile_grammar(options, limits)
    key = id(own), options_key(options), limits
    if (known := _recent.get(key)) is None:
        known = own, Grammar(options, [own], limits)
        _recent.put(key, known, known[1].memory)
        _of_own_formats.add(known[1])
    return known[1]


_recent: Recent[tuple[int, str, Limits], tuple[Format, Grammar]] = Recent(GRAMMARS_KEPT, GRAMMARS_BYTES)
"""Grammars of callers' own formats. They are kept with the format: so nothing else gets its id, which stands for it."""

_of_own_formats: WeakSet[Grammar] = WeakSet()


def checked_limits(limits: Limits | None) -> Limits:
    """Return these caps, or the default ones. Raises `ConfigError` for caps below 1: text would be lost."""
    caps = limits or Limits()
    if problems := [problem for _, problem in caps.problems()]:
        raise ConfigError(problems)
    return caps


class Parser(parser.MessageParser):
    """Parses one message of a model.

    `format` is a name, several names that live at once, or a `Format` of your own; `tools` is an OpenAI tool list;
    `options` are those of a message (see `tokenmill.parser.Options`). `limits` are the caps, and `identity` is the text
    from which ids of calls are derived: the same text gives the same ids. By default each parser has its own ids.
    Raises `BadOpen` for a wrong option, `ConfigError` for a cap below 1, and `MessageEnded` when it is fed after
    `finish`; model output never raises.
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
        grammar = _compiled(read, checked_limits(limits), format if isinstance(format, Format) else None)
        known = secrets.token_hex(IDENTITY_BYTES) if identity is None else identity
        self.grammar, self.state, self.chars, self.quick = grammar, State(known, grammar.start), 0, None

    def feed(self, text: str) -> list[AnyEvent]:
        """The events of more model text. Half a surrogate pair, which can't be encoded, becomes U+FFFD."""
        self._still_open()
        return super().feed(text if text.isascii() else single_halves(text))

    def reasoning(self, text: str) -> list[AnyEvent]:
        """The events of reasoning that the provider has separated itself."""
        self._still_open()
        return super().reasoning(single_halves(text))

    def tool_calls(self, deltas: Sequence[Mapping[str, Any]]) -> list[AnyEvent]:
        """The events of OpenAI tool-call deltas."""
        self._still_open()
        return super().tool_calls([single_halves(delta) for delta in deltas])

    def part(self, kind: str, value: Any, id: str | UnsetType = UNSET) -> list[AnyEvent]:  # noqa: A002 # the field's name
        """The event of other provider content, in its place."""
        self._still_open()
        return super().part(kind, single_halves(value), id)

    def fail(self, message: str, status: int | UnsetType = UNSET, raw: str | UnsetType = UNSET) -> list[AnyEvent]:
        """The event of the provider's failure: an `error` `upstream`, with the status and body of its answer."""
        self._still_open()
        return super().fail(single_halves(message), status, raw if isinstance(raw, UnsetType) else single_halves(raw))

    def _still_open(self) -> None:
        if self.state.finished:
            raise MessageEnded("the message has ended; make a new Parser for the next one")

    def snapshot(self) -> bytes:
        """The state needed to continue elsewhere."""
        grammar = self.grammar
        return msgspec.msgpack.encode(_Snapshot(SNAPSHOT_VERSION, grammar.options, grammar.limits, self.encode_state()))

    def __copy__(self) -> "Parser":
        return self.of_state(self.grammar, self.encode_state())

    def __deepcopy__(self, _memo: dict[int, Any]) -> "Parser":
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.grammar in _of_own_formats:
            raise TypeError(
                "a parser of your own Format can't be pickled: use `snapshot`, and `restore` with the format"
            )
        return type(self).restore, (self.snapshot(),)

    @classmethod
    def restore(cls, data: bytes, format: Format | None = None) -> "Parser":  # noqa: A002 # the option's name
        """The parser that made the snapshot; pass `format` again if it was your own. Raises `SnapshotError`."""
        try:
            snapshot = _snapshots.decode(data)
            if snapshot.version != SNAPSHOT_VERSION:
                raise SnapshotError(f"the snapshot is of version {snapshot.version}, this is {SNAPSHOT_VERSION}")
            grammar = _compiled(snapshot.options, snapshot.limits, format)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, BadOpen) as problem:
            raise SnapshotError(f"the snapshot can't be read: {problem}") from problem
        return cls.of_state(grammar, snapshot.state)
