"""A name on the line of its opening, and arguments between tokens for key and value; the schema gives them their types.

A value that is not closed ends where the next argument of the tool follows, or the end of the stream.
"""

from tokenmill.formats.notations import tags_history
from tokenmill.parser.bodies import Params
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Section

SOLAR_OPEN2 = Format(
    name="solar_open2",
    summary="NAME and `<|tool_arg:start|>KEY<|tool_arg:value|>VALUE<|tool_arg:end|>` between tokens of a call.",
    sample=(
        "I'll look it up.\n<|tool_call:start|>get_weather\n"
        "<|tool_arg:start|>city<|tool_arg:value|>Paris<|tool_arg:end|>\n"
        "<|tool_arg:start|>days<|tool_arg:value|>3<|tool_arg:end|>\n<|tool_call:end|>"
    ),
    models=("Solar-Open2",),
    aliases=("solar-open2",),
    history=tags_history(
        "<|tool_call:start|>$name\n$arguments<|tool_call:end|>",
        "<|tool_arg:start|>$key<|tool_arg:value|>$value<|tool_arg:end|>\n",
    ),
    sections=(
        Section(
            open=None,
            close=None,
            calls=(
                Call(
                    open=marker("<|tool_call:start|>"),
                    header=Header(until=marker("\n"), before=marker("<|tool_arg:start|>", "<|tool_call:end|>")),
                    body=Params(
                        open=marker("<|tool_arg:start|>"),
                        tag_end=marker("<|tool_arg:value|>"),
                        close=marker("<|tool_arg:end|>"),
                        end=marker("<|tool_call:end|>"),
                        trim="none",
                        forgets="declared",
                        calls=marker("<|tool_call:start|>"),
                    ),
                ),
            ),
            bare="always",
        ),
    ),
)
