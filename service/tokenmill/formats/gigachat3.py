"""One JSON object to the end of the message, after the role that announces it. Without arguments it is not a call."""

from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.formats.shapes import json_calls
from tokenmill.parser.bodies import JsonCall
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format

_ROLE = "function call<|role_sep|>"

GIGACHAT3 = Format(
    name="gigachat3",
    summary="One JSON object after `function call<|role_sep|>` (3.0) or `<|function_call|>` (3.1).",
    sample=(
        "I'll look it up.<|message_sep|>\n\n"
        'function call<|role_sep|>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}'
    ),
    models=("GigaChat3", "GigaChat3.1"),
    history=json_history(f"function call<|role_sep|>\n{NAME_ARGUMENTS}</s>"),
    noise=(marker("</s>", "<|message_sep|>", "<|message_sep|>\n\n"),),
    sections=(
        json_calls(
            marker(_ROLE, f"<|message_sep|>\n\n{_ROLE}", "<|function_call|>"),
            marker("</s>", "<|message_sep|>"),
            JsonCall(required=True, closed=True),
        ),
    ),
)
