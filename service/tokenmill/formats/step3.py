"""`<steptml:invoke>` elements, each between two tokens of its own, in one section.

The tool's kind, `function`, may stand before the invoke or be left out; so may its name, on a line of its own.
"""

from tokenmill.formats.notations import tags_history
from tokenmill.formats.shapes import THINK
from tokenmill.formats.tagged import invoke
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Section

STEP3 = Format(
    name="step3",
    summary='`<steptml:invoke name="NAME">` with `<steptml:parameter name="KEY">` values between tokens.',
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>"
        '<steptml:invoke name="get_weather"><steptml:parameter name="city">Paris</steptml:parameter>'
        '<steptml:parameter name="days">3</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>'
    ),
    models=("Step3",),
    history=tags_history(
        '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="$name">$arguments'
        "</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
        '<steptml:parameter name="$key">$value</steptml:parameter>',
        "<｜tool_outputs_begin｜><｜tool_output_begin｜>$result<｜tool_output_end｜><｜tool_outputs_end｜>",
    ),
    regions=(THINK,),
    sections=(
        Section(
            open=marker("<｜tool_calls_begin｜>"),
            close=marker("<｜tool_calls_end｜>"),
            calls=(invoke("steptml:", trim="strip", framing=marker("<｜tool_call_end｜>")),),
            leads=(marker("<｜tool_call_begin｜>"),),
            framing=(
                marker("function<｜tool_sep｜>", "<｜tool_sep｜>"),
                marker("function<｜tool_sep｜>\n", "<｜tool_sep｜>\n", inner=r"[\w.\-]"),
                marker("<｜tool_call_end｜>"),
            ),
        ),
    ),
)
