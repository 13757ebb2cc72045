"""The same calls as in `hermes`, for models that call without closing their reasoning.

The opening of a call ends the reasoning. What follows the call is text, and the late closing means nothing there.
"""

from tokenmill.formats.notations import NAME_ARGUMENTS, TOOL_RESPONSE, json_history
from tokenmill.formats.shapes import THINK, json_pairs
from tokenmill.parser.spec import Format

QWEN3_JSON = Format(
    name="qwen3_json",
    summary="One JSON object with name and arguments in each `<tool_call>` pair, also inside the reasoning.",
    sample=(
        "<think>I need the forecast.\n"
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>'
    ),
    models=("Qwen3", "QwQ", "Trinity"),
    aliases=("trinity",),
    history=json_history(f"<tool_call>\n{NAME_ARGUMENTS}\n</tool_call>", TOOL_RESPONSE),
    regions=(THINK,),
    sections=(json_pairs("tool_call"),),
    calls_in_reasoning="honour",
)
