"""A marker, the tool's name and its arguments; no closing marker: the end of the JSON ends the call.

`[ARGS]` stands between name and arguments since version 13 of the tokenizer, nothing before. A call ends the reasoning.
A list of calls after the marker, as in older tokenizers, and ids between name and arguments are read, too: servers have
one parser for all.
"""

from tokenmill.formats.mistral_callid import HEADER
from tokenmill.formats.notations import json_history
from tokenmill.formats.shapes import json_list
from tokenmill.parser.bodies import JsonArguments, JsonCall
from tokenmill.parser.markers import ahead, marker
from tokenmill.parser.spec import Call, Format, Region, Section

MISTRAL_ARGS = Format(
    name="mistral_args",
    summary="`[TOOL_CALLS]NAME[ARGS]` or `[TOOL_CALLS]NAME`, then the object of arguments.",
    sample=(
        "[THINK]I need the forecast.[/THINK]I'll look it up."
        '[TOOL_CALLS]get_weather[ARGS]{"city": "Paris", "days": 3}[TOOL_CALLS]get_weather[ARGS]{"city": "Rome"}'
    ),
    models=("Ministral", "Devstral", "Magistral", "Mistral", "Voxtral"),
    aliases=("mistral",),
    history=json_history(
        "[TOOL_CALLS]$name[ARGS]$arguments", '[TOOL_RESULTS]{"content": $json, "call_id": "$id"}[/TOOL_RESULTS]'
    ),
    regions=(Region(marker("[THINK]", "<think>"), marker("[/THINK]", "</think>")),),
    sections=(
        json_list(marker("[TOOL_CALLS]", ahead=(ahead(" ["), ahead(" {"))), JsonCall(id=("id",))),
        Section(
            open=None,
            close=None,
            calls=(
                Call(
                    open=marker("[TOOL_CALLS]", "[TOOL_CALLS"),
                    header=HEADER,
                    body=JsonArguments(),
                ),
            ),
            bare="always",
        ),
    ),
    calls_in_reasoning="honour",
)
