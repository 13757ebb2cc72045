"""The whole answer is one call: what a model writes whose caller forces it to call a tool, and asks for JSON.

It always ends in a call: where the answer is none, in one to `unknown`, or without arguments, that has a `problem`.
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
