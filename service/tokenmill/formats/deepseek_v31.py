"""Calls in a section, each as a name, a separator and the arguments."""

from tokenmill.formats.deepseek_v3 import SECTION_CLOSE, SECTION_OPEN
from tokenmill.formats.notations import json_history
from tokenmill.formats.shapes import THINK
from tokenmill.parser.bodies import JsonArguments
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Section

_CLOSE = marker("<｜tool▁call▁end｜>")

DEEPSEEK_V31 = Format(
    name="deepseek_v31",
    summary="A name, a separator and the object of arguments between markers of a call.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
        '{"city": "Paris", "days": 3}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
    models=("DeepSeek-V3.1", "DeepSeek-V3.2-Exp"),
    aliases=("deepseekv31",),
    history=json_history(
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>$name<｜tool▁sep｜>$arguments<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        "<｜tool▁output▁begin｜>$result<｜tool▁output▁end｜>",
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
                    header=Header(until=marker("<｜tool▁sep｜>")),
                    body=JsonArguments(optional=True, close=_CLOSE),
                ),
            ),
            framing=(_CLOSE,),
            bare="declared",
        ),
    ),
)
