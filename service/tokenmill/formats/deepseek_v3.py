"""Calls in a section, each with a header before a JSON code fence.

Distilled models misspell the section's markers. The fence may lack its language, or be missing. What closes the fence
and the call is framing: the new line before the fence may be missing, and both may be at the end of the stream.
"""

from tokenmill.formats.notations import json_history
from tokenmill.formats.shapes import THINK
from tokenmill.parser.bodies import JsonArguments
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Section

SECTION_OPEN = marker(
    "<｜tool▁calls▁begin｜>",
    "<｜tool_calls_begin｜>",
    "<｜tool calls begin｜>",
    "<｜tool\\_calls\\_begin｜>",
    "<｜tool▁calls｜>",
)
SECTION_CLOSE = marker(
    "<｜tool▁calls▁end｜>", "<｜tool_calls_end｜>", "<｜tool calls end｜>", "<｜tool\\_calls\\_end｜>"
)

DEEPSEEK_V3 = Format(
    name="deepseek_v3",
    summary="`function`, a separator and the name, then the arguments in a JSON code fence.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n"
        '```json\n{"city": "Paris", "days": 3}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
    models=("DeepSeek-V3", "DeepSeek-R1", "Cogito*671B"),
    aliases=("deepseekv3", "deepseek-v3"),
    history=json_history(
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>$name\n```json\n$arguments\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>$result<｜tool▁output▁end｜><｜tool▁outputs▁end｜>",
    ),
    regions=(THINK,),
    noise=(marker("<｜end▁of▁sentence｜>"),),
    sections=(
        Section(
            open=SECTION_OPEN,
            close=SECTION_CLOSE,
            calls=(
                Call(
                    open=marker("<｜tool▁call▁begin｜>"),
                    header=Header(
                        until=marker("```json"),
                        before=marker("{"),
                        pattern=r"\s*(?:function)?<｜tool▁sep｜>\s*(?P<name>[^\s`]+)\s*(?:```\s*)?",
                    ),
                    body=JsonArguments(),
                ),
            ),
            framing=(marker("```"), marker("<｜tool▁call▁end｜>")),
            bare="declared",
        ),
    ),
)
