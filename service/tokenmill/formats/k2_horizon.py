"""A call as JSON, or as a name and pairs of tags for keys and values, with the type between them if the model gives
it.
"""

from tokenmill.formats.notations import tags_history
from tokenmill.parser.bodies import JsonCall, Params
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Region, Section

_JSON = (
    "{",
    "[{",
    '{"function":{',
    '{"type":"function","function":{',
    '[{"function":{',
    '[{"type":"function","function":{',
)
"""Beginning of a call in JSON: up to the object that has the name."""

K2_HORIZON = Format(
    name="k2_horizon",
    summary="JSON, or NAME and `<ifm|arg_key>KEY</ifm|arg_key><ifm|arg_value>VALUE</ifm|arg_value>` pairs.",
    sample=(
        "<ifm|think>I need the forecast.</ifm|think>I'll look it up.\n"
        "<ifm|tool_calls><ifm|tool_call>get_weather<ifm|arg_key>city</ifm|arg_key><ifm|arg_value>Paris</ifm|arg_value>"
        "<ifm|arg_key>days</ifm|arg_key><ifm|arg_value>3</ifm|arg_value></ifm|tool_call></ifm|tool_calls>"
    ),
    models=("K2-Horizon",),
    history=tags_history(
        "<ifm|tool_calls><ifm|tool_call>$name\n$arguments</ifm|tool_call></ifm|tool_calls>",
        "<ifm|arg_key>$key</ifm|arg_key><ifm|arg_value>$value</ifm|arg_value>",
    ),
    regions=(
        Region(
            marker("<ifm|think>", "<ifm|think_fast>", "<ifm|think_faster>"),
            marker("</ifm|think>", "</ifm|think_fast>", "</ifm|think_faster>"),
            quotes=True,
        ),
    ),
    sections=(
        Section(
            open=marker("<ifm|tool_calls>"),
            close=marker("</ifm|tool_calls>"),
            calls=(
                Call(
                    open=marker(*(f"<ifm|tool_call>{begin}" for begin in _JSON), spaces=True),
                    body=JsonCall(typed=True, closed=True),
                ),
                Call(open=marker("{", *_JSON[2:], spaces=True), body=JsonCall(typed=True, closed=True), inside=True),
                Call(
                    open=marker("<ifm|tool_call>"),
                    header=Header(
                        until=marker("\n"),
                        before=marker("<ifm|arg_key>", "</ifm|tool_call>"),
                        pattern=r"\s*(?P<name>[^\s<]+)\s*",
                    ),
                    body=Params(
                        open=marker("<ifm|arg_key>"),
                        tag_end=marker("<ifm|arg_value>"),
                        key=r"\s*+(?P<key>.*?)\s*+</ifm\|arg_key>\s*(?:<ifm\|arg_type>\s*(?P<type>\w+)\s*</ifm\|arg_type>\s*)?",
                        close=marker("</ifm|arg_value>"),
                        end=marker("</ifm|tool_call>"),
                        forgets="never",
                        calls=marker("<ifm|tool_call>"),
                        paired=True,
                        trim="none",
                        wire_types={
                            kind: kind for kind in ("string", "integer", "number", "boolean", "object", "array", "null")
                        },
                    ),
                ),
            ),
            framing=(marker("</ifm|tool_call>"), marker("}"), marker("]"), marker(",")),
            bare="declared",
        ),
    ),
    unknown_tool="text",
    calls_in_reasoning="honour",
)
