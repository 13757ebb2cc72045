"""Which servers there are: a JSON file in the shape that clients of the Model Context Protocol share.

1. `mcpServers` holds them by name. A server is a program on this machine (`command`, `args`, `env`, `cwd`), reached
   over its standard streams, or has a `url` (`headers`), reached by streamable HTTP.
2. Other keys belong to other clients, and are ignored. A server that is `disabled` is left out.
3. `${NAME}` in a value stands for a variable of the environment; `${NAME:-else}` has a default. So the file needs no
   secrets.
4. Three keys are ours: `call_s` is how long a call of this server may take, in seconds, instead of `tools.call_s`;
   `calls` is how many run at once, instead of `tools.calls_per_server`; `memory_mib` is the memory that each process of
   a program may have.
5. All mistakes are reported together.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from tokenmill.errors import NOT_JSON, ConfigError

_NAME = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*")
"""Name of a server. Two `_` separate it from a tool's name, so it has none of these."""

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}", flags=re.ASCII)

_KINDS = {"stdio": "command", "http": "url", "streamable-http": "url", "streamableHttp": "url"}
"""Values of `type`, in all spellings in use, and the key that belongs to each."""


class Program(msgspec.Struct, frozen=True):
    """A server that runs as a child process."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    """Variables that it gets, in addition to the few that every program needs."""
    cwd: str = ""
    call_s: float | None = None
    calls: int | None = None
    memory_mib: int = 0
    """MiB of memory that each of its processes may have; 0 for no limit."""

    def __str__(self) -> str:
        return f"{self.name} (command {self.command!r})"


class Remote(msgspec.Struct, frozen=True):
    """A server that is reached by HTTP."""

    name: str
    url: str
    headers: Mapping[str, str] = {}
    call_s: float | None = None
    calls: int | None = None

    def __str__(self) -> str:
        parts = urlsplit(self.url)  # what follows the path may be a secret
        return f"{self.name} ({parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path})"


Server: TypeAlias = Program | Remote


class _Entry(msgspec.Struct):
    type: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = {}
    call_s: Annotated[float, Meta(gt=0)] | None = None
    calls: Annotated[int, Meta(gt=0)] | None = None
    memory_mib: Annotated[int, Meta(ge=0)] = 0
    disabled: bool = False


class _File(msgspec.Struct):
    servers: dict[str, msgspec.Raw] = msgspec.field(name="mcpServers")


class _Wrong(ValueError):
    """A mistake in an entry, as a sentence."""


def read_servers(content: bytes, environ: Mapping[str, str]) -> tuple[Server, ...]:
    """Return the servers of a file, in its order. Raises `ConfigError`."""
    try:
        entries = msgspec.json.decode(content.removeprefix(BOM_UTF8), type=_File).servers
    except NOT_JSON as problem:
        shape = '{"mcpServers": {"NAME": {"command": …} or {"url": …}}}'
        raise ConfigError([f"expected {shape} as JSON: {problem}"]) from problem
    servers, problems = list[Server](), list[str]()
    for name, raw in entries.items():
        try:
            servers += _servers(name, raw, environ)
        except (msgspec.DecodeError, UnicodeDecodeError, _Wrong) as problem:
            problems.append(f"mcpServers.{name}: {problem}")
    if problems:
        raise ConfigError(problems)
    return tuple(servers)


def _servers(name: str, raw: msgspec.Raw, environ: Mapping[str, str]) -> Iterator[Server]:
    """Yield the server of an entry, unless it is disabled."""
    entry = msgspec.json.decode(raw, type=_Entry)
    if entry.disabled:
        return
    if not _NAME.fullmatch(name):
        raise _Wrong("a server's name has letters, digits, - and single _, because it is part of its tools' names")
    _check_kind(entry)
    filled = _filled(msgspec.to_builtins(entry), environ)
    limits = entry.call_s, entry.calls
    if entry.command:
        program = name, filled["command"], tuple(filled["args"]), filled["env"], filled["cwd"]
        yield Program(*program, *limits, entry.memory_mib)
    else:
        yield Remote(name, _checked_url(filled["url"]), filled["headers"], *limits)


def _check_kind(entry: _Entry) -> None:
    if bool(entry.command) == bool(entry.url):
        raise _Wrong("expected a command or a url" + (", not both" if entry.url else ""))
    key = _KINDS.get(entry.type, "")
    if entry.type and not key:
        older = "; ask its makers for the address of streamable HTTP, which came after it"
        instead = older if entry.type == "sse" else ""
        raise _Wrong(f"type is {entry.type!r}; expected stdio or http{instead}")
    if key and not getattr(entry, key):
        raise _Wrong(f"a server of the type {entry.type} has a {key}")


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _Wrong("url: expected http:// or https://")
    return url


def _filled(value: Any, environ: Mapping[str, str]) -> Any:
    """Replace variables by their values, at any depth."""
    if isinstance(value, dict):
        return {key: _filled(each, environ) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(each, environ) for each in value]
    return _VARIABLE.sub(lambda match: _variable(match, environ), value) if isinstance(value, str) else value


def _variable(match: re.Match[str], environ: Mapping[str, str]) -> str:
    name, otherwise = match.groups()
    value = environ.get(name, otherwise)
    if value is None:
        raise _Wrong(f"the variable {name} is not set")
    return value
