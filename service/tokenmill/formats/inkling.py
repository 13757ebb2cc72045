"""Typed blocks: a marker gives the kind of a block, and a name may stand before it.

1. The prompt ends with `<|message_model|>`, so a stream begins inside a header. A block may come without one.
2. The call itself names its tool; a name in its header is ignored. Calls as free text are text.
3. In the answer a header is quoted; the reasoning ends at one.
"""

from tokenmill.formats.notations import json_history
from tokenmill.parser.bodies import JsonCall
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Channels, Format, Route, Section

INKLING = Format(
    name="inkling",
    summary="Blocks `<|content_thinking|>`, `<|content_text|>` and `<|content_invoke_tool_json|>`.",
    sample=(
        "<|content_thinking|>I need the forecast.<|end_message|>"
        "<|message_model|><|content_text|>I'll look it up.<|end_message|>"
        '<|message_model|>get_weather<|content_invoke_tool_json|>{"name": "get_weather", "args": {"city": "Paris"}}'
        "<|end_message|><|content_model_end_sampling|>"
    ),
    models=("Inkling",),
    history=json_history(
        '<|message_model|>$name<|content_invoke_tool_json|>{"name": $quoted, "args": $arguments}<|end_message|>'
    ),
    channels=Channels(
        open=marker("<|message_model|>"),
        until=marker(
            "<|content_thinking|>",
            "<|content_text|>",
            "<|content_tool_error|>",
            "<|content_invoke_tool_text|>",
            "<|content_invoke_tool_json|>",
        ),
        close=marker("<|end_message|>", "<|content_model_end_sampling|>"),
        shape=r"(?:<\|message_model\|>)?[\w.:/\-]*",
        routes=(
            Route(r".*<\|content_thinking\|>", "reasoning"),
            Route(
                r".*<\|content_invoke_tool_json\|>",
                Section(
                    open=None,
                    close=None,
                    calls=(Call(open=marker("{"), body=JsonCall(arguments=("args", "arguments", "parameters"))),),
                ),
            ),
            Route(r".*", "text"),
        ),
        unopened=True,
        reopens=("reasoning", "drop"),
        repeats=marker("<|content_text|>"),
    ),
    start="header",
)
