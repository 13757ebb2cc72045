"""A list of calls in a fence, after a word of prose."""

from tokenmill.formats.notations import json_history
from tokenmill.formats.shapes import json_calls
from tokenmill.parser.bodies import JsonCall
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format

COMMAND_R_ACTION = Format(
    name="command_r_action",
    summary="A JSON list of calls in a fence after `Action:`.",
    sample=(
        "I'll look it up.\n"
        'Action:\n```json\n[\n    {"tool_name": "get_weather", "parameters": {"city": "Paris", "days": 3}}\n]\n```'
    ),
    models=("Command-R",),
    history=json_history(
        'Action:\n```json\n[\n    {"tool_name": $quoted, "parameters": $arguments}\n]\n```',
        "<results>\n$result\n</results>",
    ),
    noise=(marker("<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),),
    sections=(
        json_calls(
            marker("Action:\n```json\n", "Action: ```json\n"),
            marker("```"),
            JsonCall(name=("tool_name", "name"), arguments=("parameters", "arguments")),
        ),
    ),
)
