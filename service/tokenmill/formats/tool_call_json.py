"""One JSON object a call, in exactly these tags; without the closing one there is no call.

For models that are told in the prompt how to call: they have no reasoning layer of their own, and what is not quite as
told is text.
"""

from tokenmill.parser.bodies import ClosedJsonCall
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Section

TOOL_CALL_JSON = Format(
    name="tool_call_json",
    summary="One JSON object with name and parameters in each `<tool_call>` pair, which must be closed.",
    sample=(
        "I'll look it up.\n"
        '<tool_call>\n{"name": "get_weather", "parameters": {"city": "Paris", "days": 3}}\n</tool_call>'
    ),
    sections=(
        Section(
            open=marker("<tool_call>"),
            close=marker("</tool_call>"),
            calls=(Call(open=marker("{"), body=ClosedJsonCall()),),
            again="nothing",
        ),
    ),
)
