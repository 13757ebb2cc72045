"""Channels by recipient; tools get their calls as tagged parameters.

1. The prompt ends in the first header, so a stream begins inside it. `self` is reasoning, `user` is text, `developer`
   is dropped, everything else is a tool. A block without a recipient is text.
   A header may leave out its role.
2. Markup of calls counts only in the channel of a tool. In the answer a header is quoted; the reasoning ends at one,
   even if only the recipient is left of it.
3. A tool that is named twice, `f.f`, is `f` if the tool list contains only that.
"""

from tokenmill.formats.notations import tags_history
from tokenmill.parser.bodies import Params
from tokenmill.parser.markers import literal, marker
from tokenmill.parser.spec import Call, Channels, Format, Header, Route, Section

_ROLE = r"(?:<\|start\|>(?:assistant)?)?\s*"
_TO = _ROLE + "to="

MUSE = Format(
    name="muse",
    summary="Channels `to=self`, `to=user` and `to=TOOL`, the last with `<atem:invoke>` calls.",
    sample=(
        " to=self<|message|>I need the forecast.<|eom|><|start|>assistant to=user<|message|>I'll look it up.<|eom|>"
        "<|start|>assistant to=get_weather<|message|><atem:function_calls>\n"
        '<atem:invoke name="get_weather">\n<atem:parameter name="city">Paris</atem:parameter>\n'
        '<atem:parameter name="days">3</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>'
    ),
    models=("Muse-Glimmer", "Muse-Spark"),
    aliases=("muse_glimmer", "musespark1x"),
    history=tags_history(
        '<|start|>assistant to=tools<|message|><atem:function_calls>\n<atem:invoke name="$name">\n$arguments'
        "</atem:invoke>\n</atem:function_calls><|eot|>",
        '<atem:parameter name="$key">$value</atem:parameter>\n',
    ),
    channels=Channels(
        open=marker("<|start|>"),
        until=marker("<|message|>"),
        close=marker("<|eom|>", "<|eot|>"),
        shape=r"(?:<\|start\|>(?:(?!to=)[a-z])*)?\s*(?:t(?:o(?:=[\w.:/\-]*)?)?)?",
        routes=(
            Route(_TO + r"self<\|message\|>", "reasoning"),
            Route(_TO + r"(?:user|commentary)<\|message\|>", "text"),
            Route(_ROLE + r"<\|message\|>", "text"),
            Route(_TO + r"developer<\|message\|>", "drop"),
            Route(
                _TO + r"[\w.:/\-]+<\|message\|>",
                Section(
                    open=None,
                    close=None,
                    calls=(
                        Call(
                            open=marker('<atem:invoke name="'),
                            header=Header(until=marker('">'), pattern=r'(?P<name>(?P<short>[^"]+)\.(?P=short)|[^"]+)'),
                            body=Params(
                                open=marker('<atem:parameter name="'),
                                close=marker("</atem:parameter>"),
                                end=marker("</atem:invoke>"),
                                tag_end=marker('">'),
                                trim="none",
                                untyped="json",
                                calls=marker('<atem:invoke name="'),
                                framing=marker("</atem:function_calls>"),
                            ),
                        ),
                    ),
                    framing=(marker("<atem:function_calls>"), marker("</atem:function_calls>")),
                ),
            ),
        ),
        reopens=("reasoning", "drop"),
        alone=marker(" to=", "\nto=", ahead=((r"[\w.:/\-]", r"[\w.:/\-]{0,128}", *literal("<|message|>")),)),
        unparsed_framing=True,
    ),
    start="header",
)
