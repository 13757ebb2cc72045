"""`<｜GCML｜invoke>` elements whose parameters mark whether they are text."""

from tokenmill.formats.notations import tags_history
from tokenmill.formats.shapes import THINK
from tokenmill.formats.tagged import invoke
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Section

GIGACHAT35 = Format(
    name="gigachat35",
    summary='`<｜GCML｜invoke name="NAME">` with typed `<｜GCML｜parameter>` values in a GCML section.',
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n\n"
        '<｜GCML｜tool_calls>\n<｜GCML｜invoke name="get_weather">\n'
        '<｜GCML｜parameter name="city" string="true">Paris</｜GCML｜parameter>\n'
        '<｜GCML｜parameter name="days" string="false">3</｜GCML｜parameter>\n</｜GCML｜invoke>\n</｜GCML｜tool_calls>'
    ),
    models=("GigaChat3.5",),
    history=tags_history(
        '<｜GCML｜tool_calls>\n<｜GCML｜invoke name="$name">\n$arguments</｜GCML｜invoke>\n</｜GCML｜tool_calls>',
        '<｜GCML｜parameter name="$key" string="$is_text">$value</｜GCML｜parameter>\n',
    ),
    regions=(THINK,),
    noise=(marker("<|message_sep|>"), marker("</s>")),
    sections=(
        Section(
            open=marker("<｜GCML｜tool_calls>", spaces=True),
            close=marker("</｜GCML｜tool_calls>", spaces=True),
            calls=(invoke("｜GCML｜", untyped="json", forgets="always"),),
            bare="always",
        ),
    ),
    calls_in_reasoning="honour",
)
