"""Tagged function and parameters, all on one line, so that white space at the sides of a value is its own.

Where tools are declared, an undeclared one is not called.
"""

from tokenmill.formats.functions import functions
from tokenmill.formats.notations import TOOL_RESPONSE, tags_history
from tokenmill.formats.shapes import THINK
from tokenmill.parser.spec import Format

MIMO = Format(
    name="mimo",
    summary="`<function=NAME>` with verbatim `<parameter=KEY>` values inside a `<tool_call>` pair.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up."
        "<tool_call><function=get_weather><parameter=city>Paris</parameter>"
        "<parameter=days>3</parameter></function></tool_call>"
    ),
    models=("MiMo-V2*",),
    history=tags_history(
        "<tool_call><function=$name>$arguments</function></tool_call>",
        "<parameter=$key>$value</parameter>",
        TOOL_RESPONSE,
    ),
    regions=(THINK,),
    sections=(functions("tool_call", trim="none"),),
    unknown_tool="text",
    calls_in_reasoning="honour",
)
