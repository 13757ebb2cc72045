"""Calls written as `<function=F>` with `<parameter=K>` values, which several formats have in tags of their own.

Not a format by itself. A call may stand without the tags around it if it names a declared tool: `#include <functional>`
is prose. Values have no escape: see `bodies.closings`.
"""

from tokenmill.parser.bodies import Params
from tokenmill.parser.bodies.params import Trim
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Header, Section

NAME = r"""\s*["']?(?P<name>[^"'\s]+)["']?\s*"""
KEY = r"""\s*["']?(?P<key>.*?)["']?\s*"""
"""The key. It may be quoted, like the attribute that it resembles."""


def functions(tag: str, *, trim: Trim = "line", quoted: bool = False) -> Section:
    """Return the section of calls in pairs of `tag`, one or several in each."""
    opening = marker("<function=", spaces=True)
    call = Call(
        open=opening,
        header=Header(until=marker(">"), before=marker("\n", "<"), pattern=NAME),
        body=Params(
            open=marker("<parameter=", spaces=True),
            close=marker("</parameter>", spaces=True),
            end=marker("</function>", spaces=True),
            key=KEY,
            trim=trim,
            calls=opening,
            forgets="declared" if trim == "line" else "unknown",
        ),
    )
    opened, closed = marker(f"<{tag}>"), marker(f"</{tag}>")
    return Section(open=opened, close=closed, calls=(call,), bare="declared", quoted=quoted)
