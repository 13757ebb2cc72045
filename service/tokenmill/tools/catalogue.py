"""What the servers offer, under names that models' APIs take, and that say whose tool it is.

1. A tool is called `SERVER__TOOL`: letters, digits, `_` and `-`, at most 64 characters, since that is what APIs take.
   What else a server's name for it has becomes `_`.
2. Two tools of one name, and a name that is too long, are refused: which tool runs is never guessed.
3. A tool's fingerprint is that of all that a model is told of it. A server may change a description later on, and what
   was approved is what was read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any

import msgspec

from tokenmill.errors import ConfigError
from tokenmill.parser.run.tools import Tool as Schema
from tokenmill.parser.run.tools import value_nodes

NAME_CHARACTERS = 64
"""Of a tool's name, in the APIs of all large providers."""

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]", flags=re.ASCII)


def server_of(name: str) -> str:
    """The server in the name that models call a tool by."""
    return name.partition("__")[0]


class Tool(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A tool as its server describes it."""

    server: str
    name: str
    """At its server."""
    description: str = ""
    parameters: dict[str, Any] = {}
    """JSON Schema of its arguments."""
    output: dict[str, Any] | None = None
    """JSON Schema of its structured content."""
    read_only: bool = False
    """The server says that it changes nothing. That is a hint of somebody else's."""
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
        """Why this structured content is not what the tool's schema promises; None if it is, or nothing is promised."""
        if self.output is None:
            return None
        problem = self._promised.mismatch(structured, value_nodes(structured))
        return None if problem is None else f"the structured content is not what the tool says it is: {problem}"

    @cached_property
    def _promised(self) -> Schema:
        """Made once: to compile a schema may take longer than the call did."""
        return Schema(self.name, self.output or {})


class Catalogue:
    """All tools by the names that models use."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        """Raises `ConfigError` for names that are none, or stand for two tools."""
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
            yield f"{name}: the server calls two tools so, {other.name!r} and {tool.name!r}"
        else:
            self._tools[name], self._schemas[name] = tool, Schema(name, tool.parameters)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def find(self, name: str) -> Tool | None:
        """The tool that a model calls by this name."""
        return self._tools.get(name)

    def mismatch(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """Why a tool of this name, which there is, does not take these arguments; None if it does."""
        return self._schemas[name].mismatch(arguments, value_nodes(arguments))

    def openai(self) -> list[Mapping[str, Any]]:
        """The list that APIs after OpenAI's, and the option `tools` of a message, take."""
        return [
            {
                "type": "function",
                "function": {"name": name, "description": tool.description, "parameters": tool.parameters},
            }
            for name, tool in self._tools.items()
        ]
