"""The whole output is a call or a list of calls: any model writes this on a server that constrains its output."""

from tokenmill.formats.notations import NAME_PARAMETERS, json_history
from tokenmill.formats.shapes import bare_json_list, bare_json_object
from tokenmill.parser.spec import Format

JSON_ARRAY = Format(
    name="json_array",
    summary="A JSON list of calls without markers.",
    sample='[{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}]',
    history=json_history(f"[{NAME_PARAMETERS}]"),
    sections=(bare_json_list(), bare_json_object(",")),
)
