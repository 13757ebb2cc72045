"""Bare keys, and every value between `<escape>` marks.

The marks do not give a value's type: the tool's schema does, else the value's look. The comma after a mark may be
missing.
"""

from tokenmill.formats.notations import Marked
from tokenmill.parser.bodies import Literals
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, History, Section

FUNCTIONGEMMA = Format(
    name="functiongemma",
    summary="`call:NAME{key:<escape>value<escape>}` inside a `<start_function_call>` pair.",
    sample=(
        "I'll look it up.\n<start_function_call>"
        "call:get_weather{city:<escape>Paris<escape>,days:<escape>3<escape>}<end_function_call>"
    ),
    models=("FunctionGemma",),
    history=History(
        "<start_function_call>call:$name{$arguments}<end_function_call>",
        "<start_function_response>response:$name{value:<escape>$result<escape>}<end_function_response>",
        Marked("<escape>"),
    ),
    sections=(
        Section(
            open=marker("<start_function_call>"),
            close=marker("<end_function_call>"),
            calls=(
                Call(
                    open=marker("call:"),
                    header=Header(until=marker("{"), before=marker("<end_function_call>")),
                    body=Literals(quote=marker("<escape>"), quoted="typed", untyped="json", loose=True),
                ),
            ),
        ),
    ),
)
