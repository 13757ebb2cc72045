"""What an API is: its path, the dialects of its answers, and what each field of its requests does."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from tokenmill.apis.ask import Ask, Json
from tokenmill.apis.reading import Node

Does: TypeAlias = Literal["used", "forwarded", "noted", "refused"]
"""`used`: it changes the answer. `forwarded`: the model's server decides, if it speaks the same API. `noted`: accepted
without effect, because it means nothing here. `refused`: by name, unless its value is what happens anyway."""


class Field(msgspec.Struct, frozen=True):
    """A field of a request, or a member of one, and what it does."""

    name: str
    """Name in the body; members after dots, as in `stream_options.include_usage`."""
    does: Does
    text: str
    """What it is for, why it has no effect, or what to do instead."""
    accepts: Sequence[Any] = ()
    """Values of a refused field that ask for nothing, as SDKs send them by default."""


class Fields:
    """The fields of a request of one API."""

    def __init__(self, *rows: Field, unknown: Does, about: str) -> None:
        """`unknown` is how other fields are treated, `about` describes that for the reference."""
        self.rows = rows
        self.unknown = unknown
        self.about = about
        self._top = {row.name: row for row in rows if "." not in row.name}
        self._inner = {row.name: row for row in rows if "." in row.name}

    def does(self, name: str) -> Does:
        """Return what a field of the body does."""
        return self._top[name].does if name in self._top else self.unknown

    def check(self, body: Node) -> Json:
        """Refuse the refused fields; return the forwarded ones. Raises `BadAsk`."""
        forwarded: Json = {}
        for name in body.object():
            row, member = self._top.get(name), body.at(name)
            if not member.absent and self._does(row, member) == "forwarded":
                forwarded[name] = member.value
        return forwarded

    def check_within(self, body: Node, name: str) -> Node | None:
        """Refuse the refused and unknown members of a field that is an object; None if it is absent."""
        node = body.at(name)
        if node.absent:
            return None
        node.only(*self.names_within(name))
        for member in node.object():
            if not (inner := node.at(member)).absent:
                self._does(self._inner.get(inner.path), inner)
        return node

    def names_within(self, name: str) -> Iterator[str]:
        """Yield the names of the members of a field."""
        return (row.name.removeprefix(f"{name}.") for row in self.rows if row.name.startswith(f"{name}."))

    def _does(self, row: Field | None, node: Node) -> Does:
        does = row.does if row else self.unknown
        if does == "refused" and (row is None or not _is_one_of(node.value, row.accepts)):
            raise _refused(node, row)
        return does


def _is_one_of(value: Any, accepted: Sequence[Any]) -> bool:
    """Whether the value is one of these; true is not 1."""
    return any(type(value) is type(each) and value == each for each in accepted)


def _refused(node: Node, row: Field | None) -> Exception:
    if row is None:
        return node.bad("is not a field of this API.", "unknown_parameter")
    return node.bad(f"is not supported: {row.text}", "unsupported_parameter")


class Api(msgspec.Struct, frozen=True):
    """One API that clients speak."""

    name: Literal["chat", "responses", "messages"]
    title: str
    path: str
    dialect: str
    """Dialect of a streamed answer."""
    whole: str
    """Dialect of an answer without a stream, see `whole_answer`."""
    prefix: str
    """Prefix of the ids of answers."""
    fields: Fields
    names: Mapping[str, str]
    """Its names for fields that `Ask` names differently."""
    read: Callable[[Json], Ask]
    """Reads what a body asks for. Raises `BadAsk`, and nothing else, whatever the body is."""
