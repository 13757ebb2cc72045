"""Channels as in `harmony`; a tool's channel has its arguments as tagged parameters.

1. The prompt ends with `<|start|>assistant`, so a stream begins inside a header. The recipient stands in the role. A
   message to a recipient is a call, although its channel is `analysis`.
2. The name is all that follows `to=`: `weather.lookup` has no namespace. A value stands on lines of its own or between
   its tags, and only its closing tag ends it.
"""

from tokenmill.formats.notations import tags_history
from tokenmill.formats.shapes import CHANNEL_HEADER
from tokenmill.parser.bodies import Params
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Channels, Format, Route

BEAM = Format(
    name="beam",
    summary="Channels of `harmony`; a recipient `to=NAME` makes a call of `<rfl:parameter name=KEY>` values.",
    sample=(
        "<|channel|>analysis<|message|>I need the forecast.<|end|>"
        "<|start|>assistant<|channel|>commentary<|message|>I'll look it up.<|end|>"
        "<|start|>assistant to=get_weather<|channel|>analysis <|constrain|>xml<|message|>"
        '<rfl:parameter name="city">\nParis\n</rfl:parameter>\n<rfl:parameter name="days">\n3\n</rfl:parameter><|call|>'
    ),
    models=("Beam", "Beam-1.*"),
    history=tags_history(
        "<|start|>assistant to=$name<|channel|>analysis <|constrain|>xml<|message|>$arguments<|call|>",
        '<rfl:parameter name="$key">\n$value\n</rfl:parameter>\n',
    ),
    channels=Channels(
        open=marker("<|start|>", "<|channel|>"),
        until=marker("<|message|>"),
        close=marker("<|end|>", "<|call|>", "<|return|>"),
        within=marker("<|constrain|>"),
        shape=CHANNEL_HEADER,
        routes=(
            Route(
                r"(?:<\|start\|>assistant)?\s*to=(?P<name>(?!(?:assistant|user)\b)[^\s<]+)\s?<\|channel\|>.*",
                Params(
                    open=marker('<rfl:parameter name="'),
                    close=marker("</rfl:parameter>"),
                    end=marker("<|return|>"),
                    tag_end=marker('">'),
                    forgets="never",
                    open_ended=True,
                    unescape=True,
                ),
            ),
            Route(r".*<\|channel\|>\s*analysis(?:(?!<\|channel\|>).)*", "reasoning"),
            Route(r".*", "text"),
        ),
    ),
    start="header",
)
