"""Arguments as pairs of tags for key and value, which several formats have after a name.

Not a format by itself.
"""

from tokenmill.parser.bodies import Params
from tokenmill.parser.bodies.params import Untyped
from tokenmill.parser.bodies.trim import Trim
from tokenmill.parser.markers import marker

NAME = r"\s*(?P<name>[^\s\\<]+)\s*"


def pairs(*ends: str, trim: Trim = "none", untyped: Untyped = "text", paired: bool = False) -> Params:
    """`<arg_key>K</arg_key><arg_value>V</arg_value>`, new lines between the tags or none, up to one of `ends`."""
    return Params(
        open=marker("<arg_key>"),
        tag_end=marker("</arg_key><arg_value>", "</arg_key>\\n<arg_value>", spaces=True),
        close=marker("</arg_value>"),
        end=marker(*ends),
        closed=True,
        paired=paired,
        trim=trim,
        untyped=untyped,
    )
