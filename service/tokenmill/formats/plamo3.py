"""Calls in a section, every part of a call between markers of its own.

The opening marker of a call may be missing before the one that opens its name. A section inside the reasoning ends it.
"""

from tokenmill.formats.notations import json_history
from tokenmill.parser.bodies import JsonArguments
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Region, Section

PLAMO3 = Format(
    name="plamo3",
    summary="Name and arguments between markers of their own, in a section of requests.",
    sample=(
        "<|plamo:begin_think:plamo|>I need the forecast.<|plamo:end_think:plamo|>I'll look it up."
        "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|>"
        "<|plamo:begin_tool_name:plamo|>get_weather<|plamo:end_tool_name:plamo|>"
        "<|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>"
        '{"city": "Paris", "days": 3}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>'
        "<|plamo:end_tool_requests:plamo|><|plamo:tag|>"
    ),
    models=("PLaMo-3", "PLaMo-3.*"),
    history=json_history(
        "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>$name"
        "<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>$arguments"
        "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>"
    ),
    regions=(Region(marker("<|plamo:begin_think:plamo|>"), marker("<|plamo:end_think:plamo|>"), again="reasoning"),),
    noise=(marker("<|plamo:tag|>"),),
    sections=(
        Section(
            open=marker("<|plamo:begin_tool_requests:plamo|>"),
            close=marker("<|plamo:end_tool_requests:plamo|>"),
            calls=(
                Call(
                    open=marker("<|plamo:begin_tool_request:plamo|>", "<|plamo:begin_tool_name:plamo|>"),
                    header=Header(
                        until=marker("<|plamo:msg|>"),
                        pattern=(
                            r"\s*(?:<\|plamo:begin_tool_name:plamo\|>)?\s*(?P<name>[^\s<]+)\s*<\|plamo:end_tool_name:"
                            r"plamo\|>\s*<\|plamo:begin_tool_arguments:plamo\|>\s*(?:<\|plamo:constrain\|>\s*json\s*)?"
                        ),
                    ),
                    body=JsonArguments(),
                ),
            ),
            framing=(marker("<|plamo:end_tool_arguments:plamo|>"), marker("<|plamo:end_tool_request:plamo|>")),
        ),
    ),
    calls_in_reasoning="honour",
)
