"""Shapes shared by the formats that write calls in Python."""

from string import ascii_letters

from tokenmill.parser.bodies import PyCalls
from tokenmill.parser.markers import LEADING_SPACE, Marker, marker
from tokenmill.parser.spec import Call, Section
from tokenmill.parser.values.python import Separator

_NAME_BEGINS = marker(*ascii_letters, "_")
_CALL = (LEADING_SPACE, "[A-Za-z_]", r"[\w.\-]{0,128}", r"\(", LEADING_SPACE)
_KEYWORD = (r"[^\W\d]", r"\w{0,128}", LEADING_SPACE, "=")
CALL_AHEAD = ((*_CALL, r"\)"), (*_CALL, *_KEYWORD))
"""A name and a bracket, then the end of the call or a keyword: these make a bracket in running text a call's."""

BETWEEN = marker(",", ";")
"""Separators of two calls; a semicolon or a new line instead of a comma is clear enough."""
_LIST = (marker("["), BETWEEN, marker("]"))


def python_call(separator: Separator = ",") -> Call:
    """Return one call, which begins with its name."""
    return Call(open=_NAME_BEGINS, body=PyCalls(separator))


def marked_calls(open: Marker, close: Marker, *others: Call) -> Section:  # noqa: A002 -- as the field
    """Return a list of calls between two markers."""
    return Section(open=open, close=close, calls=(python_call(), *others), framing=_LIST)


def bare_calls() -> Section:
    """Return a list of calls in running text: only its bracket and the first call mark it as one."""
    return Section(open=marker("[", ahead=CALL_AHEAD), close=marker("]"), calls=(python_call(),), framing=(BETWEEN,))
