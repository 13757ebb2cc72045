"""Tagged function and parameters, all on one line, so that white space at the sides of a value is its own.

Where tools are declared, one that is not is no call.
"""

from tokenmill.formats.functions import functions
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Region

MIMO = Format(
    name="mimo",
    summary="`<function=NAME>` with verbatim `<parameter=KEY>` values inside a `<tool_call>` pair.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up."
        "<tool_call><function=get_weather><parameter=city>Paris</parameter>"
        "<parameter=days>3</parameter></function></tool_call>"
    ),
    models=("MiMo-V2*",),
    regions=(Region(marker("<think>"), marker("</think>")),),
    strays=(marker("</think>"),),
    sections=(functions("tool_call", trim="none"),),
    unknown_tool="text",
    calls_in_reasoning="honour",
)
