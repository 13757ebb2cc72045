"""`<｜DSML｜invoke>` elements whose parameters mark whether they are text; DeepSeek V3.2, V4 and V4.1.

The versions differ in the section's name and in a space after the prefix; damaged names of V4's section are recognized,
too. In an answer a call may stand without the section; in the reasoning such calls are drafts. An invoke may also
contain one JSON object instead of parameters.
"""

from tokenmill.formats.notations import tags_history
from tokenmill.formats.shapes import THINK
from tokenmill.formats.tagged import invoke
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Section

_NAMES = ("function_calls", "tool_calls", "toolcalls", "tool", "calls")

DEEPSEEK_DSML = Format(
    name="deepseek_dsml",
    summary='`<｜DSML｜invoke name="NAME">` with typed `<｜DSML｜parameter>` values in a DSML section.',
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n\n"
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_weather">\n'
        '<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>'
    ),
    models=("DeepSeek-V3.2", "DeepSeek-V4*"),
    aliases=("deepseek_v32", "deepseekv32", "deepseek_v4", "deepseekv4", "deepseek-v4", "deepseek_v41", "deepseekv41"),
    history=tags_history(
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="$name">\n$arguments</｜DSML｜invoke>\n'
        "</｜DSML｜function_calls>",
        '<｜DSML｜parameter name="$key" string="$is_text">$value</｜DSML｜parameter>\n',
        "<function_results>\n<result>$result</result>\n</function_results>",
    ),
    regions=(THINK,),
    noise=(marker("<｜end▁of▁sentence｜>"),),
    sections=(
        Section(
            open=marker(*(f"<｜DSML｜{name}>" for name in _NAMES), spaces=True),
            close=marker(*(f"</｜DSML｜{name}>" for name in _NAMES), spaces=True),
            calls=(invoke("｜DSML｜", untyped="json", forgets="always"),),
            bare="always",
        ),
    ),
    calls_in_reasoning="honour",
)
