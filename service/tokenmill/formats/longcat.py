"""As hermes, with tags of its own."""

from tokenmill.formats.shapes import json_calls
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Region

LONGCAT = Format(
    name="longcat",
    summary="One JSON object with name and arguments in each `<longcat_tool_call>` pair.",
    sample=(
        "<longcat_think>I need the forecast.</longcat_think>I'll look it up.\n"
        '<longcat_tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</longcat_tool_call>'
    ),
    models=("LongCat",),
    regions=(Region(marker("<longcat_think>", "<think>"), marker("</longcat_think>", "</think>")),),
    strays=(marker("</longcat_think>", "</think>"),),
    sections=(json_calls(marker("<longcat_tool_call>"), marker("</longcat_tool_call>")),),
)
