"""One JSON object after each opening; the object's end is the call's."""

from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.formats.shapes import json_calls
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format

GRANITE20B_FC = Format(
    name="granite20b_fc",
    summary="One JSON object after each `<function_call>`, which nothing closes.",
    sample='I\'ll look it up.\n<function_call> {"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}',
    models=("Granite-20B-FunctionCalling",),
    aliases=("granite-20b-fc",),
    history=json_history(f"<function_call> {NAME_ARGUMENTS}"),
    sections=(json_calls(marker("<function_call>"), None),),
)
