"""A list of Python calls without any marker except its bracket.

A bracket is a list of calls only if a call follows; if tools are declared, it must be one of them. All else is text.
"""

from tokenmill.formats.notations import python_history
from tokenmill.formats.python_shapes import bare_calls, marked_calls
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format

PYTHONIC = Format(
    name="pythonic",
    summary="`[f(a=1), g()]` in running text.",
    sample='I\'ll look it up.\n[get_weather(city="Paris", days=3)]',
    models=("ToolACE", "watt-tool"),
    history=python_history("[$name($arguments)]"),
    sections=(marked_calls(marker("<|python_start|>"), marker("<|python_end|>")), bare_calls()),
    unknown_tool="text",
)
