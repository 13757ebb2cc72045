"""A list of calls in any of the wrappings that its models use, or without one.

In a fence and without any wrapping a list is a list of calls only if a name and arguments come first in it.
"""

from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.formats.shapes import FENCED_AHEAD, THINK, bare_json_list, json_calls, json_pairs
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format

XLAM = Format(
    name="xlam",
    summary="A JSON list of calls: bare, in a fence, after `[TOOL_CALLS]` or in `<tool_call>`.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        '[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]'
    ),
    models=("xLAM",),
    history=json_history(f"[{NAME_ARGUMENTS}]"),
    regions=(THINK,),
    sections=(
        json_pairs("tool_call"),
        json_calls(marker("[TOOL_CALLS]"), None),
        json_calls(marker("```json", "```", ahead=FENCED_AHEAD), marker("```")),
        bare_json_list(),
    ),
)
