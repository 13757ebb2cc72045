"""Like hermes, after reasoning that the prompt has begun; the answer may stand in a pair of tags of its own.

New lines at those tags are layout and are dropped with them.
"""

from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.formats.shapes import json_pairs
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Region

_CLOSE = marker("</think>", "\n</think>", "</think>\n", "\n</think>\n", "</think>\n\n", "\n</think>\n\n")

ERNIE45 = Format(
    name="ernie45",
    summary="JSON objects in `<tool_call>` pairs after reasoning; the answer may stand in `<response>`.",
    sample=(
        "I need the forecast.\n</think>\n\n<response>\nI'll look it up.\n</response>\n"
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>'
    ),
    models=("ERNIE-4.5*Thinking",),
    history=json_history(f"<tool_call>\n{NAME_ARGUMENTS}\n</tool_call>\n", "<tool_output>\n$result\n</tool_output>"),
    regions=(Region(marker("<think>", "<think>\n"), _CLOSE),),
    noise=(
        marker("<response>", "<response>\n"),
        marker("</response>", "\n</response>", "</response>\n", "\n</response>\n"),
    ),
    sections=(json_pairs("tool_call"),),
    start="reasoning",
)
