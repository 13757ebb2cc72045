"""Python calls, one per line, between two tags. Values are Python literals; JSON's words for them are recognized as
well.

Calls on one line with commas between them are read, too.
"""

from tokenmill.formats.notations import python_history
from tokenmill.formats.python_shapes import BETWEEN, python_call
from tokenmill.formats.shapes import THINK
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format, Section

OLMO3 = Format(
    name="olmo3",
    summary="`f(a=1)`, one call per line, inside a `<function_calls>` pair.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        '<function_calls>get_weather(city="Paris", days=3)\nget_weather(city="Rome")</function_calls>'
    ),
    models=("OLMo-3*",),
    history=python_history("<function_calls>$name($arguments)</function_calls>"),
    regions=(THINK,),
    sections=(
        Section(
            open=marker("<function_calls>"),
            close=marker("</function_calls>"),
            calls=(python_call("\n"),),
            framing=(BETWEEN,),
        ),
    ),
)
