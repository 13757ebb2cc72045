"""Calls written as `<invoke name="F">` with `<parameter name="K">` values, which many formats have with their own
prefixes.

Not a format by itself. The name may be quoted in either way or not at all; `<invoke name="F"/>` is a call without
arguments. A parameter may mark whether it is text: `string="true"`.
"""

from tokenmill.parser.bodies import Params
from tokenmill.parser.bodies.closings import Forgets
from tokenmill.parser.bodies.params import Trim, Untyped
from tokenmill.parser.markers import Marker, marker
from tokenmill.parser.spec import Call, Header

NAME = r"""\s*["']?(?P<name>[^"'\s]+?)["']?\s*(?P<whole>/?)"""
KEY = r"""\s*["']?(?P<key>[^"']*?)["']?(?:\s+string\s*=\s*["']?(?P<type>\w+)["']?)?\s*"""


def invoke(
    prefix: str = "",
    *,
    trim: Trim = "none",
    untyped: Untyped = "text",
    forgets: Forgets = "unknown",
    framing: Marker | None = None,
) -> Call:
    """Return one call with tags that begin with `prefix`: `<PREFIXinvoke name=…>`."""
    opening = marker(f"<{prefix}invoke name=", spaces=True)
    return Call(
        open=opening,
        header=Header(until=marker(">"), before=marker("<"), pattern=NAME),
        body=Params(
            open=marker(f"<{prefix}parameter name=", spaces=True),
            close=marker(f"</{prefix}parameter>", spaces=True),
            end=marker(f"</{prefix}invoke>", spaces=True),
            key=KEY,
            trim=trim,
            untyped=untyped,
            wire_types={"true": "string", "false": "json"},
            forgets=forgets,
            calls=opening,
            framing=framing,
        ),
    )
