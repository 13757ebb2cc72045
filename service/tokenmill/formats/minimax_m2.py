"""`<invoke>` elements in one section; values are verbatim.

The prompt opens the reasoning, so an answer begins inside it. A call in the reasoning ends it. Where tools are
declared, an undeclared one is not called, and the other calls of its section stay.
"""

from tokenmill.formats.notations import tags_history
from tokenmill.formats.shapes import THINK
from tokenmill.formats.tagged import invoke
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Section

MINIMAX_M2 = Format(
    name="minimax_m2",
    summary='`<invoke name="NAME">` with `<parameter name="KEY">` values in a `<minimax:tool_call>` section.',
    sample=(
        "I need the forecast.</think>I'll look it up.\n"
        '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Paris</parameter>\n'
        '<parameter name="days">3</parameter>\n</invoke>\n</minimax:tool_call>'
    ),
    models=("MiniMax-M2*",),
    aliases=("minimax-m2", "minimax"),
    history=tags_history(
        '<minimax:tool_call>\n<invoke name="$name">\n$arguments</invoke>\n</minimax:tool_call>',
        '<parameter name="$key">$value</parameter>\n',
        "<response>$result</response>",
    ),
    regions=(THINK,),
    sections=(
        Section(
            open=marker("<minimax:tool_call>"),
            close=marker("</minimax:tool_call>"),
            calls=(invoke(),),
            bare="declared",
        ),
    ),
    start="reasoning",
    unknown_tool="text",
    calls_in_reasoning="honour",
)
