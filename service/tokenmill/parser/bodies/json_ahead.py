"""What must follow a bracket in running text for it to be a call: JSON that names a tool and begins its arguments.

Prose is full of brackets. A call without markers is one only if a name comes first and its arguments right behind it,
as every model trained to call this way writes them; anything else is released at its first character that does not fit.
"""

from tokenmill.limits import NAME_CHARS
from tokenmill.parser.markers import ahead

_NAME = rf"[^\"']{{0,{NAME_CHARS - 1}}}"
"""A name but for its last character. Escapes may be in it, but none of a quote."""
_LAST = r"[^\"'\\]"
_QUOTE = "[\"']"


def _object(lead: str, arguments: str) -> tuple[str, ...]:
    """An object that begins with a name; `arguments` is the key that follows it."""
    pattern = f"{lead} <q>name<q> : <q><name><last><q> , <q>{arguments}<q> : {{ <first>"
    return ahead(pattern, q=_QUOTE, name=_NAME, last=_LAST, first="[\"'}]")


def _objects(lead: str) -> tuple[tuple[str, ...], ...]:
    typed = f"{lead} <q>type<q> : <q>function<q> ,".replace("<q>", '"')
    return tuple(_object(each, arguments) for each in (lead, typed) for arguments in ("arguments", "parameters"))


CALL_AHEAD = _objects("")
"""Behind a `{`."""

CALLS_AHEAD = _objects(" {")
"""Behind a `[`."""

FENCED_AHEAD = _objects(" [ {")
"""Behind the opening of a fence."""
