"""The page of the settings and the sample configuration, both from the structs."""

import textwrap
from typing import Any

import msgspec

from tokenmill.config import Config
from tokenmill.config.read import LISTS, PREFIX
from tokenmill.gen import describe, markdown

WIDTH = 120

HEAD = """\
# Generated from the code by `make gen`. Every setting with its default: remove the # before what you change.
# Use it with `tokenmill worker --config FILE` or TOKENMILL_CONFIG=FILE, check it with `tokenmill config check`.
# Each key is also an environment variable TOKENMILL_SECTION__KEY, which overrides the file.
"""


def page() -> str:
    """Return the page, with every section as a table."""
    blocks = []
    for section, kind in _sections().items():
        blocks += [f"## `[{section}]`", describe.about(kind), _table(kind)]
    for name, kind in LISTS.items():
        whole = f"As many as needed; the variable `{PREFIX}{name.upper()}` holds the whole list as JSON."
        blocks += [f"## `[[{name}]]`", f"{describe.about(kind)} {whole}", _table(kind)]
    return markdown.page(
        "Configuration",
        "One TOML file, named by `--config` or the variable `TOKENMILL_CONFIG`.\n"
        "Every key is also an environment variable `TOKENMILL_SECTION__KEY` (`TOKENMILL_KAFKA__GROUP_ID`), which "
        "overrides the file.\n"
        "In a variable, a list or table is written as JSON.\n"
        "Unknown keys, wrong types and contradictions are all refused together at start, each with its name;\n"
        "`tokenmill config check` reports the same without starting anything.\n"
        "A file with every setting is [deploy/tokenmill.toml](../../deploy/tokenmill.toml).",
        *blocks,
    )


def sample() -> str:
    """Return a configuration file with every setting and its default, commented out."""
    lines = [HEAD]
    for section, kind in _sections().items():
        lines += [f"[{section}]", *_comment(describe.about(kind)), ""]
        for field in describe.fields(kind):
            lines += [*_comment(field.text), _assignment(field), ""]
    return "\n".join([*lines, "\n\n".join(map(_list, LISTS))]) + "\n"


def _list(name: str) -> str:
    """Return a table of a list."""
    lines = [f"# [[{name}]]", *_comment(describe.about(LISTS[name]))]
    for field in describe.fields(LISTS[name]):
        lines += [*_comment(field.text), _assignment(field)]
    return "\n".join(lines)


def _sections() -> dict[str, Any]:
    return {field.name: field.type for field in msgspec.structs.fields(Config) if field.name not in LISTS}


def _table(kind: type[msgspec.Struct]) -> str:
    rows = [(markdown.code(field.name), field.type, _default(field), field.text) for field in describe.fields(kind)]
    return markdown.table(("key", "type", "default", "meaning"), rows)


def _default(field: describe.Described) -> str:
    return "" if field.default in (None, msgspec.NODEFAULT) else markdown.code(_toml(field.default))


def _assignment(field: describe.Described) -> str:
    if field.default in (None, msgspec.NODEFAULT):
        return f"# {field.name} ="
    return f"# {field.name} = {_toml(field.default)}"


def _toml(value: object) -> str:
    """Return a scalar, list or empty table, which JSON writes as TOML does."""
    return msgspec.json.encode(value).decode()


def _comment(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent="# ", subsequent_indent="# ")
