"""`<invoke>` elements, or one JSON object, in a `<dots_function_call>` pair."""

from tokenmill.formats.notations import tags_history
from tokenmill.formats.shapes import THINK
from tokenmill.formats.tagged import invoke
from tokenmill.parser.bodies import JsonCall
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Section

DOTS = Format(
    name="dots",
    summary='`<invoke name="NAME">` with `<parameter name="KEY">` values, or JSON, in a `<dots_function_call>` pair.',
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        '<dots_function_call><invoke name="get_weather"><parameter name="city">Paris</parameter>'
        '<parameter name="days">3</parameter></invoke></dots_function_call>'
    ),
    models=("dots.llm1", "dots.llm2"),
    history=tags_history(
        '<dots_function_call><invoke name="$name">$arguments</invoke></dots_function_call>',
        '<parameter name="$key">$value</parameter>',
    ),
    regions=(THINK,),
    sections=(
        Section(
            open=marker("<dots_function_call>"),
            close=marker("</dots_function_call>"),
            calls=(invoke(trim="strip"), Call(open=marker("{"), body=JsonCall(closed=True))),
            framing=(marker("["), marker(","), marker("]")),
        ),
    ),
    unknown_tool="text",
)
