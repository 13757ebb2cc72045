"""Arguments as pairs of tags for key and value, which several formats have after a name.

Not a format by itself.
"""

from tokenmill.parser.bodies import Params
from tokenmill.parser.bodies.params import Trim, Untyped
from tokenmill.parser.markers import marker

NAME = r"\s*(?P<name>[^\s\\<]+)\s*"


def pairs(*ends: str, prefix: str = "", trim: Trim = "none", untyped: Untyped = "text", paired: bool = False) -> Params:
    """Return `<arg_key>K</arg_key><arg_value>V</arg_value>`, new lines between the tags or none, up to one of `ends`.

    The names of the tags may have a prefix.
    """
    key_end, value = f"</{prefix}arg_key>", f"<{prefix}arg_value>"
    return Params(
        open=marker(f"<{prefix}arg_key>"),
        tag_end=marker(f"{key_end}{value}", f"{key_end}\\n{value}", spaces=True),
        close=marker(f"</{prefix}arg_value>", f"</{prefix}arg_value>\\n"),
        end=marker(*ends),
        forgets="never",
        calls=marker(f"<{prefix}tool_call>"),
        paired=paired,
        trim=trim,
        untyped=untyped,
    )
