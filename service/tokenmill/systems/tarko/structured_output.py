"""The whole answer is one JSON object with the text and the call, from a server that constrains its model's output.

An answer that is not such an object is text.
"""

from tokenmill.formats.notations import json_history
from tokenmill.parser.bodies import JsonCall
from tokenmill.parser.spec import Answer, Format

STRUCTURED_OUTPUT = Format(
    name="structured_output",
    summary='One JSON object for the whole answer: `{"content": …, "toolCall": {"name": …, "args": …}}`.',
    sample=(
        '{"content": "I\'ll look it up.", "toolCall": {"name": "get_weather", "args": {"city": "Paris", "days": 3}}}'
    ),
    history=json_history('{"content": "", "toolCall": {"name": $quoted, "args": $arguments}}'),
    answer=Answer(text="content", call="toolCall", body=JsonCall(arguments=("args", "arguments", "parameters"))),
)
