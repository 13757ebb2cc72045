"""Shapes that several formats share."""

import msgspec

from tokenmill.limits import NAME_CHARS
from tokenmill.parser.bodies import Body, JsonCall
from tokenmill.parser.markers import Marker, ahead, marker
from tokenmill.parser.modes.section import closes_calls
from tokenmill.parser.spec import Call, Region, Section

THINK = Region(marker("<think>"), marker("</think>"))
"""The reasoning layer of most models."""

CHANNEL_HEADER = (
    r"(?:<\|start\|>[^<\n]*|\s?(?:t(?:o(?:=(?:[^\s<]+\s?)?)?)?)?)"
    r"(?:<\|(?:channel|constrain)\|>[^<\n]*)*"
)
"""A header of channels as in `harmony`, or as much of one as has come."""


# What must follow a bracket in running text to make it a call: JSON that names a tool and begins its arguments.
#
# Prose is full of brackets. A call without markers counts only if a name comes first and its arguments right after it,
# as every model trained to call this way writes them. Anything else is released at the first character that does not
# fit.

_NAME = rf"[^\"']{{0,{NAME_CHARS - 1}}}"
"""A name without its last character. It may contain escapes, but none of a quote."""
_LAST = r"[^\"'\\]"
_QUOTE = "[\"']"


def _object(lead: str, arguments: str) -> tuple[str, ...]:
    """Return an object that begins with a name; `arguments` is the key that follows it."""
    pattern = f"{lead} <q>name<q> : <q><name><last><q> , <q>{arguments}<q> : {{ <first>"
    return ahead(pattern, q=_QUOTE, name=_NAME, last=_LAST, first="[\"'}]")


def _objects(lead: str) -> tuple[tuple[str, ...], ...]:
    typed = f"{lead} <q>type<q> : <q>function<q> ,".replace("<q>", '"')
    return tuple(_object(each, arguments) for each in (lead, typed) for arguments in ("arguments", "parameters"))


CALL_AHEAD = _objects("")
"""What follows a `{`."""

CALLS_AHEAD = _objects(" {")
"""What follows a `[`."""

FENCED_AHEAD = _objects(" [ {")
"""What follows the opening of a fence."""


def json_calls(open: Marker, close: Marker | None, body: Body | None = None) -> Section:  # noqa: A002 -- as the field
    """Return calls as JSON objects between two markers: one, several, or a list; with brackets too many, if closed."""
    return Section(
        open=open,
        close=close,
        calls=(Call(open=marker("{"), body=body or JsonCall(closed=close is not None and closes_calls(close))),),
        framing=(marker("["), marker(","), marker("]"), *([marker("}")] if close else [])),
    )


def json_pairs(name: str) -> Section:
    """Return calls as JSON objects between tags of this name, a pair around each, which prose may show as well."""
    return msgspec.structs.replace(json_calls(marker(f"<{name}>"), marker(f"</{name}>")), quoted=True)


def json_list(open: Marker, body: Body | None = None, *, listed: bool = False) -> Section:  # noqa: A002 -- as the field
    """Return a list of calls that only its own bracket closes; text may follow immediately.

    An object without the list's bracket is a call, too, unless all are `listed`.
    """
    return Section(
        open=open,
        close=marker("]"),
        calls=(Call(open=marker("{"), body=body or JsonCall()),),
        framing=(marker("["), marker(",")),
        listed=listed,
    )


def json_object(open: Marker) -> Section:  # noqa: A002 -- as the field
    """Return one call after a marker, which nothing closes: a list whose bracket the model forgot."""
    return Section(open=open, close=None, calls=(Call(open=marker("{"), body=JsonCall()),))


def bare_json_list() -> Section:
    """Return a list of calls in running text, without markers."""
    return json_list(marker("[", ahead=CALLS_AHEAD))


def bare_json_object(separator: str) -> Section:
    """Return calls as JSON objects in running text, without markers; `separator` may stand between them."""
    return Section(
        open=None,
        close=None,
        calls=(Call(open=marker("{", ahead=CALL_AHEAD), body=JsonCall()),),
        framing=(marker(separator),),
        bare="always",
    )
