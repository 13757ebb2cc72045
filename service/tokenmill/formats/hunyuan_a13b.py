"""A list of calls in a pair of tags; reasoning and answer stand in pairs of their own, whose new lines are layout.

A call inside the reasoning is a draft. The model may write its own name before its answer.
"""

from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.formats.shapes import json_calls
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Region

_SELF = "助手\uff1a"

_CLOSE = marker("</think>", "\n</think>", "</think>\n", "\n</think>\n")

HUNYUAN_A13B = Format(
    name="hunyuan_a13b",
    summary="A JSON list of calls in `<tool_calls>`; the answer may stand in `<answer>`.",
    sample=(
        "<think>\nI need the forecast.\n</think>\n<answer>\nI'll look it up.\n"
        '<tool_calls>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]</tool_calls>\n</answer>'
    ),
    models=("Hunyuan-A13B",),
    history=json_history(f"<tool_calls>[{NAME_ARGUMENTS}]</tool_calls>", "<tool_response>$result</tool_response>"),
    regions=(Region(marker("<think>", "<think>\n"), _CLOSE),),
    strays=(
        _CLOSE,
        marker("<answer>", "<answer>\n", f"<answer>{_SELF}", f"<answer>\n{_SELF}"),
        marker("</answer>", "\n</answer>"),
    ),
    sections=(json_calls(marker("<tool_calls>", f"{_SELF}<tool_calls>"), marker("</tool_calls>")),),
)
