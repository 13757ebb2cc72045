"""A marker, the tool's name, the id that the model gave the call, and its arguments.

The id must be echoed with the call's result. There is no closing marker: the end of the JSON ends the call.
"""

from tokenmill.formats.notations import json_history
from tokenmill.parser.bodies import JsonArguments
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Section

HEADER = Header(
    until=marker("[ARGS]", "[ARGS"),
    before=marker("{"),
    pattern=r"\s*(?P<name>[^\s\[\]]+)\s*(?:\[CALL_ID\]\s*(?P<id>[^\s\[\]]*)\s*)?",
)
"""Name, and the call's id if the model gave it one."""

MISTRAL_CALLID = Format(
    name="mistral_callid",
    summary="`[TOOL_CALLS]NAME[CALL_ID]ID[ARGS]`, then the object of arguments.",
    sample='I\'ll look it up.[TOOL_CALLS]get_weather[CALL_ID]a1B2c3D4e[ARGS]{"city": "Paris", "days": 3}',
    models=("Mistral-Small-3.2",),
    history=json_history(
        "[TOOL_CALLS]$name[CALL_ID]$id[ARGS]$arguments", "[TOOL_RESULTS]$id[TOOL_CONTENT]$result[/TOOL_RESULTS]"
    ),
    sections=(
        Section(
            open=None,
            close=None,
            calls=(
                Call(
                    open=marker("[TOOL_CALLS]"),
                    header=HEADER,
                    body=JsonArguments(),
                ),
            ),
            bare="always",
        ),
    ),
)
