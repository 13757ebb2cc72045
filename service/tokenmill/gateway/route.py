"""What a route is, for those who describe it: the reference page and the OpenAPI document."""

from typing import Any, Literal, TypeAlias

import msgspec

from tokenmill.gateway.problems import Kind

Place: TypeAlias = Literal["path", "query", "header"]
Right: TypeAlias = Literal["read", "stop", "write"]


class Parameter(msgspec.Struct, frozen=True):
    """Something that a request says beside its body."""

    name: str
    place: Place
    text: str
    kind: Any = str
    """A type that msgspec has a schema for."""


class Answer(msgspec.Struct, frozen=True):
    """An answer that is no problem."""

    status: int
    text: str
    media: tuple[str, ...] = ()
    body: Any = None
    """The type of a body that is JSON; None: it is a stream, or empty."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A method of a path."""

    method: Literal["GET", "HEAD", "POST", "DELETE"]
    path: str
    summary: str
    text: str
    right: Right
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of the request's body; None: it has none."""
    media: tuple[str, ...] = ("application/json",)
    """What a body may be; all but JSON are streams."""
    answers: tuple[Answer, ...]
    problems: tuple[Kind, ...] = ()
    """Besides those that every route has."""
