"""How a conversation's history shows a model its own calls and their results, in each format.

1. A call is written as the format's models write it: reading it gives the same name and arguments.
2. Templates are data. `$name`, `$id`, `$arguments`, `$result` (text unchanged, other values as JSON) and `$json`
   (always as JSON) stand for what their names suggest; `$quoted` is the name as a JSON string.
3. Where a chat template puts a result into a turn of its own without any framing, the template is the result alone.
"""

import re
from collections.abc import Collection, Mapping
from string import Template
from typing import Any

from tokenmill.errors import BadOpen
from tokenmill.formats.notations import as_json, as_text
from tokenmill.parser.spec import Format, History


def format_call(format_: Format, name: str, arguments: Mapping[str, Any], id: str = "call_0") -> str:  # noqa: A002 -- the field's name
    """Return a call as a model of this format writes it. Raises `BadOpen` for a format without calls."""
    history = _history(format_)
    written = history.notation.write(arguments)
    return Template(history.call).substitute(name=name, quoted=as_json(name), id=id, arguments=written)


def begin_call(format_: Format, name: str = "") -> str:
    """Return the beginning of an answer that must be a call, of this tool or of any. Raises `BadOpen`.

    It is the template up to the arguments, or up to the tool's name.
    """
    history = _history(format_)
    before, placeholder = _up_to(history.call, {"arguments"} if name else {"name", "quoted", "id"})
    if not placeholder or (name and not _FIRST.search(before)):
        raise BadOpen(f"the format {format_.name!r} does not name the tool before its arguments")
    begun = Template(before).substitute(name=name, quoted=as_json(name), id="call_0") if name else before
    return f'{begun}"' if placeholder == "quoted" else begun


_FIRST = re.compile(r"\$(?:name|quoted)\b")
_PLACEHOLDER = re.compile(r"\$(\w+)")


def _up_to(template: str, names: Collection[str]) -> tuple[str, str]:
    """Return the template before the first of these placeholders, and the placeholder; empty if there is none."""
    found = next((match for match in _PLACEHOLDER.finditer(template) if match[1] in names), None)
    return (template[: found.start()], found[1]) if found else (template, "")


def format_result(format_: Format, name: str, result: Any, id: str = "call_0") -> str:  # noqa: A002 -- as above
    """Return the result of a call as a model of this format reads it. Raises `BadOpen` for a format without calls."""
    written = {"result": as_text(result), "json": as_json(result)}
    return Template(_history(format_).result).substitute(name=name, quoted=as_json(name), id=id, **written)


def _history(format_: Format) -> History:
    if format_.history is None:
        raise BadOpen(f"the format {format_.name!r} has no calls to write")
    return format_.history
