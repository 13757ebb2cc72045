"""A record of what snapshots hold, and of every case's result, so that neither changes without its version.

1. `structs` are all that a snapshot may hold, whose fields are told by their place: names and types, in order.
2. Of each case of a format there are three hashes: of itself, of its events, and of the parser's state in its middle.
3. Whoever changes one of these raises a version: `SCHEMA` and `SNAPSHOT_VERSION` for states, `EVENTS_VERSION` for
   events. Until then the lock is not written. What is new needs no version, and what is gone needs none where it is a
   case.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import blake2b
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeAlias

import click
import msgspec

from tokenmill import library
from tokenmill.codecs import CODECS
from tokenmill.dialects import DIALECTS
from tokenmill.formats import FORMATS, compile_grammar
from tokenmill.parser import MessageParser, read_options
from tokenmill.partition import settings, snapshot
from tokenmill.plugins import KINDS, OWN

CHECKOUT = Path(__file__).resolve().parents[3]

LOCK = "tests/cases/states.lock.json"

HELD = ("tokenmill.codecs", "tokenmill.dialects", "tokenmill.parser", "tokenmill.partition")
"""Packages with the structs of states, besides those of plug-ins."""

_MODULE = re.compile(r"\b(?:\w+\.)+(?=\w)")

DEFINED = (CODECS, DIALECTS, FORMATS)
"""Modules that, once imported, define every struct of a state."""

Hashes: TypeAlias = str
"""Two hashes: of a case's events, and of its state."""


class Lock(msgspec.Struct, frozen=True):
    """The file."""

    versions: dict[str, int]
    structs: dict[str, list[str]]
    """Fields, each with its type, in order, after the tag if there is one."""
    cases: dict[str, dict[str, Hashes]]
    """Hashes by format, and by the hash of the case."""


def text() -> str:
    """Return the lock as a file. Raises `ClickException` for a change without its version."""
    new, path = now(), CHECKOUT / LOCK
    if path.exists() and (problems := list(drifts(msgspec.json.decode(path.read_bytes(), type=Lock), new))):
        raise click.ClickException("\n".join(problems))
    return json.dumps(msgspec.to_builtins(new), indent=1, sort_keys=True) + "\n"


@cache
def now() -> Lock:
    """Return the lock of the current code."""
    versions = {
        "EVENTS_VERSION": settings.EVENTS_VERSION,
        "SCHEMA": snapshot.SCHEMA,
        "SNAPSHOT_VERSION": library.SNAPSHOT_VERSION,
    }
    return Lock(versions, dict(structs()), {format_.name: dict(cases(format_.name)) for format_ in FORMATS})


def drifts(old: Lock, new: Lock) -> Iterator[str]:
    """Return a sentence for each version that has to be raised."""
    events, states = (list(_changed_cases(old, new, which)) for which in (0, 1))
    laid_out = sorted(name for name, fields in old.structs.items() if new.structs.get(name) != fields)
    library_state = [name for name in laid_out if name.startswith("parser.")]
    for version, what in (
        ("EVENTS_VERSION", events),
        ("SCHEMA", [*laid_out, *states]),
        ("SNAPSHOT_VERSION", [*library_state, *states]),
    ):
        if what and new.versions[version] <= old.versions[version]:
            yield f"{version} has to be raised: {len(what)} changed, such as {', '.join(what[:3])}"


def _changed_cases(old: Lock, new: Lock, which: int) -> Iterator[str]:
    for format_, found in old.cases.items():
        known = new.cases.get(format_, {})
        for case, hashes in found.items():
            if case in known and known[case].split()[which] != hashes.split()[which]:
                yield f"{format_} {case}"


def structs() -> Iterator[tuple[str, list[str]]]:
    """Return the fields of all structs that are encoded by position."""
    held = (*HELD, *_plugged())
    for kind in sorted(_below(msgspec.Struct), key=lambda kind: (kind.__module__, kind.__name__)):
        if kind.__module__.startswith(held) and kind.__struct_config__.array_like:
            tags = [f"tag {tag}"] if (tag := kind.__struct_config__.tag) else []
            fields = [f"{field.name}: {_said(field.type)}" for field in msgspec.structs.fields(kind)]
            yield f"{kind.__module__.removeprefix('tokenmill.')}.{kind.__name__}", [*tags, *fields]


def _plugged() -> set[str]:
    """Return the packages of this package's own plug-ins."""
    found = (entry for kind in KINDS for entry in entry_points(group=kind.group))
    return {entry.module.rpartition(".")[0] for entry in found if entry.module.startswith(OWN)}


def _below(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def _said(kind: Any) -> str:
    """Return a type without the modules of its parts."""
    return _MODULE.sub("", kind.__name__ if isinstance(kind, type) else str(kind))


def cases(format_: str) -> Iterator[tuple[str, Hashes]]:
    """Return the hashes of a format's cases."""
    path = CHECKOUT / "tests" / "cases" / "formats" / f"{format_}.jsonl"
    lines = path.read_bytes().splitlines() if path.exists() else []
    for line in lines:
        case = msgspec.json.decode(line)
        yield _hash({name: case[name] for name in ("text", "tools", "open") if name in case}), _outcome(format_, case)


def _outcome(format_: str, case: Mapping[str, Any]) -> Hashes:
    options = {"format": format_, "tools": case.get("tools", []), **case.get("open", {})}
    parser, middle = MessageParser.of(compile_grammar(read_options(options)), "lock"), len(case["text"]) // 2
    events = parser.feed(case["text"][:middle])
    state = parser.encode_state()
    events += [*parser.feed(case["text"][middle:]), *parser.finish("stop")]
    return f"{_hash(events)} {_hash(state)}"


def _hash(value: Any) -> str:
    return blake2b(msgspec.json.encode(value), digest_size=6).hexdigest()
