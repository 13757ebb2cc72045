"""A list of calls that its own bracket closes. An object that stands there without one is text."""

from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.formats.shapes import THINK, json_list
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format

GRANITE = Format(
    name="granite",
    summary="A JSON list of calls after `<|tool_call|>` (3.0) or `<tool_call>` (3.1).",
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        '<|tool_call|> [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]'
    ),
    models=("Granite-3.*",),
    history=json_history(f"<|tool_call|>[{NAME_ARGUMENTS}]"),
    regions=(THINK,),
    sections=(json_list(marker("<|tool_call|>", "<tool_call>"), listed=True),),
)
