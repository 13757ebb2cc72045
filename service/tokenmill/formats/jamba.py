"""A list of calls in a pair of tags; MiniMax-M1 writes its calls there one per line, without the list's brackets."""

from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.formats.shapes import THINK, json_calls
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format

JAMBA = Format(
    name="jamba",
    summary="A JSON list of calls in `<tool_calls>`.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up."
        '<tool_calls>[\n    {"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n]</tool_calls>'
    ),
    models=("Jamba*1.5", "Jamba*1.6", "Jamba*1.7", "MiniMax-M1"),
    history=json_history(f"<tool_calls>[\n    {NAME_ARGUMENTS}\n]</tool_calls>"),
    regions=(THINK,),
    sections=(json_calls(marker("<tool_calls>"), marker("</tool_calls>")),),
)
