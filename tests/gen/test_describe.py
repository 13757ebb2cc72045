"""Fields are described from the class and from the docstrings in its source."""

from typing import Any

import msgspec

from tokenmill.gen.describe import Described, fields


class Base(msgspec.Struct, kw_only=True):
    number: int = 1
    """How many,
    in pieces."""
    silent: str


class Derived(Base, kw_only=True):
    """A docstring of the class is none of a field."""

    names: list[str] = []
    """Who."""
    anything: Any = None


def test_fields_come_with_type_default_and_docstring() -> None:
    """Own and inherited fields, with and without docstring or default."""
    assert fields(Derived) == [
        Described("number", "integer", 1, "How many,\nin pieces."),
        Described("silent", "string", msgspec.NODEFAULT, ""),
        Described("names", "list of string", [], "Who."),
        Described("anything", "any JSON value", None, ""),
    ]
