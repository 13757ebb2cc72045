"""A list of calls in a pair of tags, after reasoning that the prompt has begun."""

from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.formats.shapes import THINK, json_calls
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format

NEMOTRON_TOOLCALL_ARRAY = Format(
    name="nemotron_toolcall_array",
    summary="A JSON list of calls in `<TOOLCALL>`.",
    sample=(
        "I need the forecast.\n</think>\n\nI'll look it up.\n"
        '<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]</TOOLCALL>'
    ),
    models=("Nemotron-Nano*v2", "Llama-3.1-Nemotron-Nano", "Llama-3.1-Nemotron-Ultra", "Llama-3.3-Nemotron-Super"),
    history=json_history(f"<TOOLCALL>[{NAME_ARGUMENTS}]</TOOLCALL>", "<TOOL_RESPONSE>[$json]</TOOL_RESPONSE>"),
    regions=(THINK,),
    sections=(json_calls(marker("<TOOLCALL>"), marker("</TOOLCALL>")),),
    start="reasoning",
)
