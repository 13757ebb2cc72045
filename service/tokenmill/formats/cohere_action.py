"""A list of calls with the model's own ids; reasoning and answer stand in pairs of tokens, with sources cited in them.

A citation's tags are framing; the text between them is text.
"""

from tokenmill.formats.notations import json_history
from tokenmill.formats.shapes import json_calls
from tokenmill.parser.bodies import JsonCall
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Region

COHERE_ACTION = Format(
    name="cohere_action",
    summary="A JSON list of calls between `<|START_ACTION|>` and `<|END_ACTION|>`.",
    sample=(
        "<|START_THINKING|>I need the forecast.<|END_THINKING|>"
        "<|START_RESPONSE|>I'll <co>look it up</co: 0:[1]>.<|END_RESPONSE|><|START_ACTION|>[\n"
        '    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris", "days": 3}}\n'
        "]<|END_ACTION|>"
    ),
    models=("Command-R7B", "Command-A", "Cohere2MoE"),
    aliases=("cohere_command3", "cohere_command4"),
    history=json_history(
        '<|START_ACTION|>[\n    {"tool_call_id": "$id", "tool_name": $quoted, "parameters": $arguments}\n]'
        "<|END_ACTION|>",
        '<|START_TOOL_RESULT|>[\n    {"tool_call_id": "$id", "results": {"0": $json}}\n]<|END_TOOL_RESULT|>',
    ),
    regions=(Region(marker("<|START_THINKING|>"), marker("<|END_THINKING|>"), again="reasoning"),),
    noise=(
        marker("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
        marker("<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
        marker("<co>", "</co>", inner=r"[\s\d:,\[\]]"),
    ),
    sections=(
        json_calls(
            marker("<|START_ACTION|>"),
            marker("<|END_ACTION|>"),
            JsonCall(
                name=("tool_name", "name"), arguments=("parameters", "arguments"), id=("tool_call_id",), closed=True
            ),
        ),
    ),
)
