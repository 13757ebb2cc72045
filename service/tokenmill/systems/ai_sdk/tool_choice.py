"""The whole answer is one call: written by a model whose caller forces it to call a tool, and asks for JSON.

It always ends in a call. An answer that is not one becomes a call to `unknown`, or without arguments, with a `problem`.
"""

from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.parser.spec import Format, WholeCall

TOOL_CHOICE = Format(
    name="tool_choice",
    summary="The whole answer is one JSON object with name and arguments.",
    sample='{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}',
    history=json_history(NAME_ARGUMENTS),
    answer=WholeCall(),
)
