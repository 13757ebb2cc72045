"""A list of calls written in Python, after a token that servers mostly drop.

Without the token, the list is a list of calls only if a name and its arguments come first in it.
"""

from tokenmill.formats.notations import Literal
from tokenmill.formats.shapes import bare_json_list, json_list
from tokenmill.parser.bodies import JsonCall
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, History

SARASHINA = Format(
    name="sarashina",
    summary="`<|tool_calls|>` and a list of dictionaries in Python, each with name and arguments.",
    sample=(
        "I'll look it up."
        "<|tool_calls|>[{'id': 'call_0', 'name': 'get_weather', 'arguments': {'city': 'Paris', 'days': 3}}]"
    ),
    models=("Sarashina*",),
    history=History("<|tool_calls|>[{'id': '$id', 'name': '$name', 'arguments': $arguments}]", "$result", Literal()),
    sections=(json_list(marker("<|tool_calls|>"), JsonCall(id=("id",))), bare_json_list()),
)
