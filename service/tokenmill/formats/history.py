"""What a conversation's history shows a model of its own calls and of their results, in each format.

1. A call is written as the format's models write it: reading it gives the same name and arguments.
2. Templates are data. `$name`, `$id`, `$arguments`, `$result` (text as it stands, other values as JSON) and `$json` (as
   JSON in any case) stand for what their names say; `$quoted` is the name as JSON has it.
3. Where a chat template puts a result into a turn of its own and nothing around it, the result is all there is.
"""

from collections.abc import Mapping
from string import Template
from typing import Any

from tokenmill.errors import BadOpen
from tokenmill.formats.history_table import HISTORY
from tokenmill.formats.notations import as_json, as_text
from tokenmill.parser.spec import Format, History


def format_call(format_: Format, name: str, arguments: Mapping[str, Any], id: str = "call_0") -> str:  # noqa: A002 -- the field's name
    """A call as a model of this format writes it. Raises `BadOpen` for a format without calls."""
    history = _history(format_)
    written = history.notation.write(arguments)
    return Template(history.call).substitute(name=name, quoted=as_json(name), id=id, arguments=written)


def format_result(format_: Format, name: str, result: Any, id: str = "call_0") -> str:  # noqa: A002 -- as above
    """The result of a call as a model of this format reads it. Raises `BadOpen` for a format without calls."""
    written = {"result": as_text(result), "json": as_json(result)}
    return Template(_history(format_).result).substitute(name=name, quoted=as_json(name), id=id, **written)


def _history(format_: Format) -> History:
    history = format_.history or HISTORY.get(format_.name)
    if history is None:
        raise BadOpen(f"the format {format_.name!r} has no calls to write")
    return history
