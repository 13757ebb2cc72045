"""Calls in a section, each with its id, its name and its arguments after tokens of their own.

1. Reasoning, answer and calls are turns of their own: the beginning and end of a turn are swallowed. The prompt ends
   with `<|begin|>assistant`.
2. A finished answer ends with `<|flush|>`, one that waits for results with `<|calls|>`.
"""

from tokenmill.formats.notations import json_history
from tokenmill.parser.bodies import JsonArguments
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Region, Section

_CLOSE = marker("<|tool_call:end|>")

SOLAR_OPEN = Format(
    name="solar_open",
    summary="`<|tool_call:begin|>ID<|tool_call:name|>NAME<|tool_call:args|>` and the object of arguments.",
    sample=(
        "<|think|>I need the forecast.<|end|><|begin|>assistant<|content|>I'll look it up.<|end|>"
        "<|begin|>assistant<|tool_calls|><|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>get_weather"
        '<|tool_call:args|>{"city": "Paris", "days": 3}<|tool_call:end|><|calls|>'
    ),
    models=("Solar-Open",),
    aliases=("solar-open",),
    history=json_history(
        "<|tool_calls|><|tool_call:begin|>$id<|tool_call:name|>$name<|tool_call:args|>$arguments<|tool_call:end|><|calls|>"
    ),
    regions=(Region(marker("<|think|>"), marker("<|end|>"), again="reasoning"),),
    noise=(marker("<|begin|>assistant", "<|content|>"), marker("<|flush|>", "<|calls|>")),
    sections=(
        Section(
            open=marker("<|tool_calls|>"),
            close=marker("<|calls|>"),
            calls=(
                Call(
                    open=marker("<|tool_call:begin|>"),
                    header=Header(
                        until=marker("<|tool_call:args|>"),
                        pattern=r"\s*(?P<id>[^\s<]*)\s*<\|tool_call:name\|>\s*(?P<name>[^\s<]+)\s*",
                    ),
                    body=JsonArguments(optional=True, close=_CLOSE),
                ),
            ),
            framing=(_CLOSE,),
            bare="always",
        ),
    ),
)
