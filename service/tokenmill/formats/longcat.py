"""Like hermes, with tags of its own; newer models write a name and pairs of tags for keys and values there.

The first character decides which of them a call is. Values of the pairs get their types from the tool's schema;
otherwise they are read as JSON if they are valid JSON.
"""

from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.formats.pairs import NAME, pairs
from tokenmill.formats.shapes import json_calls
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Region, Section

_OPEN = "<longcat_tool_call>"
_CLOSE = "</longcat_tool_call>"

LONGCAT = Format(
    name="longcat",
    summary="One JSON object, or NAME and `<longcat_arg_key>` pairs, in each `<longcat_tool_call>` pair.",
    sample=(
        "<longcat_think>I need the forecast.</longcat_think>I'll look it up.\n"
        '<longcat_tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</longcat_tool_call>\n'
        "<longcat_tool_call>get_weather\n<longcat_arg_key>city</longcat_arg_key>\n"
        "<longcat_arg_value>Rome</longcat_arg_value>\n</longcat_tool_call>"
    ),
    models=("LongCat",),
    history=json_history(
        f"<longcat_tool_call>\n{NAME_ARGUMENTS}\n</longcat_tool_call>",
        "<longcat_tool_response>\n$result\n</longcat_tool_response>",
    ),
    regions=(Region(marker("<longcat_think>", "<think>"), marker("</longcat_think>", "</think>")),),
    sections=(
        Section(
            open=None,
            close=None,
            calls=(
                Call(
                    open=marker(_OPEN, f"{_OPEN}\n", ahead=[[r"\w"]]),
                    header=Header(until=marker("\n", "\\n"), before=marker("<longcat_arg_key>", _CLOSE), pattern=NAME),
                    body=pairs(_CLOSE, prefix="longcat_", untyped="json"),
                ),
            ),
            bare="always",
        ),
        json_calls(marker(_OPEN), marker(_CLOSE)),
    ),
)
