"""Formats, codecs and dialects of other packages, found through their entry points.

A package's metadata names the place of its component, under the component's own name:

    [project.entry-points."tokenmill.formats"]
    shouted = "shouting:SHOUTED"

1. The groups are `tokenmill.codecs`, `tokenmill.formats` and `tokenmill.dialects`; a component is an object like those
   of this package.
2. They are loaded once, when a command starts, ordered by group and name: before the first record, never because of
   one. In other programs the first unknown name loads them (see `registry`). The events of a record depend on which
   packages are installed, as they do on the version of this one.
3. A component that can't be used stops the process, and all such are reported together: a worker without a format that
   its messages name would make them dead letters.
"""

from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

import msgspec

from tokenmill.codecs import CODECS
from tokenmill.dialects import DIALECTS, Dialect
from tokenmill.errors import ConfigError
from tokenmill.formats import FORMATS
from tokenmill.limits import Limits
from tokenmill.parser import Format, Grammar, Options
from tokenmill.registry import Registry


class Kind(NamedTuple):
    """One group of entry points."""

    group: str
    registry: Registry[Any]
    wrong: Callable[[Any], str]
    """Describes what is wrong with a component; empty if nothing is."""


def _lacks(component: Any, *attributes: str) -> str:
    missing = [name for name in attributes if not hasattr(component, name)]
    return f"it has no {', '.join(missing)}" if missing else ""


def _wrong_codec(component: Any) -> str:
    return _lacks(component, "name", "summary", "sample", "decode")


def _wrong_format(component: Any) -> str:
    if not isinstance(component, Format):
        return f"it is not a tokenmill.parser.Format but a {type(component).__name__}"
    Grammar(Options(format=component.name), [component], Limits())
    return ""


def _wrong_dialect(component: Any) -> str:
    if not isinstance(component, Dialect):
        return f"it is not a tokenmill.dialects.Dialect but a {type(component).__name__}"
    state: Any = component.state_type
    if (lacking := _lacks(component, "name", "summary")) or state is None:
        return lacking
    if not (isinstance(state, type) and issubclass(state, msgspec.Struct)):
        return "its state_type is not a msgspec.Struct, so a snapshot can't hold it"
    state()
    return ""


KINDS = (
    Kind("tokenmill.codecs", CODECS, _wrong_codec),
    Kind("tokenmill.dialects", DIALECTS, _wrong_dialect),
    Kind("tokenmill.formats", FORMATS, _wrong_format),
)


OWN = "tokenmill."
"""Prefix of this package's modules: their components are tested, and need no check at each start."""


@cache
def load_plugins() -> None:
    """Register the components of installed packages, on the first call. Raises `ConfigError` with all problems."""
    found = entry_points()
    problems = [problem for kind in KINDS for problem in _load(kind, found.select(group=kind.group))]
    if problems:
        raise ConfigError(problems)


def _load(kind: Kind, entries: Iterable[EntryPoint]) -> Iterable[str]:
    for entry in sorted(entries, key=lambda entry: (entry.name, entry.value)):
        if problem := _added(kind, entry):
            package = f" of the package {entry.dist.name} {entry.dist.version}" if entry.dist else ""
            yield f"entry point {entry.name!r} in {kind.group}{package}: {problem}; fix the package or remove it"


def _added(kind: Kind, entry: EntryPoint) -> str:
    """Add one component; returns the reason if it can't be added."""
    try:
        component = entry.load()
        if not entry.module.startswith(OWN) and (wrong := kind.wrong(component)):
            return wrong
        if component.name.lower() != entry.name.lower():
            return f"its component is named {component.name!r}; give both the same name"
        kind.registry.add(component)
    except Exception as problem:  # noqa: BLE001 -- foreign code may raise anything, and must not hide other problems
        return f"{type(problem).__name__}: {problem}"
    return ""
