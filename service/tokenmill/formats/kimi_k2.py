"""Calls in a section, each with its id as the header: `functions.NAME:NUMBER`, which must be echoed unchanged.

The number counts over the whole conversation; it may stand alone where only one tool can be meant. A section inside the
reasoning ends it, and a call may stand without one.
"""

from tokenmill.formats.notations import json_history
from tokenmill.formats.shapes import THINK
from tokenmill.parser.bodies import JsonArguments
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Section

_CLOSE = marker("<|tool_call_end|>")

KIMI_K2 = Format(
    name="kimi_k2",
    summary="An id `functions.NAME:NUMBER` and the object of arguments between markers of a call.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up."
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
        '{"city": "Paris", "days": 3}<|tool_call_end|><|tool_calls_section_end|>'
    ),
    models=("Kimi-K2*",),
    aliases=("kimi_k25",),
    history=json_history(
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.$name:0<|tool_call_argument_begin|>$arguments"
        "<|tool_call_end|><|tool_calls_section_end|>",
        "## Return of functions.$name:0\n$result",
    ),
    regions=(THINK,),
    sections=(
        Section(
            open=marker("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
            close=marker("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
            calls=(
                Call(
                    open=marker("<|tool_call_begin|>"),
                    header=Header(
                        until=marker("<|tool_call_argument_begin|>"),
                        pattern=r"\s*(?P<id>(?:(?:functions\.)?(?P<name>[^\s:]+):)?\d+)\s*",
                    ),
                    body=JsonArguments(optional=True, close=_CLOSE),
                ),
            ),
            framing=(_CLOSE,),
            bare="always",
            in_reasoning="calls",
        ),
    ),
    calls_in_reasoning="honour",
)
