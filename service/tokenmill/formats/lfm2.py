"""A list of Python calls, or of JSON objects, between two marks.

Values are Python literals; JSON's words for them are recognized as well. Unescaped quotes and new lines, and numbers
that begin with zeros, are read as they were meant. Small models repeat the list after its end.
"""

import msgspec

from tokenmill.formats.notations import python_history
from tokenmill.formats.python_shapes import marked_calls
from tokenmill.formats.shapes import THINK
from tokenmill.parser.bodies import JsonCall
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format

LFM2 = Format(
    name="lfm2",
    summary="`[f(a=1), g()]` between `<|tool_call_start|>` and `<|tool_call_end|>`; or JSON objects there.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        '<|tool_call_start|>[get_weather(city="Paris", days=3)]<|tool_call_end|>'
    ),
    models=("LFM2*",),
    history=python_history(
        "<|tool_call_start|>[$name($arguments)]<|tool_call_end|>",
        "<|tool_response_start|>$result<|tool_response_end|>",
    ),
    regions=(THINK,),
    sections=(
        msgspec.structs.replace(
            marked_calls(
                marker("<|tool_call_start|>"),
                marker("<|tool_call_end|>"),
                Call(open=marker("{"), body=JsonCall(closed=True)),
            ),
            again="body",
        ),
    ),
)
