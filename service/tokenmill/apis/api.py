"""What an API is: where it is, what its answers are made of, and what each field of its requests does."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from tokenmill.apis.ask import Ask, Json
from tokenmill.apis.reading import Node

Does: TypeAlias = Literal["used", "forwarded", "noted", "refused"]
"""`used`: it changes the answer. `forwarded`: the model's server decides, if it speaks the same API. `noted`: taken,
and without effect, because it means nothing here. `refused`: by name, unless it says what is so anyway."""


class Field(msgspec.Struct, frozen=True):
    """A field of a request, or a member of one, and what it does."""

    name: str
    """As it stands in the body; members behind dots, as in `stream_options.include_usage`."""
    does: Does
    text: str
    """What it is for, why it has no effect, or what to do instead."""
    accepts: Sequence[Any] = ()
    """Of a refused field: values that ask for nothing, as SDKs send them unasked."""


class Fields:
    """The fields of a request of one API."""

    def __init__(self, *rows: Field, unknown: Does, about: str) -> None:
        """`unknown` is what other fields are, `about` says so for the reference."""
        self.rows = rows
        self.unknown = unknown
        self.about = about
        self._top = {row.name: row for row in rows if "." not in row.name}
        self._inner = {row.name: row for row in rows if "." in row.name}

    def does(self, name: str) -> Does:
        """What a field of the body does."""
        return self._top[name].does if name in self._top else self.unknown

    def check(self, body: Node) -> Json:
        """Refuse what is refused; returns what is forwarded. Raises `BadAsk`."""
        forwarded: Json = {}
        for name in body.object():
            row, member = self._top.get(name), body.at(name)
            if not member.absent and self._does(row, member) == "forwarded":
                forwarded[name] = member.value
        return forwarded

    def check_within(self, body: Node, name: str) -> Node | None:
        """Refuse what is refused or unknown inside of a field that is an object; None if it is absent."""
        node = body.at(name)
        if node.absent:
            return None
        node.only(*self.names_within(name))
        for member in node.object():
            if not (inner := node.at(member)).absent:
                self._does(self._inner.get(inner.path), inner)
        return node

    def names_within(self, name: str) -> Iterator[str]:
        """Names of the members of a field."""
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
    """In which a stream is told."""
    whole: str
    """The dialect that an answer without a stream is made of, see `whole_answer`."""
    prefix: str
    """Of the ids of answers."""
    fields: Fields
    names: Mapping[str, str]
    """What it calls fields that `Ask` has by another name."""
    read: Callable[[Json], Ask]
    """What a body asks for. Raises `BadAsk`, and nothing else, whatever the body is."""
