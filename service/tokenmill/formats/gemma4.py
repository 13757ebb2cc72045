"""Bare keys and strings between `<|"|>` marks; reasoning in a channel.

A string has no escape and needs none. The word before the name may be missing, and so may the closing mark of a call. A
call that is closed without brackets takes no arguments. The tool's schema gives the type of what is not quoted; where
it gives none, the value's look does: the model quotes what is text.
"""

from tokenmill.formats.notations import Marked
from tokenmill.parser.bodies import Literals
from tokenmill.parser.markers import literal, marker
from tokenmill.parser.spec import Call, Format, Header, History, Region, Section

_NOTHING = (literal("<channel|>"), (r"\Z",))
"""After a label that ends without a new line: there is no reasoning."""

GEMMA4 = Format(
    name="gemma4",
    summary='`call:NAME{key:<|"|>text<|"|>,n:1}` inside a `<|tool_call>` pair.',
    sample=(
        "<|channel>thought\nI need the forecast.<channel|>I'll look it up.\n"
        '<|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}<tool_call|>'
    ),
    models=("Gemma-4",),
    history=History(
        "<|tool_call>call:$name{$arguments}<tool_call|>",
        '<|tool_response>response:$name{value:<|"|>$result<|"|>}<tool_response|>',
        Marked('<|"|>'),
    ),
    regions=(
        Region(
            marker("<|channel>thought\n", "<|channel>"),
            marker("<channel|>"),
            label=(marker("thought\n"), marker("thought", ahead=_NOTHING)),
            again="reasoning",
        ),
    ),
    strays=(marker("<channel|>"), marker("<|channel>thought", ahead=_NOTHING)),
    noise=(marker("<turn|>", "<eos>", "<|tool_response>"),),
    sections=(
        Section(
            open=marker("<|tool_call>"),
            close=marker("<tool_call|>"),
            calls=(
                Call(
                    open=marker("call:"),
                    short=marker(":", ":call:"),
                    header=Header(
                        until=marker("{"), before=marker("<tool_call|>"), pattern=r"\s*(?P<name>\S(?:.*\S)?)\s*"
                    ),
                    body=Literals(quote=marker('<|"|>'), untyped="json"),
                ),
            ),
        ),
    ),
    calls_in_reasoning="honour",
)
