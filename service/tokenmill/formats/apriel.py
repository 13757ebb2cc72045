"""Reasoning that the prompt has begun, a delimiter, then the answer with a list of calls."""

from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.formats.shapes import json_calls
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Region

_CLOSE = marker("[BEGIN FINAL RESPONSE]")

APRIEL = Format(
    name="apriel",
    summary="A JSON list of calls in `<tool_calls>`; reasoning up to `[BEGIN FINAL RESPONSE]`.",
    sample=(
        "I need the forecast.\n[BEGIN FINAL RESPONSE]\nI'll look it up.\n"
        '<tool_calls>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]</tool_calls>'
    ),
    models=("Apriel*Thinker",),
    history=json_history(f"<tool_calls>[{NAME_ARGUMENTS}]</tool_calls>"),
    regions=(Region(None, _CLOSE),),
    strays=(_CLOSE, marker("[END FINAL RESPONSE]")),
    sections=(json_calls(marker("<tool_calls>"), marker("</tool_calls>")),),
    start="reasoning",
)
