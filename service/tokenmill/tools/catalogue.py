"""The tools of all servers, under names that models' APIs accept and that name the server.

1. A tool is called `SERVER__TOOL`: letters, digits, `_` and `-`, at most 64 characters, since that is what APIs accept.
   Any other character of the server's own name for it becomes `_`.
2. Two tools with one name and names that are too long are refused: which tool runs is never guessed.
3. A tool's fingerprint covers all that a model is told of it. A server may change a description later, and a person
   approved of what they read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any

import msgspec

from tokenmill.errors import ConfigError
from tokenmill.parser.run.rules import Tool as Schema
from tokenmill.parser.values.conform import size_of

NAME_CHARACTERS = 64
"""Longest name of a tool in the APIs of all large providers."""

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]", flags=re.ASCII)


def server_of(name: str) -> str:
    """Return the server in the name that models use for a tool."""
    return name.partition("__")[0]


class Tool(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A tool as its server describes it."""

    server: str
    name: str
    """Name at its server."""
    description: str = ""
    parameters: dict[str, Any] = {}
    """JSON Schema of its arguments."""
    output: dict[str, Any] | None = None
    """JSON Schema of its structured content."""
    read_only: bool = False
    """Hint of the server that the tool changes nothing."""
    destructive: bool = True
    idempotent: bool = False

    @property
    def public_name(self) -> str:
        """The name by which models call it."""
        return f"{self.server}__{_FOREIGN.sub('_', self.name)}"

    @property
    def fingerprint(self) -> str:
        """SHA-256, in hex, of all that a model is told of it."""
        told = [self.server, self.name, self.description, self.parameters]
        return sha256(msgspec.json.encode(told, order="deterministic")).hexdigest()

    def unkept(self, structured: Any) -> str | None:
        """Return why this structured content breaks the tool's schema; None if it does not, or there is no schema."""
        if self.output is None:
            return None
        problem = self._promised.mismatch(structured, size_of(structured)[0])
        return None if problem is None else f"the structured content does not fit the tool's schema: {problem}"

    @cached_property
    def _promised(self) -> Schema:
        """Compiled once: that may take longer than the call."""
        return Schema(self.name, self.output or {})


class Catalogue:
    """All tools by the names that models use."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        """Raises `ConfigError` for names that are too long, or belong to two tools."""
        self._tools: dict[str, Tool] = {}
        self._schemas: dict[str, Schema] = {}
        problems = [problem for tool in tools for problem in self._added(tool)]
        if problems:
            raise ConfigError(problems)

    def _added(self, tool: Tool) -> Iterator[str]:
        name = tool.public_name
        if len(name) > NAME_CHARACTERS:
            yield f"{name}: a tool's name has at most {NAME_CHARACTERS} characters; give the server a shorter one"
        elif (other := self._tools.get(name)) is not None:
            yield f"{name}: the server has two tools of this name: {other.name!r} and {tool.name!r}"
        else:
            self._tools[name], self._schemas[name] = tool, Schema(name, tool.parameters)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def find(self, name: str) -> Tool | None:
        """Return the tool that has this name for models."""
        return self._tools.get(name)

    def mismatch(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """Return why the tool of this name, which exists, does not accept these arguments; None if it does."""
        return self._schemas[name].mismatch(arguments, size_of(arguments)[0])

    def openai(self) -> list[Mapping[str, Any]]:
        """Return the list that APIs modeled on OpenAI's accept, and the option `tools` of a message."""
        return [
            {
                "type": "function",
                "function": {"name": name, "description": tool.description, "parameters": tool.parameters},
            }
            for name, tool in self._tools.items()
        ]
