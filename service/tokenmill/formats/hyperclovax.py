"""Turns with a role that gives their kind: `assistant/think`, `assistant`, and `assistant -> tool/function_call`.

1. The prompt ends with `<|im_start|>assistant`, so a stream begins inside a header. Where the prompt contains the whole
   role, the option `start` must be set.
2. Calls are a list of objects, or one. The stop token after the end of a turn is swallowed with it.
"""

from tokenmill.formats.notations import NAME_ARGUMENTS, json_history
from tokenmill.parser.bodies import JsonCall
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Channels, Format, Route, Section

_ROLE = r"(?:<\|im_start\|>assistant)?"
_CALL = " -> tool/function_call"

HYPERCLOVAX = Format(
    name="hyperclovax",
    summary="Turns `assistant/think`, `assistant` and `assistant -> tool/function_call`, which has a JSON list.",
    sample=(
        "/think\nI need the forecast.<|im_end|>\n<|im_start|>assistant\nI'll look it up.<|im_end|>\n"
        "<|im_start|>assistant -> tool/function_call\n"
        '[{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]<|im_end|><|stop|>'
    ),
    models=("HyperCLOVAX-SEED-Think-14B",),
    aliases=("hyperclovax_seed_think_14b",),
    history=json_history(
        f"<|im_start|>assistant -> tool/function_call\n[{NAME_ARGUMENTS}]<|im_end|><|stop|>",
        "<|im_start|>tool/function_call\n$result<|im_end|>",
    ),
    channels=Channels(
        open=marker("<|im_start|>"),
        until=marker("\n"),
        close=marker("<|im_end|>", "<|im_end|>\n", "<|im_end|><|stop|>", "<|im_end|><|endofturn|>"),
        shape=(
            r"(?:<\|im_start\|>(?:a(?:s(?:s(?:i(?:s(?:t(?:a(?:n(?:t)?)?)?)?)?)?)?)?)?)?"
            r"(?:/(?:t(?:h(?:i(?:n(?:k)?)?)?)?)?| (?:-(?:>(?: (?:[\w./\-]*)?)?)?)?)?"
        ),
        routes=(
            Route(_ROLE + r"/think\n", "reasoning"),
            Route(
                _ROLE + _CALL + r"\n",
                Section(
                    open=None,
                    close=None,
                    calls=(Call(open=marker("{"), body=JsonCall(arguments=("arguments", "parameters", "input"))),),
                    framing=(marker("["), marker(","), marker("]")),
                ),
            ),
            Route(_ROLE + r"\n", "text"),
        ),
        reopens=("reasoning", "drop"),
    ),
    start="header",
)
