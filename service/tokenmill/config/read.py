"""Reading a `Config`, or the list of all problems, from a TOML file and environment variables."""

import tomllib
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

import msgspec

from tokenmill.config.base import SECRETS, Section
from tokenmill.config.relations import contradictions
from tokenmill.config.sections import Config, ExtraOutput
from tokenmill.config.upstreams import Upstream
from tokenmill.errors import ConfigError
from tokenmill.parser.options import wrong_value
from tokenmill.registry import known_names

PREFIX = "TOKENMILL_"
FILE_VARIABLE = "TOKENMILL_CONFIG"
LISTS: dict[str, type[Section]] = {"outputs": ExtraOutput, "upstreams": Upstream}
"""Lists of tables; the variable of each (`TOKENMILL_OUTPUTS`) holds JSON."""

_FIELDS = {field.name: field for field in msgspec.structs.fields(Config)}
_SECTIONS = {name: field.type for name, field in _FIELDS.items() if name not in LISTS}


class _Text(NamedTuple):
    """The value of an environment variable."""

    variable: str
    text: str


def load_config(path: Path | None, environ: Mapping[str, str]) -> Config:
    """Settings of the file at `path`, or of the one that `TOKENMILL_CONFIG` names; the environment overrides the file.

    Raises `ConfigError` with every problem.
    """
    reader = _Reader()
    reader.refuse_parts_of_lists(environ)
    if path is None and environ.get(FILE_VARIABLE):
        path = Path(environ[FILE_VARIABLE])
    values = reader.file(path) if path else {}
    config = reader.config(_overlay(values, environ))
    if reader.problems:
        raise ConfigError(reader.problems)
    return config


def _settings(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """The variables that name a key of a section: variable, section and key."""
    for variable in environ:
        section, separator, key = variable.removeprefix(PREFIX).lower().partition("__")
        if variable.startswith(PREFIX) and separator:
            yield variable, section, key


def _overlay(values: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """The file overridden by variables. Those without `__` are not settings, such as TOKENMILL_CONFIG."""
    result = {name: dict(table) if isinstance(table, dict) else table for name, table in values.items()}
    for variable, section, key in _settings(environ):
        table = result.setdefault(section, {}) if section not in LISTS else None
        if isinstance(table, dict):
            table[key] = _Text(variable, environ[variable])
    for name in LISTS:
        if (variable := PREFIX + name.upper()) in environ:
            result[name] = _Text(variable, environ[variable])
    return result


_ENCODING = "utf-8-sig"
"""UTF-8, without the byte order mark that some editors write."""


class _Reader:
    """Collects problems while it reads; a key with a problem keeps its default."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._broken: set[str] = set()

    def _problem(self, key: str, sentence: str) -> None:
        self.problems.append(f"{key}: {sentence}")
        self._broken.add(key)

    def refuse_parts_of_lists(self, environ: Mapping[str, str]) -> None:
        """Refuse variables for one key of a list's tables, which would have no effect."""
        for variable, section, _ in _settings(environ):
            if section in LISTS:
                all_of_them = f"set all in {PREFIX}{section.upper()}, as JSON"
                self._problem(variable, f"there may be several of these tables: {all_of_them}")

    def file(self, path: Path) -> dict[str, Any]:
        try:
            return tomllib.loads(path.read_text(encoding=_ENCODING))
        except OSError as error:
            self._problem(str(path), f"can't be read: {error.strerror}")
        except UnicodeDecodeError:
            self._problem(str(path), "is not UTF-8")
        except tomllib.TOMLDecodeError as error:
            self._problem(str(path), f"is not TOML: {error}")
        except (ValueError, RecursionError) as error:  # a number of thousands of digits; lists in lists in lists
            self._problem(str(path), f"can't be read: {error}")
        return {}

    def config(self, values: Mapping[str, Any]) -> Config:
        for name in values:
            if name not in _FIELDS:
                self._problem(name, _unknown("section", name, _FIELDS))
        read: dict[str, Any] = {
            name: kind(**self._table(name, kind, values.get(name, {}))) for name, kind in _SECTIONS.items()
        }
        read |= {name: self._list(name, kind, values.get(name, [])) for name, kind in LISTS.items()}
        config = Config(**read)
        for keys, sentence in contradictions(config):
            if not self._broken.intersection(keys):  # a refused key is reported once
                self.problems.append(sentence)
        return config

    def _table(self, path: str, kind: Any, table: object) -> dict[str, Any]:
        """The values of a table that `kind` takes."""
        if not isinstance(table, dict):
            self._problem(path, "must be a table")
            return {}
        fields = {field.name: field for field in msgspec.structs.fields(kind)}
        read = {}
        for key, value in table.items():
            if key not in fields:
                self._problem(f"{path}.{key}", _unknown("key", key, fields))
                continue
            try:
                read[key] = _convert(value, fields[key].type)
            except msgspec.MsgspecError as error:
                source = f" (from {value.variable})" if isinstance(value, _Text) else ""
                self._problem(f"{path}.{key}", f"{wrong_value(error, fields[key].type)}{source}")
        for secret in SECRETS.intersection(fields):
            if name := read.get(f"{secret}_file"):
                read[secret] = self._secret(f"{path}.{secret}", name, given=bool(read.get(secret)))
        return read

    def _secret(self, key: str, name: str, *, given: bool) -> str:
        """The content of the file `name`, without the line's end that editors and `echo` add."""
        if given:
            self._problem(key, f"is set, and so is {key}_file; set only one")
            return ""
        try:
            secret = Path(name).read_text(encoding=_ENCODING).rstrip("\r\n")
        except OSError as error:
            self._problem(f"{key}_file", f"{name} can't be read: {error.strerror}")
        except UnicodeDecodeError:
            self._problem(f"{key}_file", f"{name} is not UTF-8")
        except ValueError as error:
            self._problem(f"{key}_file", f"{name!r} is not a file name: {error}")
        else:
            if secret:
                return secret
            self._problem(f"{key}_file", f"{name} is empty")
        self._broken.add(key)
        return ""

    def _list(self, name: str, kind: type[Section], value: object) -> list[Any]:
        """The tables of a list; a missing key is reported, and read as empty."""
        needed: dict[str, Any] = {
            field.name: "" if field.type is str else [] for field in msgspec.structs.fields(kind) if field.required
        }
        try:
            tables: list[dict[str, Any]] = _convert(value, list[dict[str, Any]])
        except msgspec.MsgspecError:
            self._problem(name, f"must be a list of tables with {' and '.join(f'`{key}`' for key in needed)}")
            return []
        read = []
        for number, table in enumerate(tables):
            values = self._table(f"{name}[{number}]", kind, table)
            for key in needed:
                if key not in table:
                    self._problem(f"{name}[{number}].{key}", "is missing")
            read.append(kind(**needed | values))
        return read


def _convert(value: object, kind: Any) -> Any:
    """The value as `kind`, if it can be encoded: settings are part of fingerprints and of snapshots."""
    try:
        converted = _read_as(value, kind)
        msgspec.msgpack.encode(converted)
    except OverflowError:
        raise msgspec.ValidationError("Expected numbers of at most 64 bits") from None
    except UnicodeEncodeError:
        raise msgspec.ValidationError("Expected text that is UTF-8") from None
    except RecursionError:
        raise msgspec.ValidationError("Expected values that are not nested so deep") from None
    if isinstance(converted, float) and not isfinite(converted):
        raise msgspec.ValidationError("Expected a number that is finite")
    return converted


def _read_as(value: object, kind: Any) -> Any:
    """A file's value as it is; a variable's text as `kind`. It is JSON if it begins like it and `kind` has lists."""
    if not isinstance(value, _Text):
        return msgspec.convert(value, kind)
    if value.text.lstrip()[:1] in {"[", "{"} and _has_lists(kind):
        return msgspec.convert(msgspec.json.decode(value.text), kind)
    return msgspec.convert(value.text, kind, strict=False)


def _has_lists(kind: Any) -> bool:
    """Whether a list or an object is a value of `kind`, or of one of several types."""
    return get_origin(kind) in {list, dict, tuple} or any(map(_has_lists, get_args(kind)))


def _unknown(what: str, name: str, known: Mapping[str, object]) -> str:
    return f"unknown {what}; {known_names(name, known)}"
