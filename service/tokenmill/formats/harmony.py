"""Channels: reasoning, comments and the answer, and calls in a channel with a recipient.

1. The prompt ends with `<|start|>assistant`, so a stream begins inside a header. The recipient stands in the role or in
   the channel, before or after it; of several channels the last counts.
2. A recipient other than the assistant itself is a tool, whatever the channel; without one, `analysis` is reasoning and
   everything else is text.
3. Headers of these models are often slightly wrong: doubled markers, filler words and characters are skipped.
"""

from tokenmill.formats.notations import json_history
from tokenmill.formats.shapes import CHANNEL_HEADER
from tokenmill.parser.bodies import JsonArguments
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Channels, Format, Route

HARMONY = Format(
    name="harmony",
    summary="Channels `analysis`, `commentary` and `final`; a recipient `to=functions.NAME` makes a call.",
    sample=(
        "<|channel|>analysis<|message|>I need the forecast.<|end|>"
        "<|start|>assistant<|channel|>commentary<|message|>I'll look it up.<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
        '{"city": "Paris", "days": 3}<|call|>'
    ),
    models=("gpt-oss",),
    aliases=("openai", "openai_gptoss", "gpt-oss", "gpt_oss"),
    history=json_history(
        "<|start|>assistant<|channel|>commentary to=functions.$name <|constrain|>json<|message|>$arguments<|call|>",
        "<|start|>functions.$name to=assistant<|channel|>commentary<|message|>$result<|end|>",
    ),
    channels=Channels(
        open=marker("<|start|>", "<|channel|>"),
        until=marker("<|message|>"),
        close=marker("<|end|>", "<|call|>", "<|return|>", "<|call|>commentary"),
        within=marker("<|constrain|>"),
        shape=CHANNEL_HEADER,
        routes=(
            Route(
                r".*?to=(?:functions\.)?(?P<name>(?!(?:assistant|user)\b)[\w.:/\-]+).*",
                JsonArguments(optional=True),
            ),
            Route(r".*<\|channel\|>\s*analysis(?:(?!<\|channel\|>).)*", "reasoning"),
            Route(r".*", "text"),
        ),
    ),
    start="header",
)
