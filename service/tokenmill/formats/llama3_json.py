"""Bare JSON objects, after a token or without any marker.

Without the token an object is a call if a tool's name and the arguments come first in it; all else is text.
"""

from tokenmill.formats.notations import NAME_PARAMETERS, json_history
from tokenmill.formats.shapes import bare_json_object
from tokenmill.parser.bodies import JsonCall
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Section

LLAMA3_JSON = Format(
    name="llama3_json",
    summary="JSON objects with name and parameters, with or without `<|python_tag|>` before them, `;` between.",
    sample='I\'ll look it up.\n<|python_tag|>{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}',
    models=("Llama-3.1", "Llama-3.2", "Llama-3.3"),
    aliases=("llama3", "llama4_json"),
    history=json_history(f"<|python_tag|>{NAME_PARAMETERS}", "$json"),
    sections=(
        Section(marker("<|python_tag|>"), None, (Call(marker("{"), JsonCall()),), framing=(marker(";"),)),
        bare_json_object(";"),
    ),
)
