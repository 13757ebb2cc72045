"""Elements named by their keys, nested like the values; a token of its own stands before every tag."""

from tokenmill.formats.notations import Elements
from tokenmill.formats.tagged import NAME
from tokenmill.parser.bodies import Tree
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, History, Region, Section

_TOKEN = "]<]minimax[>["  # noqa: S105 -- a token of the model's vocabulary, no secret

MINIMAX_M3 = Format(
    name="minimax_m3",
    summary="Nested `<KEY>` elements in `<invoke>`, every tag after a token of its own.",
    sample=(
        "<mm:think>I need the forecast.</mm:think>I'll look it up.\n"
        '§<tool_call>\n§<invoke name="get_weather">§<city>Paris§</city>§<days>3§</days>§</invoke>\n§</tool_call>'
    ).replace("§", _TOKEN),
    models=("MiniMax-M3",),
    aliases=("minimax-m3",),
    history=History(
        ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="$name">$arguments]<]minimax[>[</invoke>\n'
        "]<]minimax[>[</tool_call>",
        "]<]minimax[>[<response>$result]<]minimax[>[</response>",
        Elements("]<]minimax[>["),
    ),
    regions=(Region(marker("<mm:think>"), marker("</mm:think>")),),
    sections=(
        Section(
            open=marker(f"{_TOKEN}<tool_call>", spaces=True),
            close=marker(f"{_TOKEN}</tool_call>", spaces=True),
            calls=(
                Call(
                    open=marker(f"{_TOKEN}<invoke name=", spaces=True),
                    header=Header(until=marker(">"), before=marker("<"), pattern=NAME),
                    body=Tree(
                        open=marker(f"{_TOKEN}<", spaces=True),
                        close=marker(f"{_TOKEN}</", spaces=True),
                        end=marker(f"{_TOKEN}</invoke>", spaces=True),
                        end_name="invoke",
                    ),
                ),
            ),
        ),
    ),
    calls_in_reasoning="honour",
)
