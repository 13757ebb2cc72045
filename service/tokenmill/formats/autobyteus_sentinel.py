"""Segments between two markers, with a header in JSON in the first."""

from tokenmill.parser.bodies.sentinel import BLOCK, Sentinel
from tokenmill.parser.bodies.tagged import ANY_TOOL
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Section

_CLOSE = marker("[[SEG_END]]")

AUTOBYTEUS_SENTINEL = Format(
    name="autobyteus_sentinel",
    summary='`[[SEG_START {"type": KIND, …}]]` and content up to `[[SEG_END]]`; KIND is a tool\'s, or `text`.',
    sample=(
        'I\'ll look it up.\n[[SEG_START {"type": "tool", "tool_name": "get_weather"}]]'
        '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}[[SEG_END]]'
    ),
    sections=(
        Section(
            open=None,
            close=None,
            calls=(
                Call(
                    open=marker("[[SEG_START", ahead=[[r"[\s{]"]]),
                    body=Sentinel(
                        until="]]",
                        close=_CLOSE,
                        kinds={
                            "text": BLOCK,
                            "tool": ANY_TOOL,
                            "tool_call": ANY_TOOL,
                            "write_file": "write_file",
                            "run_bash": "run_bash",
                        },
                        arguments={"write_file": "content", "run_bash": "command"},
                        paths=frozenset({"write_file"}),
                    ),
                ),
            ),
            bare="alone",
            layer="always",
            block=_CLOSE,
        ),
    ),
    unknown_tool="text",
)
