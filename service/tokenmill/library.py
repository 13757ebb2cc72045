"""The parser as a library: no broker, no I/O, no global state."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from tokenmill import parser
from tokenmill.errors import BadOpen, SnapshotError
from tokenmill.formats import compile_grammar
from tokenmill.limits import Limits
from tokenmill.parser.grammar import Grammar
from tokenmill.parser.options import Options, read_options
from tokenmill.parser.spec import Format
from tokenmill.parser.state import State
from tokenmill.plugins import load_plugins

SNAPSHOT_VERSION = 1


class _Snapshot(msgspec.Struct):
    version: int
    options: Options
    limits: Limits
    state: bytes


class Parser(parser.Parser):
    """Parses one message of a model.

    `format` is a name, several names that live at once, or a `Format` of your own; `tools` is an OpenAI tool list;
    `options` are those of a message (`tokenmill.parser.Options`). `limits` are the caps and `identity` the text from
    which ids of calls are derived: give each message its own where ids must be unique. Raises `BadOpen` on a wrong
    option; nothing else here raises, whatever the model writes.
    """

    __slots__ = ()

    def __init__(
        self,
        format: str | Sequence[str] | Format = "plain",  # noqa: A002 # the option's name
        tools: Sequence[Mapping[str, Any]] | None = None,
        *,
        limits: Limits | None = None,
        identity: str = "",
        **options: Any,
    ) -> None:
        name = format.name if isinstance(format, Format) else format if isinstance(format, str) else list(format)
        read = read_options({"format": name, "tools": list(tools or ()), **options})
        if isinstance(format, Format):
            grammar = Grammar(read, [format], limits or Limits())
        else:
            grammar = _grammar(read, limits or Limits())
        self.grammar, self.state, self.chars = grammar, State(identity, grammar.start), 0

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
                else _grammar(snapshot.options, snapshot.limits)
            )
        except (msgspec.DecodeError, BadOpen) as problem:
            raise SnapshotError(f"the snapshot can't be read: {problem}") from problem
        return cast("Parser", cls.of_state(grammar, snapshot.state))


def _grammar(options: Options, limits: Limits) -> Grammar:
    """The grammar of these options; formats of other packages are looked for when a name is not one of ours."""
    try:
        return compile_grammar(options, limits)
    except BadOpen:
        load_plugins()
        return compile_grammar(options, limits)
